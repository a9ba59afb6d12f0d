"""What `state show` and `state query` share: which state is asked for, and how rows are printed."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from headrace.engine import Table

EPILOG = """\
Nothing is locked and nothing is changed: the job may run meanwhile. docs/state.md says what the tables show.
"""


def job(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoint", metavar="JOB", type=_checkpoint, help="the name of a job, or the folder in which it keeps its state")


def _checkpoint(text: str) -> str:
    """The folder of a job, by its name or by itself."""
    named = Path(".headrace") / text
    return str(named) if not Path(text).is_dir() and named.is_dir() else text


def arguments(parser: argparse.ArgumentParser) -> None:
    job(parser)
    parser.add_argument("--epoch", metavar="N", type=int, help="the state after this epoch (default: the last one)")
    parser.add_argument("--limit", metavar="N", type=limit, default=20, help="at most so many rows (default: 20)")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how rows are printed (default: text)")


def limit(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text} is no number of rows")
    return int(text)


def printed(table: Table, asked: argparse.Namespace) -> str:
    return json.dumps(table.to_json(), indent=2) if asked.format == "json" else table.shown(asked.limit)
