"""`headrace promote FORK`"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from headrace import engine
from headrace.cli import changes, load, rows
from headrace.cli.options import as_options

EPILOG = """\
The version of the fork is deployed to the job that it was forked from, running or stopped. Each sink writes where the sink of that name of
this job writes, and gets the difference. The fork stays as it is, with its sinks: stop it, and delete them, if you do not need it any more.
"""


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "promote",
        help="let the version of a fork take the place of its parent's",
        description="Deploy the version of a fork to the job that it was forked from.",
        epilog=EPILOG,
    )
    parser.add_argument("checkpoint", metavar="FORK", type=rows.checkpoint, help="the name of a fork, or its checkpoint")
    load.path(parser)
    changes.argument(parser)
    parser.add_argument("--dry-run", action="store_true", help="only report the verdict on each part")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    folder = Path(rows.kept(options.checkpoint)).absolute()
    deployment = engine.promote(
        folder,
        paths=load.paths(options),
        on_change=changes.choices(options),
        dry_run=options.dry_run,
        progress=lambda job, line: changes.report(job)(line),
    )
    print(as_options(str(deployment)))
    print(f"the fork stays in {folder}, and its sinks where they are")
    return 1 if deployment.diff.refusals else 0
