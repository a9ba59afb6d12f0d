"""`headrace rescale FILE --partitions N`"""

from __future__ import annotations

import argparse
from typing import Any

from headrace.cli import load
from headrace.cli.options import as_options


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "rescale",
        help="change the number of partitions of a job",
        description="Redistribute the state of a job over N partitions. Stop the job first.",
    )
    load.arguments(parser)
    parser.add_argument("--checkpoint", metavar="FOLDER", help="the checkpoint (default: .headrace/NAME)")
    parser.add_argument("--partitions", metavar="N", required=True, help="the tasks of each level from now on")
    parser.add_argument("--dry-run", action="store_true", help="only report what would be done")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    job = load.job(options)
    deployment = job.deploy(checkpoint=options.checkpoint, partitions=options.partitions, dry_run=options.dry_run)
    print(as_options(str(deployment)))
    return 1 if deployment.diff.refusals else 0
