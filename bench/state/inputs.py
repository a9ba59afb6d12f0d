"""The events of a workload as Parquet files, made once and kept in `.headrace/bench/data`. Making them is not measured.

All rows of a key are in one file, in the order of their time, so every contender reads them in that order.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.environments import CACHE
from bench.state.workloads.workload import END, Input, Workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES = 4


@dataclass(frozen=True)
class Events:
    """The folder of each input's files, and how many events they have together."""

    folder: Path
    events: int
    keys: int

    def path(self, name: str) -> str:
        return str(self.folder / name)


def make(spark: SparkSession, workload: Workload, events: int, keys: int) -> Events:
    """Return files to compare contenders by."""
    keys = workload.keys(events, keys)

    def frame(name: str, input: Input) -> DataFrame:
        rows = generated(spark, input, events // len(workload.inputs), keys).repartition(FILES, "k").sortWithinPartitions("id")
        chosen = rows.selectExpr(*texts(input))
        return chosen.union(last(spark, input)).coalesce(FILES) if workload.timed and name == "event" else chosen

    return written(workload, events, keys, frame, "by-time")


def make_slices(spark: SparkSession, workload: Workload, events: int, keys: int, slices: int) -> Events:
    """Return files that follow each other in time and each have all keys, for runs of many epochs."""

    def frame(_: str, input: Input) -> DataFrame:
        return generated(spark, input, events // len(workload.inputs), keys, slices).selectExpr(*texts(input))

    return written(workload, events, keys, frame, f"slices-{slices}")


def written(workload: Workload, events: int, keys: int, frame: Callable[[str, Input], DataFrame], layout: str) -> Events:
    definition = hashlib.sha256(repr((workload.inputs, workload.timed, END, FILES)).encode()).hexdigest()[:8]
    folder = CACHE / "data" / f"{workload.name}-{events}-{keys}-{layout}-{definition}"
    if not folder.is_dir():
        fresh = folder.with_suffix(".new")
        shutil.rmtree(fresh, ignore_errors=True)
        for name, input in workload.inputs.items():
            frame(name, input).write.parquet(str(fresh / name))
        fresh.rename(folder)
    return Events(folder, events, keys)


def generated(spark: SparkSession, input: Input, events: int, keys: int, files: int | None = None) -> DataFrame:
    key = input.key.format(keys=keys)
    return spark.range(0, events, 1, files).selectExpr("id", f"{key} AS k", f"id div {keys} AS j")


def texts(input: Input) -> list[str]:
    return [f"cast({text} AS {type}) AS {name}" for name, (type, text) in input.columns.items()]


def last(spark: SparkSession, input: Input) -> DataFrame:
    """Return the row after all others."""
    return spark.range(1).selectExpr(
        *(f"TIMESTAMP '{END}' AS ts" if name == "ts" else f"cast(-1 AS {type}) AS {name}" for name, (type, _) in input.columns.items())
    )
