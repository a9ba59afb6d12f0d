"""union: the rows of this stream and of others with the same columns."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import headrace as hr
from tests.spark.verbs.answers import Streams, check
from tests.spark.verbs.spelling import check_sql, check_yaml, streams
from tests.unit.errors import check_error


def both(s: Streams) -> hr.Stream:
    return s.sales.union(s.sales)


def names(s: Streams) -> hr.Stream:
    return s.shops.select("name").union(s.sales.select(name="shop"))


def test_answers(spark: SparkSession) -> None:
    check(
        spark,
        {
            "two streams": (names, "SELECT name FROM shops UNION ALL SELECT shop FROM sales"),
            "one stream twice": (both, "SELECT * FROM sales UNION ALL SELECT * FROM sales"),
            "by name, not by place": (
                lambda s: s.sales.select("id", "amount").union(s.sales.select("amount", "id").filter("id = 1")),
                "SELECT id, amount FROM sales UNION ALL SELECT id, amount FROM sales WHERE id = 1",
            ),
            "three": (
                lambda s: s.shops.select(n="size").union(s.sales.select(n="id"), s.sales.select(n="amount")),
                "SELECT size FROM shops UNION ALL SELECT id FROM sales UNION ALL SELECT amount FROM sales",
            ),
            "a wider type": (
                lambda s: s.sales.select(n="id").union(s.sales.select(n="CAST(amount AS bigint)")),
                "SELECT id FROM sales UNION ALL SELECT CAST(amount AS bigint) FROM sales",
            ),
        },
    )


def test_spellings(spark: SparkSession, tmp_path: Path) -> None:
    check_yaml(tmp_path, both, "- union: sales")
    check_sql(names, "SELECT name FROM shops UNION ALL SELECT shop AS name FROM sales")


def test_of_one_stream() -> None:
    check_error(
        """
        UNION_COLUMNS: union needs another stream
          at test_union.py:*: lambda: streams().sales.union(),
          hint: first.union(second, third)
          more: headrace error UNION_COLUMNS
        """,
        lambda: streams().sales.union(),
    )
