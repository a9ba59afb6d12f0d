"""A one-row epoch of one program, with headrace's checkpoint file manager and with Spark's own: two running queries, fed in turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import headrace as hr
from bench.state.follow import Followed
from bench.state.measure import Goal, Result, in_turns, median
from bench.state.nothing import write_nothing
from bench.state.workloads.count import Running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
SPARKS = "org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager"


def measure(spark: SparkSession, folder: Path, rounds: int, report: Callable[[str], object]) -> Result:
    ours = start(folder / "ours")
    with setting(spark, MANAGER, SPARKS):
        sparks = start(folder / "sparks")
    numbers = iter(range(10**9))

    def row() -> dict[str, int]:
        return {"k": next(numbers) % 10, "v": 1}

    try:
        samples = in_turns(
            {"headrace's file manager": lambda: ours.feed(row()), "Spark's file manager": lambda: sparks.feed(row())},
            rounds,
            warm=max(5, rounds // 3),
            report=report,
        )
    finally:
        ours.stop()
        sparks.stop()
    mine, theirs = (median(values) for values in samples.values())
    return Result(
        "one-row epoch of one program (trigger time)",
        "ms",
        samples,
        [Goal("of the time with Spark's file manager", mine / theirs, 0.75), Goal("on a quiet machine", mine, 300, unit="ms")],
    )


def start(folder: Path) -> Followed:
    events = folder / "events"
    events.mkdir(parents=True)
    read = hr.read.files(str(events), format="json", schema="k int, v bigint", follow=True, name="events")
    job = hr.job("epoch", write_nothing(read.key_by("k").process(Running, order="arrival").named("running")))
    return Followed(job, events, folder / "checkpoint")


@contextmanager
def setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    before = spark.conf.get(name, None)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, before)
