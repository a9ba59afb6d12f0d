"""key_by: what the rows of one state of a program have in common."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.testing import Harness
from tests.spark.verbs.spelling import streams
from tests.unit.errors import check_error


class Count(hr.Program):
    n = hr.Value("bigint", default=0)

    def on_event(self, e: hr.Row) -> None:
        self.n.set(self.n.get() + 1)
        hr.emit(key=self.key.kind, n=self.n.get())


def test_columns_and_expressions_and_nulls(spark: SparkSession) -> None:
    with Harness(partitions=1) as h:
        rows = h.source("t", "kind string, v int")
        named = h.collect(rows.key_by("kind").process(Count))
        computed = h.collect(rows.key_by(hr.expr("v % 2").alias("kind")).process(Count).named("computed"))
        h.commit()
        h.commit({"t": [("+", ("a", 1)), ("+", (None, 2)), ("+", ("b", None))]})
        h.commit({"t": [("+", ("a", 3)), ("+", (None, 4))]})
        assert named.rows() == [("a", 1), ("a", 2), ("b", 1)]
        assert computed.rows() == [(0, 1), (0, 2), (1, 1), (1, 2)]
        # NULL_KEY: two by `kind`, one by `v % 2`.
        assert h.metrics()["dead_letters"] == 3


def test_no_name() -> None:
    check_error(
        """
        UNNAMED_COLUMN: `amount + 1` has no name
          at test_key_by.py:*: lambda: streams().sales.key_by("amount + 1"),
          hint: name it: "amount + 1 AS name", or hr.expr(...).alias("name")
          more: headrace error UNNAMED_COLUMN
        """,
        lambda: streams().sales.key_by("amount + 1"),
    )


def test_what_a_keyed_stream_has() -> None:
    with pytest.raises(AttributeError, match=r"^a keyed stream has no `proces`; did you mean `\.process`\?$"):
        streams().sales.key_by("id").proces()  # type: ignore[attr-defined]
