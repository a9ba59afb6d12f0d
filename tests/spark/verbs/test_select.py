"""select: these columns and no others."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import headrace as hr
from tests.spark.verbs.answers import Streams, check
from tests.spark.verbs.spelling import check_sql, check_yaml, streams
from tests.unit.errors import check_error


def twice(s: Streams) -> hr.Stream:
    return s.sales.select("id", twice="amount * 2")


def test_answers(spark: SparkSession) -> None:
    check(
        spark,
        {
            "columns and expressions": (twice, "SELECT id, amount * 2 FROM sales"),
            "all and more": (lambda s: s.sales.select("*", none="shop IS NULL"), "SELECT *, shop IS NULL FROM sales"),
            "a constant": (lambda s: s.sales.select(one=hr.lit(1)), "SELECT 1 FROM sales"),
            "a window": (
                lambda s: s.sales.select("id", spent=hr.f.sum("amount").over(per="shop")),
                "SELECT id, sum(amount) OVER (PARTITION BY shop) FROM sales",
            ),
        },
    )


def test_spellings(spark: SparkSession, tmp_path: Path) -> None:
    check_yaml(tmp_path, twice, "- select: {id: id, twice: amount * 2}")
    check_sql(twice, "SELECT id, amount * 2 AS twice FROM sales")


def test_no_columns() -> None:
    check_error(
        """
        NO_COLUMNS: select leaves no columns
          at test_select.py:*: lambda: streams().sales.select(),
          hint: keep at least one column
          more: headrace error NO_COLUMNS
        """,
        lambda: streams().sales.select(),
    )
