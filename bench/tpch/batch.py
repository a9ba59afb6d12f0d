"""The same queries, answered anew over the current rows by Spark's batch engine."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.tpch.queries import QUERIES, Query

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


class Batch:
    """Tables as Parquet files; `seconds` runs the 22 queries over them, one after another."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self._folder = folder

    def hold(self, tables: Mapping[str, pa.Table]) -> None:
        """Replace the rows of the tables. Not measured."""
        from pyarrow import parquet

        shutil.rmtree(self._folder, ignore_errors=True)
        for name, table in tables.items():
            # a new name each time, because Spark remembers the files of a folder
            place = self._folder / name / f"{time.monotonic_ns()}.parquet"
            place.parent.mkdir(parents=True)
            parquet.write_table(table, place, row_group_size=200_000)
            self._spark.read.parquet(str(place)).createOrReplaceTempView(name)

    def milliseconds(self) -> float:
        began = time.perf_counter()
        for query in QUERIES:
            self._spark.sql(query.text).write.format("noop").mode("overwrite").save()
        return (time.perf_counter() - began) * 1000

    def answer(self, query: Query) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self._spark.sql(query.batch).collect()]
