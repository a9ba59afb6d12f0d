"""intersect: the rows that both streams have."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import headrace as hr
from tests.spark.verbs.answers import Streams, check
from tests.spark.verbs.spelling import check_yaml, streams
from tests.unit.errors import check_error


def once(s: Streams) -> hr.Stream:
    return s.sales.select(name="shop").intersect(s.shops.select("name"))


def test_answers(spark: SparkSession) -> None:
    check(
        spark,
        {
            "once": (once, "SELECT shop FROM sales INTERSECT SELECT name FROM shops"),
            "all": (
                lambda s: s.sales.select(name="shop").intersect(s.shops.select("name"), all=True),
                "SELECT shop FROM sales INTERSECT ALL SELECT name FROM shops",
            ),
            "of itself": (
                lambda s: s.sales.intersect(s.sales.filter("amount > 1")),
                "SELECT * FROM sales INTERSECT SELECT * FROM sales WHERE amount > 1",
            ),
        },
        restart=True,
    )


def test_spellings(spark: SparkSession, tmp_path: Path) -> None:
    check_yaml(tmp_path, lambda s: s.sales.intersect(s.sales), "- intersect: sales")
    check_yaml(tmp_path, lambda s: s.sales.intersect(s.sales, all=True), "- intersect: {with: sales, all: true}")


def test_no_stream() -> None:
    check_error(
        """
        BAD_INPUT: intersect expects a stream, got 'shops'
          at test_intersect.py:*: lambda: streams().sales.intersect("shops"),  # type: ignore[arg-type]
          hint: first.intersect(second)
          more: headrace error BAD_INPUT
        """,
        lambda: streams().sales.intersect("shops"),  # type: ignore[arg-type]
    )


def test_other_columns() -> None:
    check_error(
        """
        UNION_COLUMNS: the streams of a union must have the same columns: shops lacks `id`, `shop`, `amount`; shops has `name`, `size`, which sales lacks
          at test_intersect.py:*: lambda: streams().sales.intersect(streams().shops),
          hint: align them with .select(...), .rename({...}), .drop(...) or .with_columns(missing=hr.lit(None))
          more: headrace error UNION_COLUMNS
        """,
        lambda: streams().sales.intersect(streams().shops),
    )
