"""group_by: what the rows of a group have in common."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from tests.spark.verbs.answers import check
from tests.spark.verbs.spelling import check_sql, check_yaml, streams
from tests.unit.errors import check_error


def test_answers(spark: SparkSession) -> None:
    check(
        spark,
        {
            "several columns": (
                lambda s: s.sales.group_by("shop", "id").agg(n="count(*)"),
                "SELECT shop, id, count(*) FROM sales GROUP BY shop, id",
            ),
            "an expression": (
                lambda s: s.sales.group_by(hr.expr("amount % 2").alias("odd")).agg(n="count(*)"),
                "SELECT amount % 2, count(*) FROM sales GROUP BY amount % 2",
            ),
            "one group": (lambda s: s.sales.group_by().agg(n="count(*)", m="min(shop)"), "SELECT count(*), min(shop) FROM sales"),
            "no aggregate": (lambda s: s.sales.group_by("shop").agg(), "SELECT DISTINCT shop FROM sales"),
            "of a join of groups": (
                lambda s: (
                    s.sales.group_by("shop")
                    .agg(n="count(*)")
                    .join(s.shops, on="shop = name")
                    .group_by("size")
                    .agg(s="sum(n)")
                    .filter("s > 1")
                ),
                "SELECT size, sum(n) FROM (SELECT shop, count(*) n FROM sales GROUP BY shop) JOIN shops ON shop = name GROUP BY size HAVING sum(n) > 1",
            ),
        },
        restart=True,
    )


def test_spellings(spark: SparkSession, tmp_path: Path) -> None:
    check_yaml(tmp_path, lambda s: s.sales.group_by("shop", "id").agg(n="count(1)"), "- group_by: {keys: [shop, id], agg: {n: count(1)}}")
    check_sql(lambda s: s.sales.group_by().agg(n="count(1)"), "SELECT count(1) AS n FROM sales")


def test_a_column_twice() -> None:
    check_error(
        """
        DUPLICATE_COLUMN: the result of group_by would have two columns `shop`
          at test_group_by.py:*: lambda: streams().sales.group_by("shop", "shop"),
          hint: give one of them another name
          more: headrace error DUPLICATE_COLUMN
        """,
        lambda: streams().sales.group_by("shop", "shop"),
    )


def test_what_a_grouped_stream_has() -> None:
    with pytest.raises(AttributeError, match=r"^a grouped stream has no `count`; it has: agg$"):
        streams().sales.group_by("shop").count()  # type: ignore[attr-defined]
