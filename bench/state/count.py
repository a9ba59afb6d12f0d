"""Running count and sum per key, one output per event: headrace against PySpark's own state operator, and reading alone as the floor.

All three read the same Parquet files in one micro-batch and write nothing: headrace's sink takes the rows in and counts them,
the others use Spark's noop sink.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import headrace as hr
from bench.state.measure import Goal, Result, in_turns, median

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENTS, KEYS = 1_000_000, 50_000
SCHEMA = "k int, v bigint"
OUTPUT = "k int, n bigint, total bigint"


class Running(hr.Program):
    """How many values a key has had, and their sum."""

    n = hr.Value("bigint")
    total = hr.Value("bigint")

    def on_event(self, e: hr.Row) -> None:
        n = hr.f.coalesce(self.n.get(), 0) + 1
        total = hr.f.coalesce(self.total.get(), 0) + e.v
        self.n.set(n)
        self.total.set(total)
        hr.emit(k=self.key.k, n=n, total=total)


def measure(spark: SparkSession, folder: Path, rounds: int, told: Callable[[str], object]) -> Result:
    events = make_events(spark, folder / "events")
    samples = in_turns(
        {
            "headrace": lambda: with_headrace(events),
            "PySpark transformWithState": lambda: with_pyspark(spark, events),
            "read and write alone": lambda: with_nothing(spark, events),
        },
        rounds,
        told=told,
    )
    mine, theirs, floor = (median(values) for values in samples.values())
    return Result(
        f"running count and sum, {EVENTS:,} events, {KEYS:,} keys",
        "s",
        samples,
        [
            Goal("faster than PySpark's transformWithState (Row)", theirs / mine, 10, at_least=True),
            Goal("the same without reading and writing", (theirs - floor) / max(mine - floor, 1e-9), 10, at_least=True),
        ],
        [f"headrace: {EVENTS / mine:,.0f} events/s, PySpark: {EVENTS / theirs:,.0f} events/s"],
    )


def make_events(spark: SparkSession, folder: Path) -> Path:
    from pyspark.sql import functions as F

    key = F.pmod(F.xxhash64("id"), F.lit(KEYS)).cast("int")
    spark.range(EVENTS).select(key.alias("k"), F.col("id").alias("v")).repartition(4).write.parquet(str(folder))
    return folder


def with_headrace(events: Path) -> float:
    from bench.state.nothing import write_nothing

    read = hr.read.files(str(events), format="parquet", schema=SCHEMA, name="events")
    job = hr.job("count", write_nothing(read.key_by("k").process(Running, order="arrival").named("running")))
    return timed(lambda checkpoint: job.run(checkpoint=checkpoint, progress=False, partitions=2))


def with_pyspark(spark: SparkSession, events: Path) -> float:
    from pyspark.sql import Row
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class Processor(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.state = handle.getValueState("state", "n bigint, total bigint")

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
            n, total = self.state.get() if self.state.exists() else (0, 0)
            for row in rows:
                n += 1
                total += row.v
                yield Row(k=key[0], n=n, total=total)
            self.state.update((n, total))

        def close(self) -> None:
            pass

    return timed_query(spark, events, lambda frame: frame.groupBy("k").transformWithState(Processor(), OUTPUT, "append", "none"))


def with_nothing(spark: SparkSession, events: Path) -> float:
    return timed_query(spark, events, lambda frame: frame)


def timed_query(spark: SparkSession, events: Path, query: Callable[[DataFrame], DataFrame]) -> float:
    def run(checkpoint: str) -> None:
        frame = query(spark.readStream.schema(SCHEMA).parquet(str(events)))
        writer = frame.writeStream.format("noop").option("checkpointLocation", checkpoint).outputMode("append")
        writer.trigger(availableNow=True).start().awaitTermination()

    return timed(run)


def timed(run: Callable[[str], object]) -> float:
    checkpoint = tempfile.mkdtemp(prefix="headrace-bench-")
    began = time.perf_counter()
    try:
        run(checkpoint)
        return time.perf_counter() - began
    finally:
        shutil.rmtree(checkpoint, ignore_errors=True)
