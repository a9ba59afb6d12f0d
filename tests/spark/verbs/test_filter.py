"""filter: the rows for which every condition is true."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import headrace as hr
from tests.spark.verbs.answers import Streams, check
from tests.spark.verbs.spelling import check_sql, check_yaml, streams
from tests.unit.errors import check_error


def large(s: Streams) -> hr.Stream:
    return s.sales.filter("amount > 1", "shop <> 'c'")


def test_answers(spark: SparkSession) -> None:
    check(
        spark,
        {
            "several conditions": (large, "SELECT * FROM sales WHERE amount > 1 AND shop <> 'c'"),
            "a column": (lambda s: s.sales.filter(hr.col("shop") == "a"), "SELECT * FROM sales WHERE shop = 'a'"),
            "null is not true": (lambda s: s.sales.filter("NOT amount > 1"), "SELECT * FROM sales WHERE NOT amount > 1"),
            "none": (lambda s: s.sales.filter(), "SELECT * FROM sales"),
            "by its alias": (lambda s: s.sales.alias("t").filter("t.id = t.amount"), "SELECT * FROM sales t WHERE t.id = t.amount"),
        },
    )


def test_spellings(spark: SparkSession, tmp_path: Path) -> None:
    check_yaml(tmp_path, large, "- filter: [amount > 1, shop <> 'c']")
    check_sql(large, "SELECT * FROM sales WHERE amount > 1 AND shop <> 'c'")


def test_an_unknown_column(spark: SparkSession) -> None:
    check_error(
        """
        UNKNOWN_COLUMN: no column `amout` in sales
          at test_filter.py:*: lambda: streams().sales.filter("amout > 1"),
          hint: did you mean `amount`? It has: id, shop, amount
          more: headrace error UNKNOWN_COLUMN
        """,
        lambda: streams().sales.filter("amout > 1"),
    )


def test_a_constant_of_python() -> None:
    check_error(
        """
        BAD_COLUMN: expected a column or a SQL string, got True
          at test_filter.py:*: lambda: streams().sales.filter(True),  # type: ignore[arg-type]
          hint: write a constant as hr.lit(True)
          more: headrace error BAD_COLUMN
        """,
        lambda: streams().sales.filter(True),  # type: ignore[arg-type]
    )
