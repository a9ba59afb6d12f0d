"""The JOB on the command line, values of columns, and the printing of rows, shared by the commands that show rows of a job."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from headrace.cli.numbers import whole
from headrace.engine import Table
from headrace.engine.state import no_checkpoint
from headrace.errors import HeadraceError
from headrace.settings import FILE, JOBS, checkpoint_of
from headrace.spark.checkpoint.folder import is_checkpoint, stored_in

EPILOG = """\
Nothing is locked or changed: the job may run meanwhile. `headrace docs state` describes the tables.
"""


def job(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoint", metavar="JOB", type=checkpoint, help="the name of a job, or the folder in which it keeps its state")


def checkpoint(text: str) -> str:
    """Return the folder of a job's state, given the job's name or the folder.

    A name means the folder in which `headrace run` would keep the job's state: HEADRACE_CHECKPOINT and headrace.toml count. If ./NAME is
    another checkpoint, the name is refused as ambiguous.
    """
    if Path(text).name != text:
        return text
    named, here = checkpoint_of(text), Path(text)
    moved = named != JOBS / text
    if not (_keeps(named, text) if moved else named.is_dir()):
        return text
    if is_checkpoint(here) and not here.samefile(named):
        raise argparse.ArgumentTypeError(f"{text} is both a job, in {named}, and a checkpoint, in ./{text}: write one of these paths")
    return str(named)


def kept(text: str) -> str:
    """Return the folder that `checkpoint` found. Raises NOT_A_CHECKPOINT for a name without a checkpoint, with both places searched."""
    here = Path(text)
    if here.name == text and not is_checkpoint(here):
        named = checkpoint_of(text)
        raise no_checkpoint(here.absolute(), named) if named == JOBS / text else no_checkpoint(named.absolute(), here)
    return text


def _keeps(folder: Path, job: str) -> bool:
    """Return whether a folder keeps the state of this job. Raises CHECKPOINT_OTHER_JOB if it keeps that of another one."""
    stored = stored_in(folder)
    if stored is not None and stored.job != job and not is_checkpoint(Path(job)):
        raise HeadraceError(
            "CHECKPOINT_OTHER_JOB",
            f"{folder}, which the settings give for the job {job}, is the checkpoint of {stored.job}",
            hint=f"name the folder in which {job} keeps its state, or correct {FILE} or HEADRACE_CHECKPOINT",
        )
    return stored is not None and stored.job == job


def arguments(parser: argparse.ArgumentParser) -> None:
    job(parser)
    parser.add_argument("--epoch", metavar="N", type=whole(), help="the state after this epoch (default: the last one)")
    parser.add_argument("--limit", metavar="N", type=whole(), default=20, help="show at most this many rows (default: 20)")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="the output format (default: text)")


def printed(table: Table, options: argparse.Namespace) -> str:
    return json.dumps(table.to_json(), indent=2) if options.format == "json" else table.shown(options.limit)


def values(text: str) -> dict[str, Any]:
    """Return the values of some columns, from JSON on the command line."""
    try:
        row = json.loads(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(f"`{text}` is not JSON: {problem}") from None
    if not isinstance(row, dict):
        raise argparse.ArgumentTypeError(f"""`{text}` is not a JSON object: write '{{"card": "a"}}'""")
    return row
