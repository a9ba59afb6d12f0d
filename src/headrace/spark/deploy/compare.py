"""The comparison of the rows that the sinks of a job hold with those of another version of it, over the input that the job has read.

plans ─► sinks whose rows may differ ─► their rows, between two epochs ─► shadow run of the other version up to there ─► differences

No sink and no checkpoint changes: all is done in the folder `candidate`, as for a deploy to a running job (`checkpoint/candidate.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from headrace.masking import leaving
from headrace.schema.values import zone
from headrace.spark.checkpoint import candidate
from headrace.spark.compile.job import SparkJob
from headrace.spark.deploy import held
from headrace.spark.deploy.correction import under
from headrace.spark.deploy.cut import begun, cut
from headrace.spark.deploy.deployment import RETRACT
from headrace.spark.deploy.differences import differences
from headrace.spark.deploy.rebuild import Rebuild
from headrace.spark.deploy.replacement import Replacement
from headrace.spark.deploy.request import Request
from headrace.spark.deploy.rows_diff import RowsDiff, SinkRows
from headrace.spark.deploy.shadow import ROWS, ends_of
from headrace.spark.deploy.sinks import Sinks
from headrace.spark.run.summary import many

_ROWS = "rows to compare"


@leaving()
def compare(version: SparkJob, home: Path, new: str, *, examples: int, look: Callable[[str], object]) -> RowsDiff:
    """Compare the rows of the sinks of the job whose checkpoint is `home` with those of another version, which the report calls `new`.

    `examples`: the most rows of a sink in the report. `look` is called with a line for each step.
    """
    began = time.monotonic()
    begun(home, _ROWS)
    with candidate.claim(home) as place:
        while True:
            before = begun(home, _ROWS)
            sinks = Sinks(version, home, before)
            pause = cut(sinks.old, home, sinks.held)
            with Request(version).opened(place / candidate.CUT, home=home) as replacement:
                if replacement.stored.plan != before.plan:
                    continue  # another version has started meanwhile
                compared = {one.name: one for one in _compared(sinks, replacement, place, examples, look)}
                epochs = {name: origin.epoch for name, origin in replacement.origins.items()}
                return RowsDiff(before.job, home, str(home), new, epochs, sinks.report(compared), pause, time.monotonic() - began)


def _compared(sinks: Sinks, replacement: Replacement, place: Path, examples: int, look: Callable[[str], object]) -> Iterator[SinkRows]:
    """Compute the rows of the new version, and yield how those of each sink differ."""
    if not sinks.pairs:
        return
    job, known = replacement.job, replacement.comparison.old.totals
    look(f"computing the rows of {many(len(sinks.pairs), 'sink')}")
    rebuild = Rebuild(sinks=dict.fromkeys(sinks.pairs, RETRACT))
    shadow = place / candidate.SHADOW
    rows = replacement.shadow(shadow, look, ends_of(job, rebuild, shadow / ROWS)).finish(known).rows
    with under(job.settings) as spark:
        for number, (name, pair) in enumerate(sinks.pairs.items()):
            whole = place / "differences" / f"{number}"
            yield differences(spark, pair, held.rows_of(place, str(pair.old.name)), rows.get(name), whole, examples, zone(job.time_zone))
