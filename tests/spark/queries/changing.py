"""Tables that change at random, and what Spark's batch engine says of them: the oracle of all queries."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import SparkSession

from headrace.testing.collected import in_order
from tests.spark.sql.batch import local, small

Row = tuple[Any, ...]
Changes = list[tuple[str, Row]]


class Table:
    """Rows that come and go; of what `change` gives, the net is what happened."""

    def __init__(self, schema: str, make: Callable[[random.Random], Row]) -> None:
        self.schema = schema
        self.rows: list[Row] = []
        self._make = make
        self._shown = ""

    def change(self, rng: random.Random, n: int) -> Changes:
        """Some rows come, some go, one comes and goes."""
        changes: Changes = []
        for _ in range(n):
            if self.rows and rng.random() < 0.45:
                row = self.rows.pop(rng.randrange(len(self.rows)))
                changes.append(("-", row))
            else:
                row = self._make(rng)
                self.rows.append(row)
                changes.append(("+", row))
        passing = self._make(rng)
        return [("+", passing), *changes, ("-", passing)]

    def show(self, spark: SparkSession, name: str) -> None:
        """Make a view of the rows that are there."""
        # By text, in which 0.0 and -0.0 are two rows.
        text = f"{name} {self.rows}"
        if self._shown != text:
            local(spark.createDataFrame(self.rows, self.schema)).createOrReplaceTempView(name)
            self._shown = text


def batch(spark: SparkSession, query: str, tables: Mapping[str, Table]) -> list[Row]:
    """The answer of Spark's batch engine over the rows that are there."""
    with small(spark):
        for name, table in tables.items():
            table.show(spark, name)
        return in_order([tuple(row) for row in spark.sql(query).collect()])
