"""`headrace rescale FILE --partitions N`"""

from __future__ import annotations

import argparse
from typing import Any

from headrace.cli import changes, load
from headrace.cli.options import as_options
from headrace.errors import HeadraceError
from headrace.spark.deploy.deployment import KEPT, MOVED, WAITS


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "rescale",
        help="change the number of partitions of a job",
        description="Redistribute the state of a job over N partitions. A running job continues with them.",
    )
    load.arguments(parser)
    parser.add_argument("--checkpoint", metavar="FOLDER", help="the checkpoint (default: .headrace/NAME)")
    parser.add_argument("--partitions", metavar="N", required=True, help="the tasks of each level from now on")
    parser.add_argument("--dry-run", action="store_true", help="only report what would be done")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    job = load.job(options)
    preview = job.deploy(checkpoint=options.checkpoint, partitions=options.partitions, dry_run=True)
    others = (one for one in preview.verdicts if one.verdict not in (KEPT, MOVED) and WAITS not in one.reasons)
    changed = [f"{one.name} is {one.verdict}" for one in others]
    if changed:
        raise HeadraceError(
            "STATE_CHANGED",
            f"rescale changes the number of partitions only, and this is another version of the job: {', '.join(changed)}",
            hint="rescale with the version that wrote the checkpoint, or deploy this one: headrace deploy FILE --partitions N",
        )
    deployment = (
        preview
        if options.dry_run
        else job.deploy(checkpoint=options.checkpoint, partitions=options.partitions, progress=changes.report(job.name))
    )
    print(as_options(str(deployment)))
    return 1 if deployment.diff.refusals else 0
