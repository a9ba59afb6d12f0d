"""The cost of epochs of the 22 views, against answering the queries anew.

The database is loaded in ten epochs, with a refresh after each. Then come, in turns: an epoch of one row, one that changes a hundredth of
all rows, and the 22 queries in Spark batch.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from bench.state.measure import Goal, Result, in_turns, median
from bench.tpch.batch import Batch
from bench.tpch.changing import Database, Epoch
from bench.tpch.data import tables
from bench.tpch.queries import QUERIES
from bench.tpch.views import Views

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SLICES = 10
REFRESH = 0.001
"""The share of the orders that the specification's refresh functions add and delete."""
SLICE = f"one of {SLICES} slices of all rows"
ONE_ROW, PERCENT, BATCH = "epoch of one row", "epoch of 1 % of the rows", "Spark batch, 22 queries anew"
GROWTH = "TPC-H: cost follows the size of the change, not of the data"
LIMIT, ONE_ROW_LIMIT = 0.25, 2000
"""The share of Spark batch's time that an epoch of a hundredth of the rows may take, and the milliseconds of an epoch of one row."""


def measure(spark: SparkSession, scale: float, rounds: int, report: Callable[[str], object]) -> list[Result]:
    folder = Path(tempfile.mkdtemp(prefix="headrace-tpch-"))
    views = Views(folder / "views")
    batch = Batch(spark, folder / "batch")
    try:
        database = Database(tables(scale), slices=SLICES)
        loaded = load(database, views, report)
        batch.hold(database.live)
        compare(batch, views)
        samples = in_turns(
            {
                ONE_ROW: lambda: views.feed(database.one_row()),
                PERCENT: lambda: views.feed(database.refresh(0.01)),
                BATCH: batch.milliseconds,
            },
            rounds,
            report=report,
        )
        batch.hold(database.live)
        compare(batch, views)
    finally:
        views.stop()
        shutil.rmtree(folder, ignore_errors=True)
    share = median(samples[PERCENT]) / median(samples[BATCH])
    goals = [
        Goal("of Spark batch for an epoch of 1 % of the rows", share, LIMIT),
        Goal("for an epoch of one row", median(samples[ONE_ROW]), ONE_ROW_LIMIT, unit="ms"),
    ]
    size = f"TPC-H, scale factor {scale:g}, {database.rows:,} rows, 22 views in one job"
    remark = "every view was equal to Spark batch after the load and at the end"
    return [
        Result(f"{size}: loading", "ms", loaded, []),
        Result(size, "ms", samples, goals if scale >= 0.1 else goals[1:], [remark]),
    ]


def load(database: Database, views: Views, report: Callable[[str], object]) -> dict[str, list[float]]:
    """Return the times of the loading epochs, and of the refreshes between."""
    spent: dict[str, list[float]] = {SLICE: [], "refresh": []}

    def fed(name: str, epoch: Epoch) -> None:
        spent[name].append(views.feed(epoch))
        report(f"{name}: {spent[name][-1]:,.0f} ms, {database.rows:,} rows")

    for number in range(SLICES):
        fed(SLICE, database.load(number))
        fed("refresh", database.refresh(REFRESH))
    return spent


def compare(batch: Batch, views: Views) -> None:
    """Check that every view is equal to the answer of batch."""
    kept = views.rows()
    wrong = [query.name for query in QUERIES if Counter(batch.answer(query)) != Counter(kept[query.name])]
    if wrong:
        raise RuntimeError(f"not what Spark batch answers: {', '.join(wrong)}")


def growth(results: dict[float, Result]) -> Result | None:
    """Return the growth of an epoch's cost with the data: that of one row, and that of each further row."""
    if len(results) < 2:
        return None
    small, large = min(results), max(results)
    one = {scale: median(result.samples[ONE_ROW]) for scale, result in results.items()}
    # The number of changed rows is proportional to the scale.
    row = {scale: (median(result.samples[PERCENT]) - one[scale]) / scale for scale, result in results.items()}
    goals = [
        Goal(f"for an epoch of one row at scale {large:g}, of that at {small:g}", one[large] / one[small], 1.5),
        Goal(f"for each changed row beyond it at scale {large:g}, of that at {small:g}", row[large] / row[small], 1.5),
    ]
    samples = {f"{name}, scale {scale:g}": result.samples[name] for name in (ONE_ROW, PERCENT) for scale, result in results.items()}
    return Result(GROWTH, "ms", samples, goals)
