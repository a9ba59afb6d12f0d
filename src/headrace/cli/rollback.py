"""`headrace rollback JOB`"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from headrace.cli import changes, rows
from headrace.cli.options import as_options
from headrace.engine.state import stored_job
from headrace.errors import HeadraceError
from headrace.plan import displayed
from headrace.spark.checkpoint.savepoints import before_deploys, savepoint
from headrace.spark.deploy.deploy import deploy
from headrace.spark.deploy.request import earlier

EPILOG = """\
A rollback is a deploy of the earlier version: it keeps the state that is still valid, rebuilds the rest, and corrects the sinks with the
next epoch. No row that the job has read meanwhile is lost. A running job continues as the earlier version. Start its file from then on.
"""


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "rollback",
        help="return to the version before the last deploy",
        description="Deploy the version of the job that a savepoint has.",
        epilog=EPILOG,
    )
    rows.job(parser)
    parser.add_argument("--to", metavar="SAVEPOINT", help="the savepoint (default: the one made before the last deploy)")
    changes.argument(parser)
    parser.add_argument("--dry-run", action="store_true", help="only report the verdict on each part")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    folder = Path(rows.kept(options.checkpoint)).absolute()
    stored_job(folder)
    deploys = before_deploys(folder)
    if options.to is None and not deploys:
        hint = "name a savepoint with --to: headrace savepoint list JOB"
        raise HeadraceError("NOTHING_TO_DEPLOY", f"{folder} has no savepoint of a deploy, so there is nothing to return to", hint=hint)
    name = options.to or deploys[-1]
    job, partitions = earlier(folder, name), stored_job(savepoint(folder, name).folder).partitions
    with displayed(job.plan):
        deployment = deploy(
            job,
            folder,
            partitions=partitions,
            on_change=changes.choices(options),
            savepoint=name,
            dry_run=options.dry_run,
            look=changes.report(job.plan.job),
        )
    print(as_options(str(deployment)))
    return 1 if deployment.diff.refusals else 0
