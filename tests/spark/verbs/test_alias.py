"""alias: the same with a qualifier for its columns."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from tests.spark.verbs.answers import check
from tests.spark.verbs.spelling import check_sql, check_yaml, streams
from tests.unit.errors import check_error


def test_answers(spark: SparkSession) -> None:
    check(
        spark,
        {
            "both sides": (
                lambda s: s.sales.alias("a").join(
                    s.sales.rename({"id": "other"}).select("other", much="amount").alias("b"), on="a.id = b.other AND a.amount < b.much"
                ),
                "SELECT a.*, b.id, b.amount FROM sales a JOIN sales b ON a.id = b.id AND a.amount < b.amount",
            ),
            "kept by a filter": (lambda s: s.sales.alias("a").filter("a.id > 1").drop("id"), "SELECT shop, amount FROM sales WHERE id > 1"),
        },
    )


def test_spellings(spark: SparkSession, tmp_path: Path) -> None:
    check_yaml(tmp_path, lambda s: s.sales.alias("a").filter("a.id > 1"), "- alias: a\n- filter: a.id > 1")
    check_sql(lambda s: s.sales.alias("a").filter("a.id > 1"), "SELECT * FROM sales a WHERE a.id > 1")


def test_a_name_that_is_none() -> None:
    check_error(
        """
        BAD_NAME: 3 cannot be a name
          at test_alias.py:*: lambda: streams().sales.alias(3),  # type: ignore[arg-type]
          hint: names begin with a letter or digit and have only letters, digits, spaces, `_`, `-` and `.`
          more: headrace error BAD_NAME
        """,
        lambda: streams().sales.alias(3),  # type: ignore[arg-type]
    )
