"""`headrace state migrate FILE`"""

from __future__ import annotations

import argparse
from typing import Any

from headrace.cli import load
from headrace.cli.options import told
from headrace.plan import DisplayNames

EPILOG = """\
Keys, lists, maps, broadcasts and keyed timers in wider types, keys by other names: a start refuses them, this rewrites them. The old
checkpoint stays as it is, but no job starts on it any more: run the job with --checkpoint and the new one.
"""


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "migrate",
        help="make a checkpoint for a new version of a job",
        description="Make a checkpoint for a new version of a job out of one that it cannot go on with.",
        epilog=EPILOG,
    )
    load.arguments(parser)
    parser.add_argument("--checkpoint", metavar="FOLDER", help="the checkpoint of the earlier version (default: .headrace/NAME)")
    parser.add_argument("--to", metavar="FOLDER", required=True, help="the new checkpoint, a folder that is not there yet")
    parser.add_argument("--dry-run", action="store_true", help="say what would be rewritten, and write nothing")
    parser.set_defaults(run=run)


def run(asked: argparse.Namespace) -> int:
    job = load.job(asked)
    made = job.migrate(asked.to, checkpoint=asked.checkpoint, dry_run=asked.dry_run)
    print(told(DisplayNames.of(job.plan).text(str(made))))
    return 0
