"""top: the first rows of each group in an order."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import headrace as hr
from tests.spark.verbs.answers import Streams, check
from tests.spark.verbs.spelling import check_sql, check_yaml, streams
from tests.unit.errors import check_error


def two(s: Streams) -> hr.Stream:
    return s.sales.top(2, by=["amount desc", "id"], per="shop")


def test_answers(spark: SparkSession) -> None:
    check(
        spark,
        {
            "of each group": (two, "SELECT * FROM sales QUALIFY row_number() OVER (PARTITION BY shop ORDER BY amount DESC, id) <= 2"),
            "with ties": (
                lambda s: s.sales.top(2, by="amount desc", per="shop", ties="rank"),
                "SELECT * FROM sales QUALIFY rank() OVER (PARTITION BY shop ORDER BY amount DESC) <= 2",
            ),
            "values": (
                lambda s: s.sales.top(2, by="amount", ties="dense_rank"),
                "SELECT * FROM sales QUALIFY dense_rank() OVER (ORDER BY amount) <= 2",
            ),
            "of all": (
                lambda s: s.sales.top(3, by=["id desc", "shop", "amount"]),
                "SELECT * FROM sales ORDER BY id DESC, shop, amount LIMIT 3",
            ),
            "more than few": (
                lambda s: s.sales.select("id").top(17, by="id nulls last"),
                "SELECT id FROM sales ORDER BY id NULLS LAST LIMIT 17",
            ),
        },
        restart=True,
    )


def test_spellings(spark: SparkSession, tmp_path: Path) -> None:
    check_yaml(tmp_path, two, "- top: {n: 2, by: [amount desc, id], per: shop}")
    check_sql(lambda s: s.sales.top(3, by="id desc"), "SELECT * FROM sales ORDER BY id DESC LIMIT 3")


def test_partitions_that_are_none() -> None:
    check_error(
        """
        BAD_COLUMN: per expects a column or a list of columns, got 3
          at test_top.py:*: lambda: streams().sales.top(1, by="id", per=3),  # type: ignore[arg-type]
          hint: write "shop", or ["shop", "day"]
          more: headrace error BAD_COLUMN
        """,
        lambda: streams().sales.top(1, by="id", per=3),  # type: ignore[arg-type]
    )


def test_partitions_that_nothing_tells_apart(spark: SparkSession) -> None:
    rows = hr.read.memory([], "v variant, amount int", name="rows")
    check_error(
        """
        WRONG_TYPE: top(rows): a key cannot be of type VARIANT, in `v`
          at test_top.py:*: lambda: rows.top(3, by="amount", per="v").schema,
          hint: key by one of its values
          more: headrace error WRONG_TYPE
        """,
        lambda: rows.top(3, by="amount", per="v").schema,
    )
