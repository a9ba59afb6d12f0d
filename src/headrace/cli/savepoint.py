"""`headrace savepoint ...`: copies of a job's checkpoint as of a moment between two epochs, and portable ones."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from headrace.cli import rows, share
from headrace.cli.numbers import whole
from headrace.engine.portable import export_savepoint, import_savepoint
from headrace.engine.state import stored_job
from headrace.errors import HeadraceError
from headrace.schema.duration import milliseconds
from headrace.spark.checkpoint.savepoints import Savepoint, delete, prune, savepoint, savepoints
from headrace.spark.portable.contents import contents
from headrace.spark.run.commands import take_savepoint

EPILOG = """\
A savepoint is a complete copy of the checkpoint: plan, state, positions, counts, dead letters. Files are linked, not copied, where the file
system has links. A running job makes the savepoint between two epochs and continues. --fresh keeps savepoints.
A portable savepoint is a folder of Parquet files that can be copied to another machine, and read by other programs.
With both --keep and --older-than, prune deletes a savepoint if either applies.
"""


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "savepoint", help="make, list, delete and move savepoints of a job", description="Work with the savepoints of a job.", epilog=EPILOG
    )
    parts = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    creating = _named(parts, "create", "make a savepoint", _create)
    creating.add_argument("--at", type=whole(0), metavar="EPOCH", help="the epoch with which it ends, one of the last hundred")
    creating.add_argument("--pin", action="store_true", help="keep it when others are pruned")
    listing = _part(parts, "list", "list the savepoints", _list)
    listing.add_argument("--json", action="store_true", help="print JSON")
    _named(parts, "show", "describe a savepoint", _show)
    _named(parts, "delete", "delete a savepoint", _delete)
    exporting = _named(parts, "export", "write a savepoint as a portable one", _export)
    exporting.add_argument("folder", metavar="FOLDER", help="the folder to write, which must not exist")
    share.argument(exporting)
    exporting.add_argument("--json", action="store_true", help="print JSON")
    importing = parts.add_parser(
        "import", help="make a checkpoint from a portable savepoint", description="Make a checkpoint from a portable savepoint."
    )
    importing.add_argument("folder", metavar="FOLDER", help="the folder that `export` wrote")
    importing.add_argument("--checkpoint", metavar="FOLDER", help="the checkpoint to make (default: .headrace/NAME)")
    importing.add_argument("--partitions", metavar="N", help="the tasks of each level (default: the setting, else as before)")
    importing.set_defaults(run=_import)
    pruning = _part(parts, "prune", "delete old savepoints that are not pinned", _prune)
    pruning.add_argument("--keep", type=whole(0), metavar="N", help="delete all but the newest N")
    pruning.add_argument("--older-than", metavar="DURATION", help='delete those older than this, such as "30 days"')


def _part(parts: Any, name: str, does: str, run: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = parts.add_parser(name, help=does, description=f"{does[0].upper()}{does[1:]}.")
    rows.job(parser)
    parser.set_defaults(run=run)
    return parser


def _named(parts: Any, name: str, does: str, run: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
    parser = _part(parts, name, does, run)
    parser.add_argument("name", metavar="NAME", help="the name of the savepoint")
    return parser


def _folder(options: argparse.Namespace) -> Path:
    folder = Path(rows.kept(options.checkpoint)).absolute()
    stored_job(folder)
    return folder


def _create(options: argparse.Namespace) -> int:
    print(take_savepoint(_folder(options), options.name, at=options.at, pinned=options.pin))
    return 0


def _list(options: argparse.Namespace) -> int:
    _print(savepoints(_folder(options)), as_json=options.json)
    return 0


def _show(options: argparse.Namespace) -> int:
    print(json.dumps(savepoint(_folder(options), options.name).to_json(), indent=2))
    return 0


def _delete(options: argparse.Namespace) -> int:
    print(f"deleted {delete(_folder(options), options.name)}")
    return 0


def _export(options: argparse.Namespace) -> int:
    portable = export_savepoint(_folder(options), options.name, options.folder, share=options.share)
    print(json.dumps(portable.to_json(), indent=2) if options.json else f"exported {portable}")
    return 0


def _import(options: argparse.Namespace) -> int:
    checkpoint = import_savepoint(options.folder, checkpoint=options.checkpoint, partitions=options.partitions)
    print(f"made {checkpoint} from {contents(Path(options.folder).absolute()).portable}")
    return 0


def _prune(options: argparse.Namespace) -> int:
    if options.keep is None and options.older_than is None:
        raise HeadraceError("BAD_SETTING", "prune needs a limit", hint="write --keep N, --older-than DURATION or both")
    age = None if options.older_than is None else timedelta(milliseconds=milliseconds(options.older_than, "--older-than"))
    for gone in prune(_folder(options), keep=options.keep, older_than=age):
        print(f"deleted {gone}")
    return 0


def _print(all: tuple[Savepoint, ...], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps([one.to_json() for one in all], indent=2))
    else:
        print("\n".join(map(str, all)) or "no savepoints")
