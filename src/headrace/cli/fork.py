"""`headrace fork JOB`"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from headrace import engine
from headrace.cli import changes, load, rows
from headrace.cli.options import as_options
from headrace.engine.fork import moment, stored_version
from headrace.spark.checkpoint.savepoints import names

EPILOG = """\
The fork continues from the state of JOB, which stays as it is. Its sinks must be at other places: those of FILE, or those of the stored
version with --path. Parts that FILE computes differently get what they get from a deploy. Run the fork with the same FILE, --as and --path.
"""


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "fork",
        help="make a second job with the state of a first one",
        description="Make a job with the state that JOB has now, or had at a savepoint or after an epoch, and sinks of its own.",
        epilog=EPILOG,
    )
    rows.job(parser)
    parser.add_argument("file", metavar="FILE", nargs="?", help="the file of the fork, as for `headrace run` (default: the stored version)")
    load.options(parser)
    parser.add_argument(
        "--at",
        metavar="SAVEPOINT|EPOCH",
        help="the savepoint of JOB, or one of its last hundred epochs if no savepoint has the number as its name "
        "(default: its current checkpoint; JOB must not run)",
    )
    parser.add_argument("--checkpoint", dest="folder", metavar="FOLDER", help="the checkpoint of the fork (default: .headrace/NAME)")
    parser.add_argument("--partitions", metavar="N", help="the tasks of each level of the fork (default: the setting, else as JOB)")
    changes.argument(parser)
    parser.add_argument("--dry-run", action="store_true", help="only report the verdict on each part")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    home = Path(rows.kept(options.checkpoint)).absolute()
    at = options.at if options.at is None or not options.at.isdecimal() or options.at in names(home) else int(options.at)
    stored = moment(home, at)
    job = load.job(options) if options.file is not None else stored_version(stored, load.paths(options), options.named or stored.job)
    fork = engine.fork(
        home,
        job,
        at=at,
        checkpoint=options.folder,
        partitions=options.partitions,
        on_change=changes.choices(options),
        dry_run=options.dry_run,
    )
    print(as_options(str(fork)))
    return 1 if fork.diff.refusals else 0
