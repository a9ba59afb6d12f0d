"""with_columns: more columns, or others in the place of those of the same name."""

from __future__ import annotations

import random
from pathlib import Path

from pyspark.sql import SparkSession

import headrace as hr
from headrace.testing import Harness
from tests.spark.queries.changing import Table, batch
from tests.spark.verbs.answers import Streams, check
from tests.spark.verbs.spelling import check_yaml, streams
from tests.unit.errors import check_error


def twice(s: Streams) -> hr.Stream:
    return s.sales.with_columns(AMOUNT="amount * 2", small="amount < 2")


def test_answers(spark: SparkSession) -> None:
    check(
        spark,
        {
            "one replaced, one more": (twice, "SELECT id, shop, amount * 2, amount < 2 FROM sales"),
            "none": (lambda s: s.sales.with_columns(), "SELECT * FROM sales"),
        },
    )


def test_window_functions(spark: SparkSession) -> None:
    """`over`, and texts with OVER, in select and with_columns, against batch after every epoch."""
    rng = random.Random(5)
    sales = Table("shop string, day int, amount int", lambda rng: (rng.choice("ab"), rng.randrange(4), rng.choice([None, 1, 2, 3])))
    with Harness() as h:
        rows = h.source("sales", sales.schema, changes=True)
        by = ["day", "amount desc"]
        out = h.collect(
            rows.select(
                "shop",
                share=hr.col("amount") / hr.f.sum("amount").over(per="shop"),
                before=hr.f.lag("amount").over(per=["shop"], by=by),
                most="greatest(amount, max(amount) FILTER (WHERE day > 1) OVER (ORDER BY day RANGE BETWEEN 1 PRECEDING AND CURRENT ROW))",
            )
        )
        more = h.collect(rows.with_columns(amount=hr.f.count().over(per="shop"), place=hr.f.rank().over(by="day")))
        for epoch in range(4):
            h.commit({"sales": sales.change(rng, 8)})
            query = """SELECT shop, amount / sum(amount) OVER (PARTITION BY shop) AS share,
                lag(amount) OVER (PARTITION BY shop ORDER BY day, amount DESC) AS before,
                greatest(amount, max(amount) FILTER (WHERE day > 1) OVER (ORDER BY day RANGE BETWEEN 1 PRECEDING AND CURRENT ROW)) AS most
                FROM sales"""
            assert out.rows() == batch(spark, query, {"sales": sales})
            query = "SELECT shop, day, count(*) OVER (PARTITION BY shop) AS amount, rank() OVER (ORDER BY day) AS place FROM sales"
            assert more.rows() == batch(spark, query, {"sales": sales})
            if epoch == 1:
                h.restart()


def test_what_gives_another_value_each_time_is_refused_where_rows_are_taken_away(spark: SparkSession) -> None:
    charges = hr.read.memory([], "card string, amount int", name="charges")
    charges.with_columns(sample="rand()").explain()
    spent = charges.group_by("card").agg(spent="sum(amount)").named("spent")
    check_error(
        """
        NOT_REPEATABLE: spent.with_columns: `rand()` returns another value each time, but rows are also retracted here
          at test_with_columns.py:*: lambda: hr.job("sampled", spent.with_columns(sample="rand()").write.memory()),
          hint: take the value from a column: a retraction must have the value of its insertion
          more: headrace error NOT_REPEATABLE
        """,
        lambda: hr.job("sampled", spent.with_columns(sample="rand()").write.memory()),
    )


def test_spellings(spark: SparkSession, tmp_path: Path) -> None:
    check_yaml(tmp_path, twice, "- with_columns: {AMOUNT: amount * 2, small: amount < 2}")


def test_an_expression_without_a_name() -> None:
    check_error(
        """
        UNNAMED_COLUMN: `amount + 1` has no name
          at test_with_columns.py:*: lambda: streams().sales.with_columns("amount + 1"),
          hint: name it: name="amount + 1" as a keyword, or hr.expr(...).alias("name")
          more: headrace error UNNAMED_COLUMN
        """,
        lambda: streams().sales.with_columns("amount + 1"),
    )
