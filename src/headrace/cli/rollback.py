"""`headrace rollback JOB`"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from headrace.cli import changes, rows
from headrace.cli.options import as_options
from headrace.engine.state import stored_job
from headrace.errors import HeadraceError
from headrace.plan import Plan, displayed
from headrace.spark.checkpoint.savepoints import savepoint
from headrace.spark.compile.identity import as_stored
from headrace.spark.compile.job import compile
from headrace.spark.deploy.deploy import before_deploys, deploy

EPILOG = """\
A rollback is a deploy of the earlier version: it keeps the state that is still valid, rebuilds the rest, and corrects the sinks with the
next run. No row that the job has read meanwhile is lost. Stop the job first. Then run the file of the earlier version.
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
    stored = stored_job(savepoint(folder, options.to or deploys[-1]).folder)
    job = compile(Plan.from_json(stored.plan))
    with displayed(job.plan):
        deployment = deploy(
            replace(job, shapes=as_stored(job.shapes, stored.identity)),
            folder,
            partitions=stored.partitions,
            on_change=changes.choices(options),
            dry_run=options.dry_run,
        )
    print(as_options(str(deployment)))
    return 1 if deployment.diff.refusals else 0
