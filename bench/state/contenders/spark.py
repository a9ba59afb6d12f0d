"""Spark's own operator: with processors for rows and for frames in Python, and with processors in Scala."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from bench.state.contenders.contender import Answer, checkpoint, timed
from bench.state.inputs import Events
from bench.state.workloads import Workload
from bench.state.workloads.workload import END

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Spark:
    """A contender that makes one query of its input."""

    name: str
    spark: SparkSession
    share: float = 1.0

    def lacks(self, workload: Workload) -> str | None:
        return None

    def prepare(self, workload: Workload) -> None:
        pass

    def query(self, workload: Workload, rows: DataFrame) -> DataFrame:
        raise NotImplementedError

    def seconds(self, workload: Workload, events: Events) -> float:
        def run(checkpoint: str) -> None:
            writer = self.query(workload, read(self.spark, workload, events)).writeStream.format("noop")
            writer.option("checkpointLocation", checkpoint).outputMode("append").trigger(availableNow=True).start().awaitTermination()

        return timed(run)

    def answer(self, workload: Workload, events: Events) -> Answer:
        results: list[tuple[int, ...]] = []

        def add(frame: DataFrame, _: int) -> None:
            texts = ["count(1)", *(f"coalesce(sum({text}), 0)" for text in workload.sum_texts)]
            results.append(tuple(map(int, frame.selectExpr(*texts).first() or ())))

        with checkpoint() as folder:
            writer = self.query(workload, read(self.spark, workload, events)).writeStream.foreachBatch(add)
            writer.option("checkpointLocation", folder).outputMode("append").trigger(availableNow=True).start().awaitTermination()
        rows, *sums = map(sum, zip(*results, strict=True))
        return Answer(rows, tuple(sums))


class RowProcessor(Spark):
    def query(self, workload: Workload, rows: DataFrame) -> DataFrame:
        by_value()
        return rows.groupBy("k").transformWithState(workload.row(), workload.output_schema, "append", time_mode(workload))


class PandasProcessor(Spark):
    def query(self, workload: Workload, rows: DataFrame) -> DataFrame:
        by_value()
        return rows.groupBy("k").transformWithStateInPandas(workload.pandas(), workload.output_schema, "append", time_mode(workload))


class ReadingAlone(Spark):
    def query(self, workload: Workload, rows: DataFrame) -> DataFrame:
        return rows

    def answer(self, workload: Workload, events: Events) -> Answer:
        raise NotImplementedError


def read(spark: SparkSession, workload: Workload, events: Events) -> DataFrame:
    timed = workload.reads_time("arrival")
    frames = [
        spark.readStream.schema(input.schema(timed=timed)).parquet(events.path(name)).selectExpr("*", *side(workload, number))
        for number, (name, input) in enumerate(workload.inputs.items())
    ]
    together: Callable[[DataFrame, DataFrame], DataFrame] = lambda one, other: one.union(other)  # noqa: E731
    rows = reduce(together, frames)
    if timed:
        rows = rows.withWatermark("ts", "0 seconds")
    return rows.filter(f"ts < TIMESTAMP '{END}'") if workload.timed else rows


def side(workload: Workload, number: int) -> list[str]:
    """Return the column with the input of a row, if there are several inputs."""
    return [f"{number} AS side"] if len(workload.inputs) > 1 else []


def time_mode(workload: Workload) -> str:
    return "eventTime" if workload.timed else "none"


def by_value() -> None:
    """Send the classes of this package to Spark's Python workers, which need not find it then."""
    from pyspark import cloudpickle

    import bench.state.workloads

    if bench.state.workloads.__name__ not in cloudpickle.list_registry_pickle_by_value():
        cloudpickle.register_pickle_by_value(bench.state.workloads)
