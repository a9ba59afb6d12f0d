"""The comparison of the rows that the sinks of a job hold with those of another version of it, over the input that the job has read.

plans ─► sinks whose rows may differ ─► their rows, between two epochs ─► shadow run of the other version up to there ─► differences

No sink and no checkpoint changes: all is done in the folder `candidate`, as for a deploy to a running job (`checkpoint/candidate.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.masking import leaving
from headrace.schema.values import zone
from headrace.spark.checkpoint import candidate
from headrace.spark.checkpoint.channel import Command
from headrace.spark.checkpoint.folder import Stored, query_folder, stored_in
from headrace.spark.checkpoint.history import logged
from headrace.spark.checkpoint.lease import heartbeat
from headrace.spark.compile.job import SparkJob
from headrace.spark.deploy import held
from headrace.spark.deploy.correction import under
from headrace.spark.deploy.deployment import RETRACT
from headrace.spark.deploy.differences import differences
from headrace.spark.deploy.rebuild import Rebuild
from headrace.spark.deploy.replacement import Replacement
from headrace.spark.deploy.request import Request
from headrace.spark.deploy.rows_diff import RowsDiff, SinkRows
from headrace.spark.deploy.sinks import Sinks
from headrace.spark.run.commands import HELD, give
from headrace.spark.run.summary import many


@leaving()
def compare(version: SparkJob, home: Path, new: str, *, examples: int, look: Callable[[str], object]) -> RowsDiff:
    """Compare the rows of the sinks of the job whose checkpoint is `home` with those of another version, which the report calls `new`.

    `examples`: the most rows of a sink in the report. `look` is called with a line for each step.
    """
    began = time.monotonic()
    _stored(home)
    with candidate.claim(home) as place:
        while True:
            before = _stored(home)
            sinks = Sinks(version, home, before)
            pause = _copied(sinks, home)
            with Request(version).opened(place / candidate.CUT, home=home) as replacement:
                if replacement.stored.plan != before.plan:
                    continue  # another version has started meanwhile
                compared = {one.name: one for one in _compared(sinks, replacement, place, examples, look)}
                epochs = {name: origin.epoch for name, origin in replacement.origins.items()}
                return RowsDiff(before.job, home, str(home), new, epochs, sinks.report(compared), pause, time.monotonic() - began)


def _stored(home: Path) -> Stored:
    """Return what a checkpoint has stored. Raises NO_STATE before its first epoch has ended."""
    stored = stored_in(home)
    if stored is None or all(logged(query_folder(home, query.name), "commits") < 0 for query in stored.identity.queries):
        what = f"the checkpoint {home} has no committed epoch, so there are no rows to compare"
        raise HeadraceError("NO_STATE", what, hint="run the job first, or wait a moment")
    return stored


def _copied(sinks: Sinks, home: Path) -> float | None:
    """Copy the rows of the sinks that have to be compared, and the positions of the job, between two of its epochs. Returns how long the
    job paused for that; None if none was running.
    """
    works = heartbeat(home)
    holder = works()
    if holder is not None and holder.answers:
        result = give(home, Command.make(HELD, sinks=sinks.held), works)
        if result is not None:
            return float(result["pause_seconds"])
    with Request(sinks.old).opened(home) as replacement:
        replacement.examine()
        held.copy_rows(replacement.job, home, sinks.held)
    return None


def _compared(sinks: Sinks, replacement: Replacement, place: Path, examples: int, look: Callable[[str], object]) -> Iterator[SinkRows]:
    """Compute the rows of the new version, and yield how those of each sink differ."""
    if not sinks.pairs:
        return
    job, known = replacement.job, replacement.comparison.old.totals
    look(f"computing the rows of {many(len(sinks.pairs), 'sink')}")
    rebuild = Rebuild(sinks=dict.fromkeys(sinks.pairs, RETRACT))
    rows = replacement.shadow(place / candidate.SHADOW, look, rebuild).finish(known).rows
    with under(job.settings) as spark:
        for number, (name, pair) in enumerate(sinks.pairs.items()):
            whole = place / "differences" / f"{number}"
            yield differences(spark, pair, held.rows_of(place, str(pair.old.name)), rows.get(name), whole, examples, zone(job.time_zone))
