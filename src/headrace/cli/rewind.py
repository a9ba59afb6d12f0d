"""`headrace rewind FILE`"""

from __future__ import annotations

import argparse
from typing import Any

from headrace.cli import load

EPILOG = """\
For a checkpoint that was put back from a backup: its sinks hold later epochs, and a start is refused (CHECKPOINT_BEHIND). Files, Delta and
Iceberg can take these back; where another sink of the job would have to, nothing is touched. Stop whatever writes there first.
Files that `headrace letters replay` has fed to a source since the backup was made have to be replayed again.
"""


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "rewind",
        help="bring sinks back to a checkpoint that was put back",
        description="Bring the sinks of a job back to the epoch with which its checkpoint ends; without --yes, only say how.",
        epilog=EPILOG,
    )
    load.arguments(parser)
    parser.add_argument("--checkpoint", metavar="FOLDER", help="the checkpoint (default: .headrace/NAME)")
    parser.add_argument("--yes", action="store_true", help="do it")
    parser.set_defaults(run=run)


def run(asked: argparse.Namespace) -> int:
    print(load.job(asked).rewind(checkpoint=asked.checkpoint, dry_run=not asked.yes))
    return 0
