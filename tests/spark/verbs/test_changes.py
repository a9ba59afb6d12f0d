"""changes: each change as a row of its own."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import headrace as hr
from headrace.testing import Harness
from tests.spark.verbs.answers import Streams
from tests.spark.verbs.spelling import check_yaml, streams
from tests.unit.errors import check_error


def counts(s: Streams) -> hr.Stream:
    return s.sales.group_by("shop").agg(n="count(1)").changes()


def test_changes_of_groups(spark: SparkSession) -> None:
    with Harness(partitions=1) as h:
        out = h.collect(h.source("t", "k string", changes=True).group_by("k").agg(n="count(*)").changes())
        h.commit()
        h.commit({"t": [("+", ("a",)), ("+", (None,))]})
        h.commit({"t": [("+", ("a",)), ("-", (None,))]})
        assert out.changes() == [
            (2, "+", (None, 1, "insert")),
            (2, "+", ("a", 1, "insert")),
            (3, "+", (None, 1, "delete")),
            (3, "+", ("a", 1, "delete")),
            (3, "+", ("a", 2, "insert")),
        ]


def test_what_comes_and_goes_in_one_epoch_is_no_change(spark: SparkSession) -> None:
    with Harness(partitions=1) as h:
        out = h.collect(h.source("t", "k string", changes=True, trusted=True).changes())
        h.commit({"t": [("+", ("a",)), ("-", ("a",)), ("+", ("b",)), ("+", ("b",))]})
        assert out.changes() == [(1, "+", ("b", "insert")), (1, "+", ("b", "insert"))]


def test_spellings(spark: SparkSession, tmp_path: Path) -> None:
    check_yaml(tmp_path, counts, "- group_by: {keys: shop, agg: {n: count(1)}}\n- changes")


def test_a_column_of_that_name() -> None:
    check_error(
        """
        DUPLICATE_COLUMN: the result of changes would have two columns `_change`
          at test_changes.py:*: lambda: streams().sales.changes().changes(),
          hint: give one of them another name
          more: headrace error DUPLICATE_COLUMN
        """,
        lambda: streams().sales.changes().changes(),
    )
