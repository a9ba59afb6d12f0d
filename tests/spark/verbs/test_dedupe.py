"""dedupe: one row for each key."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import headrace as hr
from headrace.testing import Harness
from tests.spark.verbs.answers import Streams, check
from tests.spark.verbs.spelling import check_yaml, streams
from tests.unit.errors import check_error


def last(s: Streams) -> hr.Stream:
    return s.sales.dedupe(on="shop", keep="last", by=["amount", "id"])


def test_answers(spark: SparkSession) -> None:
    check(
        spark,
        {
            "the first in an order": (
                lambda s: s.sales.dedupe(on="shop", by=["amount", "id"]),
                "SELECT * FROM sales QUALIFY row_number() OVER (PARTITION BY shop ORDER BY amount, id) = 1",
            ),
            "the last": (last, "SELECT * FROM sales QUALIFY row_number() OVER (PARTITION BY shop ORDER BY amount DESC, id DESC) = 1"),
            "the last, nulls first": (
                lambda s: s.sales.dedupe(on=["shop", "id"], keep="last", by="amount desc nulls last"),
                "SELECT * FROM sales QUALIFY row_number() OVER (PARTITION BY shop, id ORDER BY amount NULLS FIRST) = 1",
            ),
            "of an expression": (
                lambda s: s.sales.select("amount").dedupe(on=hr.expr("amount % 2").alias("odd"), by="amount"),
                "SELECT min(amount) FROM sales GROUP BY amount % 2",
            ),
            "without an order": (lambda s: s.sales.select("shop").dedupe(on="shop"), "SELECT DISTINCT shop FROM sales"),
        },
        restart=True,
    )


def test_the_first_of_a_while(spark: SparkSession) -> None:
    with Harness(partitions=1) as h:
        rows = h.source("t", "k string, n int, ts timestamp", watermark=("ts", "0 seconds"))
        out = h.collect(rows.dedupe(on="k", within="1 hour").select("k", "n"))
        h.commit(
            {"t": [("+", ("a", 2, "2026-01-01 10:20:00")), ("+", ("a", 1, "2026-01-01 10:00:00")), ("+", (None, 0, "2026-01-01 10:00:00"))]}
        )
        h.commit({"t": [("+", ("a", 3, "2026-01-01 10:59:59")), ("+", ("a", 4, "2026-01-01 11:00:01"))]})
        h.finish()
        assert out.rows() == [("a", 1), ("a", 4)]
        # A program has no state for a null key.
        assert h.metrics()["dead_letters"] == 1


def test_spellings(spark: SparkSession, tmp_path: Path) -> None:
    check_yaml(tmp_path, last, "- dedupe: {on: shop, keep: last, by: [amount, id]}")


def test_on_nothing() -> None:
    check_error(
        """
        BAD_KEY: dedupe needs at least one column
          at test_dedupe.py:*: lambda: streams().sales.dedupe(on=[]),
          hint: .dedupe(on="id"); for whole rows: .distinct()
          more: headrace error BAD_KEY
        """,
        lambda: streams().sales.dedupe(on=[]),
    )


def test_an_end_that_is_none() -> None:
    check_error(
        """
        BAD_INPUT: dedupe: `keep` cannot be 'all'
          at test_dedupe.py:*: lambda: streams().sales.dedupe(on="id", keep="all"),
          hint: use "first" or "last"
          more: headrace error BAD_INPUT
        """,
        lambda: streams().sales.dedupe(on="id", keep="all"),
    )
