"""`headrace state migrate FILE`"""

from __future__ import annotations

import argparse
from typing import Any

from headrace.cli import load
from headrace.cli.options import as_options
from headrace.plan import DisplayNames

EPILOG = """\
A start refuses wider types of keys, lists, maps, broadcasts and keyed timers, and renamed keys; this command rewrites them. The old
checkpoint is kept, but no job starts on it again: run the job with --checkpoint and the new one.
"""


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "migrate",
        help="create a checkpoint for a new version of a job",
        description="Create a checkpoint for a new version of a job from one that it cannot continue from.",
        epilog=EPILOG,
    )
    load.arguments(parser)
    parser.add_argument("--checkpoint", metavar="FOLDER", help="the checkpoint of the earlier version (default: .headrace/NAME)")
    parser.add_argument("--to", metavar="FOLDER", required=True, help="the new checkpoint, a folder that does not exist")
    parser.add_argument("--dry-run", action="store_true", help="only report what would be rewritten")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    job = load.job(options)
    migration = job.migrate(options.to, checkpoint=options.checkpoint, dry_run=options.dry_run)
    print(as_options(DisplayNames.of(job.plan).text(str(migration))))
    return 0
