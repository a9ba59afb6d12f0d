"""`headrace compare OLD NEW`"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from headrace import engine
from headrace.cli import changes, load, rows
from headrace.cli.numbers import whole
from headrace.cli.options import as_options
from headrace.engine import Job
from headrace.engine.compare import MOST
from headrace.engine.state import stored_job
from headrace.load import KINDS

EPILOG = """\
Both versions have the same input: all that OLD has read up to a moment between two epochs. A running job pauses while the rows of the sinks
that may differ are copied, and goes on. `-` is a row only of OLD, `+` only of NEW, `~` another row for a key. The exit code is 1 if rows
differ.
"""


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "compare",
        help="show which rows another version of a job computes differently",
        description="Compare the rows in the sinks of OLD with those of another version over the same input. Changes nothing.",
        epilog=EPILOG,
    )
    parser.add_argument("checkpoint", metavar="OLD", type=rows.checkpoint, help="the name of a job that has run, or its checkpoint")
    parser.add_argument("file", metavar="NEW", type=_place, help="a file of the job, the folder of one of its savepoints, or a fork of it")
    load.options(parser)
    parser.add_argument(
        "--examples", metavar="N", type=whole(most=MOST), default=10, help="show at most this many rows of a sink (default: 10)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    home = Path(rows.kept(options.checkpoint)).absolute()
    difference = engine.compare(home, _version(options), examples=options.examples, progress=changes.report(stored_job(home).job))
    print(json.dumps(difference.to_json(), indent=2) if options.json else as_options(str(difference)))
    return 1 if difference.differs else 0


def _version(options: argparse.Namespace) -> Job | str:
    return load.job(options) if _is_file(options.file) else rows.kept(options.file)


def _place(text: str) -> str:
    return text if _is_file(text) else rows.checkpoint(text)


def _is_file(text: str) -> bool:
    return Path(text).suffix in KINDS and not Path(text).is_dir()
