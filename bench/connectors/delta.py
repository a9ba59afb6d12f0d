"""Exactly-once writes to a Delta table, against Spark's own Parquet sink for streams, in the same process and in turns."""

from __future__ import annotations

import itertools
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import headrace as hr
from bench.state.measure import Goal, Result, in_turns, median

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS, FILES = 1_000_000, 8
APPEND, SPARKS = "headrace, Delta append", "Spark's Parquet sink"
TIMES_AS_LONG = 1.2

Contender = Callable[["SparkSession", Path, Path, Path], None]
_runs = itertools.count()


def measure(spark: SparkSession, folder: Path, rounds: int, scale: float, report: Callable[[str], object]) -> list[Result]:
    """Return the seconds of each contender, from the start of the query to its end."""
    rows = int(ROWS * scale)
    source = folder / "given"
    frame = spark.range(rows).selectExpr(
        "id",
        "element_at(array('de', 'fr', 'it', 'at'), cast(id % 4 as int) + 1) AS country",
        "cast(id % 100000 / 7 as decimal(12,2)) AS amount",
        "timestamp'2026-01-01 00:00:00' + make_dt_interval(0, 0, 0, id % 1000000) AS at",
        "concat('a note of some length about order number ', id) AS note",
    )
    frame.repartition(FILES).write.parquet(str(source))

    def run(contender: Contender) -> Callable[[], float]:
        return lambda: seconds(spark, contender, source, folder / f"work-{next(_runs)}", rows)

    samples = in_turns({APPEND: run(by_headrace), SPARKS: run(by_spark)}, rounds, warm=2, report=report)
    mine, theirs = samples[APPEND], samples[SPARKS]
    goals = [
        Goal("as long as Spark's sink, by the medians", median(mine) / median(theirs), TIMES_AS_LONG),
        Goal("as long as Spark's sink, by the least times", min(mine) / min(theirs), TIMES_AS_LONG),
    ]
    remarks = [f"each run read {rows:,} rows from {FILES} Parquet files in one epoch, and its output had them all"]
    return [Result(f"Parquet to a Delta table, {rows:,} rows of 5 columns", "s", samples, goals, remarks, base=APPEND)]


def seconds(spark: SparkSession, contender: Contender, source: Path, work: Path, rows: int) -> float:
    """Time one run into a folder of its own, without the check of its output."""
    try:
        began = time.perf_counter()
        contender(spark, source, work / "out", work / "checkpoint")
        spent = time.perf_counter() - began
        count = counted(spark, work / "out")
        if count != rows:
            raise RuntimeError(f"{contender.__name__}: {count} rows instead of {rows}")
        return spent
    finally:
        shutil.rmtree(work, ignore_errors=True)


def by_headrace(spark: SparkSession, source: Path, out: Path, checkpoint: Path) -> None:
    rows = hr.read.files(source, format="parquet", schema=SCHEMA, name="rows")
    hr.job("copy", rows.write.delta(out)).run(checkpoint=checkpoint, progress=False)


def by_spark(spark: SparkSession, source: Path, out: Path, checkpoint: Path) -> None:
    writer = spark.readStream.schema(SCHEMA).parquet(str(source)).writeStream.format("parquet")
    writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start(str(out)).awaitTermination()


def counted(spark: SparkSession, out: Path) -> int:
    """Return the number of rows in the files that the output's own log names."""
    if (out / "_delta_log").is_dir():
        from deltalake import DeltaTable

        return int(DeltaTable(out).count())
    return int(spark.read.parquet(str(out)).count())


SCHEMA = "id bigint, country string, amount decimal(12,2), at timestamp, note string"
