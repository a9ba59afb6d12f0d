"""rename: other names for columns."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import headrace as hr
from tests.spark.verbs.answers import Streams, check
from tests.spark.verbs.spelling import check_yaml, streams
from tests.unit.errors import check_error


def swapped(s: Streams) -> hr.Stream:
    return s.sales.rename({"id": "amount", "amount": "id"})


def test_answers(spark: SparkSession) -> None:
    check(
        spark,
        {
            "swapped": (lambda s: swapped(s).select("amount", "id"), "SELECT id, amount FROM sales"),
            "none": (lambda s: s.sales.rename({}), "SELECT * FROM sales"),
        },
    )


def test_spellings(spark: SparkSession, tmp_path: Path) -> None:
    check_yaml(tmp_path, swapped, "- rename: {id: amount, amount: id}")


def test_an_unknown_column() -> None:
    check_error(
        """
        UNKNOWN_COLUMN: no column `amout` in sales
          at test_rename.py:*: lambda: streams().sales.rename({"amout": "much"}),
          hint: did you mean `amount`? It has: id, shop, amount
          more: headrace error UNKNOWN_COLUMN
        """,
        lambda: streams().sales.rename({"amout": "much"}),
    )
