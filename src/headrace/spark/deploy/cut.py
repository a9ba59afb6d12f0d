"""A moment between two epochs of a job, running or not, for what is computed beside it: its positions are copied to the folder `candidate`
of its checkpoint (`checkpoint/candidate.py`).
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.spark.checkpoint.channel import Command
from headrace.spark.checkpoint.folder import Stored, query_folder, stored_in
from headrace.spark.checkpoint.history import logged
from headrace.spark.checkpoint.lease import heartbeat
from headrace.spark.compile.job import SparkJob
from headrace.spark.deploy import held
from headrace.spark.deploy.request import Request
from headrace.spark.run.commands import HELD, give


def begun(home: Path, needs: str) -> Stored:
    """Return what a checkpoint has stored. Raises NO_STATE before its first epoch has ended: `needs` says what is missing then."""
    stored = stored_in(home)
    if stored is None or all(logged(query_folder(home, query.name), "commits") < 0 for query in stored.identity.queries):
        what = f"the checkpoint {home} has no committed epoch, so there are no {needs}"
        raise HeadraceError("NO_STATE", what, hint="run the job first, or wait a moment")
    return stored


def cut(job: SparkJob, home: Path, sinks: Collection[str] = ()) -> float | None:
    """Copy the positions of the job in the checkpoint `home`, and the rows of some of its sinks, between two of its epochs. Returns how
    long the job paused for that; None if none was running.
    """
    works = heartbeat(home)
    holder = works()
    if holder is not None and holder.answers:
        result = give(home, Command.make(HELD, sinks=sinks), works)
        if result is not None:
            return float(result["pause_seconds"])
    with Request(job).opened(home) as replacement:
        replacement.examine()
        held.copy_rows(replacement.job, home, sinks)
    return None
