"""`headrace deploy FILE`"""

from __future__ import annotations

import argparse
from typing import Any

from headrace.cli import load
from headrace.cli.options import as_options

EPILOG = """\
Operators keep their state wherever the new version runs them. What no start accepts and a deploy follows: operators at other levels, merged
and divided streaming queries, new and dropped sources, other numbers of partitions, renamed and wider keys, wider entries of cells.
Stop the job first. The checkpoint changes all at once at the end, or not at all.
"""


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "deploy",
        help="bring a new version of a job in the place of the old one",
        description="Make the checkpoint of a job continue with the version in FILE.",
        epilog=EPILOG,
    )
    load.arguments(parser)
    parser.add_argument("--checkpoint", metavar="FOLDER", help="the checkpoint (default: .headrace/NAME)")
    parser.add_argument("--partitions", metavar="N", help="the tasks of each level from now on (default: as before)")
    parser.add_argument("--dry-run", action="store_true", help="only report what would become of each part")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    job = load.job(options)
    deployment = job.deploy(checkpoint=options.checkpoint, partitions=options.partitions, dry_run=options.dry_run)
    print(as_options(str(deployment)))
    return 0
