"""agg: a row for each group, its aggregates kept up to date."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import headrace as hr
from headrace.testing import Harness
from tests.spark.verbs.answers import Streams, check
from tests.spark.verbs.spelling import check_sql, check_yaml, streams
from tests.unit.errors import check_error


def spent(s: Streams) -> hr.Stream:
    return s.sales.group_by("shop").agg(n="count(1)", spent="sum(amount)")


def test_answers(spark: SparkSession) -> None:
    check(
        spark,
        {
            "counts and sums": (spent, "SELECT shop, count(*), sum(amount) FROM sales GROUP BY shop"),
            "ends and values": (
                lambda s: s.sales.group_by("shop").agg(a="min(id)", b="max(amount)", c="count(DISTINCT id)", d="sum(id) / count(*)"),
                "SELECT shop, min(id), max(amount), count(DISTINCT id), sum(id) / count(*) FROM sales GROUP BY shop",
            ),
            "functions with a filter": (
                lambda s: s.sales.group_by("shop").agg(n=hr.f.count().where("id > 1"), k=hr.f.sum("id").distinct()),
                "SELECT shop, count(*) FILTER (WHERE id > 1), sum(DISTINCT id) FROM sales GROUP BY shop",
            ),
            "computed anew": (
                lambda s: s.sales.group_by("shop").agg(m="percentile(amount, 0.5)"),
                "SELECT shop, percentile(amount, 0.5) FROM sales GROUP BY shop",
            ),
        },
        restart=True,
    )


def test_only_what_differs_is_sent(spark: SparkSession) -> None:
    with Harness() as h:
        a = h.source("a", "k string, n int", changes=True)
        out = h.collect(a.group_by("k").agg(most="max(n)"))
        h.commit({"a": [("+", ("x", 1)), ("+", ("x", 3)), ("+", ("y", 2))]})
        h.commit({"a": [("-", ("x", 1)), ("+", ("y", 5))]})
        h.commit({"a": [("-", ("x", 3))]})
        assert out.changes() == [
            (1, "+", ("x", 3)),
            (1, "+", ("y", 2)),
            (2, "-", ("y", 2)),
            (2, "+", ("y", 5)),
            (3, "-", ("x", 3)),
        ]


def test_a_row_whose_expression_fails_is_a_dead_letter_until_it_goes(spark: SparkSession) -> None:
    with Harness() as h:
        a = h.source("a", "k string, n int", changes=True)
        out = h.collect(a.group_by("k").agg(s="sum(10 / n)"))
        dead = h.collect(a.group_by("k").agg(s="sum(10 / n)").output("dead_letter"))
        h.commit({"a": [("+", ("x", 2)), ("+", ("x", 0))]})
        assert out.rows() == [("x", 5.0)]
        assert [(letter[1].split("]")[0], letter[4]) for letter in dead.rows()] == [("[DIVIDE_BY_ZERO", '{"k":"x","n":0}')]
        h.commit({"a": [("-", ("x", 0))]})
        assert dead.rows() == []


def test_spellings(spark: SparkSession, tmp_path: Path) -> None:
    check_yaml(tmp_path, spent, "- group_by: {keys: shop, agg: {n: count(1), spent: sum(amount)}}")
    check_sql(spent, "SELECT shop, count(1) AS n, sum(amount) AS spent FROM sales GROUP BY shop")


def test_no_aggregate() -> None:
    check_error(
        """
        NO_COLUMNS: agg needs at least one aggregate
          at test_agg.py:*: lambda: streams().sales.group_by().agg(),
          hint: .agg(total="sum(amount)")
          more: headrace error NO_COLUMNS
        """,
        lambda: streams().sales.group_by().agg(),
    )


def test_a_name_of_a_key() -> None:
    check_error(
        """
        DUPLICATE_COLUMN: the result of agg would have two columns `shop`
          at test_agg.py:*: lambda: streams().sales.group_by("shop").agg(shop="count(1)"),
          hint: give one of them another name
          more: headrace error DUPLICATE_COLUMN
        """,
        lambda: streams().sales.group_by("shop").agg(shop="count(1)"),
    )


def test_a_text_with_a_column_outside_of_a_function() -> None:
    check_error(
        """
        NOT_AN_AGGREGATE: aggregate(sales): a column is outside an aggregate function, in `sum(amount) + amount`
          at test_agg.py:*: lambda: streams().sales.group_by("shop").agg(n="sum(amount) + amount").schema,
          hint: put each column in an aggregate function, as in sum(amount) / count(*); compute with group keys after agg: .with_columns(...)
          more: headrace error NOT_AN_AGGREGATE
        """,
        lambda: streams().sales.group_by("shop").agg(n="sum(amount) + amount").schema,
    )
