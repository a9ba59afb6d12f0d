"""distinct: each row once."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import headrace as hr
from headrace.testing import Harness
from tests.spark.verbs.answers import Streams, check
from tests.spark.verbs.spelling import check_sql, check_yaml, streams
from tests.unit.errors import check_error


def shops(s: Streams) -> hr.Stream:
    return s.sales.select("shop", "amount").distinct()


def test_answers(spark: SparkSession) -> None:
    check(spark, {"nulls are equal": (shops, "SELECT DISTINCT shop, amount FROM sales")}, restart=True)


def test_rows_that_are_only_added_are_never_taken_back(spark: SparkSession) -> None:
    with Harness(partitions=1) as h:
        out = h.collect(h.source("t", "k string").distinct())
        h.commit({"t": [("+", ("a",)), ("+", ("a",)), ("+", (None,))]})
        h.commit({"t": [("+", ("a",)), ("+", ("b",))]})
        assert out.changes() == [(1, "+", (None,)), (1, "+", ("a",)), (2, "+", ("b",))]


def test_spellings(spark: SparkSession, tmp_path: Path) -> None:
    check_yaml(tmp_path, shops, "- select: [shop, amount]\n- distinct")
    check_sql(lambda s: s.sales.distinct(), "SELECT DISTINCT * FROM sales")


def test_a_time_that_is_none() -> None:
    check_error(
        """
        BAD_DURATION: distinct: `expires` cannot be 'soon': it is not a duration
          at test_distinct.py:*: lambda: streams().sales.distinct(expires="soon"),
          hint: write "5 minutes", "1 hour 30 minutes" or datetime.timedelta(minutes=5); units are milliseconds, seconds, minutes, hours, days and weeks
          more: headrace error BAD_DURATION
        """,
        lambda: streams().sales.distinct(expires="soon"),
    )
