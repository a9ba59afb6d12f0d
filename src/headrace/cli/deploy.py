"""`headrace deploy FILE`"""

from __future__ import annotations

import argparse
import shlex
from typing import Any

from headrace import engine
from headrace.cli import changes, load, share
from headrace.cli.options import as_options
from headrace.cli.short_life import short_life

EPILOG = """\
A deploy accepts changes that a start refuses: other definitions of operators and views; operators at other levels; merged or split
streaming queries; sources added or removed; another number of partitions; renamed or wider keys; wider entries of cells. What has no
usable state is rebuilt from the rows read so far, and sinks get the difference with the next epoch. A running job goes on while that is
prepared, and then continues as this version. Ctrl-C cancels until it switches. The checkpoint changes completely or not at all. The exit
code of a dry run is 1 if the version is refused.
With --beside the job goes on as it is, and a fork named NAME continues from its state as this version. A sink with a path at which the job
writes writes to PATH-NAME; --path names another place. `headrace promote NAME` then lets the version take the place of the job's.
"""


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "deploy",
        help="replace the stored version of a job",
        description="Replace the version of a job that wrote the checkpoint with the one in FILE.",
        epilog=EPILOG,
    )
    load.arguments(parser)
    parser.add_argument("--checkpoint", metavar="FOLDER", help="the checkpoint (default: .headrace/NAME)")
    parser.add_argument("--partitions", metavar="N", help="the tasks of each level from now on (default: the setting, else as before)")
    parser.add_argument("--beside", metavar="NAME", help="run the version beside the job, as a fork of this name with sinks of its own")
    changes.argument(parser)
    share.argument(parser)
    parser.add_argument("--dry-run", action="store_true", help="only report the verdict on each part")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    deploy = _in_place if options.beside is None else _beside
    with short_life(options.checkpoint):
        return deploy(options)


def _in_place(options: argparse.Namespace) -> int:
    job = load.job(options)
    deployment = job.deploy(
        checkpoint=options.checkpoint,
        partitions=options.partitions,
        on_change=changes.choices(options),
        dry_run=options.dry_run,
        share=options.share,
        progress=changes.report(job.name),
    )
    print(as_options(str(deployment)))
    return 1 if deployment.diff.refusals else 0


def _beside(options: argparse.Namespace) -> int:
    report, moved = engine.deploy_beside(
        load.job(options),
        options.beside,
        checkpoint=options.checkpoint,
        partitions=options.partitions,
        on_change=changes.choices(options),
        dry_run=options.dry_run,
        share=options.share,
    )
    print(as_options(str(report)))
    if options.dry_run:
        return 1 if report.diff.refusals else 0
    job = [] if options.job is None else ["--job", options.job]
    paths = [word for name, path in {**load.paths(options), **moved}.items() for word in ("--path", f"{name}={path}")]
    print(f"run it: {shlex.join(['headrace', 'run', options.file, *job, '--as', options.beside, *paths])}")
    return 0
