"""drop: without these columns."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import headrace as hr
from tests.spark.verbs.answers import Streams, check
from tests.spark.verbs.spelling import check_yaml, streams
from tests.unit.errors import check_error


def short(s: Streams) -> hr.Stream:
    return s.sales.drop("id", "AMOUNT")


def test_answers(spark: SparkSession) -> None:
    check(spark, {"two": (short, "SELECT shop FROM sales"), "none": (lambda s: s.sales.drop(), "SELECT * FROM sales")})


def test_spellings(spark: SparkSession, tmp_path: Path) -> None:
    check_yaml(tmp_path, short, "- drop: [id, AMOUNT]")


def test_a_name_that_is_none() -> None:
    check_error(
        """
        BAD_COLUMN: a column's name cannot be 3
          at test_drop.py:*: lambda: streams().sales.drop(3),  # type: ignore[arg-type]
          hint: names are strings: "amount"
          more: headrace error BAD_COLUMN
        """,
        lambda: streams().sales.drop(3),  # type: ignore[arg-type]
    )
