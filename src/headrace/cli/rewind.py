"""`headrace rewind FILE`"""

from __future__ import annotations

import argparse
from typing import Any

from headrace.cli import load

EPILOG = """\
For a checkpoint that was restored from a backup: its sinks hold later epochs, and a start is refused (CHECKPOINT_BEHIND). Files, Delta and
Iceberg sinks can withdraw them; if another sink would have to, nothing is changed. Stop all writers first.
Replay the files again that `headrace letters replay` has fed to a source since the backup.
"""


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "rewind",
        help="rewind sinks to a restored checkpoint",
        description="Rewind the sinks of a job to the last epoch of its checkpoint; without --yes, only report how.",
        epilog=EPILOG,
    )
    load.arguments(parser)
    parser.add_argument("--checkpoint", metavar="FOLDER", help="the checkpoint (default: .headrace/NAME)")
    parser.add_argument("--yes", action="store_true", help="rewind them")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    print(load.job(options).rewind(checkpoint=options.checkpoint, dry_run=not options.yes))
    return 0
