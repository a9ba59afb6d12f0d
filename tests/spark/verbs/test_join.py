"""The relational verbs over changes: after every epoch what Spark batch says of the rows that are there."""

from __future__ import annotations

import random

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.testing import Collected, Harness
from tests.spark.queries.changing import Table, batch
from tests.unit.errors import check_error

HOWS = ("inner", "left", "right", "full", "semi", "anti")


def tables() -> dict[str, Table]:
    def row(rng: random.Random) -> tuple[object, ...]:
        return rng.choice([None, 1, 2, 3]), rng.choice([None, "p", "q", "r", "s"]), rng.choice([None, 0.1, 1e300, -5.5, float("inf")])

    return {"a": Table("k int, x string, d double", row), "b": Table("j int, y string", lambda rng: row(rng)[:2])}


Queries = dict[str, tuple[hr.Stream, str]]


def joins(a: hr.Stream, b: hr.Stream) -> Queries:
    found: Queries = {}
    for how in HOWS:
        shown = "k, x, d" if how in ("semi", "anti") else "k, x, d, j, y"
        for name, condition in {
            "key": "k = j",
            "both": "k = j AND x < y",
            "neither": "x < y",
            "null": "k <=> j",
            "null and more": "k <=> j AND x = y",
        }.items():
            found[f"{how}, {name}"] = (a.join(b, on=condition, how=how), f"SELECT {shown} FROM a {how} JOIN b ON {condition}")
    named = b.rename({"j": "k"})
    found["right, by name"] = (a.join(named, on="k", how="right"), "SELECT j, x, d, y FROM a RIGHT JOIN b ON k = j")
    found["full, by name"] = (a.join(named, on="k", how="full"), "SELECT coalesce(k, j), x, d, y FROM a FULL JOIN b ON k = j")
    found["self"] = (
        a.select("k", "x").join(a.select(l="k", z="x"), on="k = l AND x < z"),
        "SELECT s.k, s.x, t.k, t.x FROM a s JOIN a t ON s.k = t.k AND s.x < t.x",
    )
    return found


def others(a: hr.Stream, b: hr.Stream) -> Queries:
    mine, theirs = a.select("k"), b.select(k="j")
    return {
        "groups": (
            a.group_by("k").agg(n="count(*)", s="sum(d)", m="max(x)", c="count(DISTINCT x)", r="sum(k) / count(*)"),
            "SELECT k, count(*), sum(d), max(x), count(DISTINCT x), sum(k) / count(*) FROM a GROUP BY k",
        ),
        "a function with a filter": (
            a.group_by("x").agg(n=hr.f.count().where("k > 1"), k=hr.f.sum("k").distinct()),
            "SELECT x, count(*) FILTER (WHERE k > 1), sum(DISTINCT k) FROM a GROUP BY x",
        ),
        "one group": (a.group_by().agg(n="count(*)", m="min(x)"), "SELECT count(*), min(x) FROM a"),
        "distinct": (a.select("x").distinct(), "SELECT DISTINCT x FROM a"),
        "intersect": (mine.intersect(theirs), "SELECT k FROM a INTERSECT SELECT j FROM b"),
        "intersect all": (mine.intersect(theirs, all=True), "SELECT k FROM a INTERSECT ALL SELECT j FROM b"),
        "subtract": (mine.subtract(theirs), "SELECT k FROM a EXCEPT SELECT j FROM b"),
        "subtract all": (mine.subtract(theirs, all=True), "SELECT k FROM a EXCEPT ALL SELECT j FROM b"),
        "union": (mine.union(theirs), "SELECT k FROM a UNION ALL SELECT j FROM b"),
        "top": (
            a.select("k", "x").top(2, by="x desc", per="k"),
            "SELECT k, x FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY x DESC) n FROM a) WHERE n <= 2",
        ),
        "top with ties": (
            a.select("k", "x").top(2, by="x desc", per="k", ties="rank"),
            "SELECT k, x FROM a QUALIFY rank() OVER (PARTITION BY k ORDER BY x DESC) <= 2",
        ),
        "top values": (
            a.select("k", "x").top(2, by="x", ties="dense_rank"),
            "SELECT k, x FROM a QUALIFY dense_rank() OVER (ORDER BY x) <= 2",
        ),
        "top of all": (a.select("k", "x").top(3, by=["k desc", "x"]), "SELECT k, x FROM a ORDER BY k DESC, x LIMIT 3"),
        "a group of a join of a group": (
            a.group_by("k").agg(n="count(*)").join(b, on="k = j").group_by("y").agg(s="sum(n)").filter("s > 1"),
            "SELECT y, sum(n) FROM (SELECT k, count(*) n FROM a GROUP BY k) JOIN b ON k = j GROUP BY y HAVING sum(n) > 1",
        ),
    }


@pytest.mark.parametrize("made", [joins, others])
def test_the_result_is_that_of_batch(spark: SparkSession, made: object) -> None:
    rng, here = random.Random(7), tables()
    with Harness() as h:
        a, b = (h.source(name, table.schema, changes=True) for name, table in here.items())
        queries: Queries = made(a, b)  # type: ignore[operator]  # one of the functions above
        outs: dict[str, tuple[Collected, str]] = {name: (h.collect(stream), query) for name, (stream, query) in queries.items()}
        for epoch in range(6):
            h.commit({name: table.change(rng, 8) for name, table in here.items()})
            if epoch == 2:
                h.restart()
            wrong = {name: (out.rows(), want) for name, (out, query) in outs.items() if out.rows() != (want := batch(spark, query, here))}
            assert not wrong, f"epoch {epoch}"
        assert h.metrics()["dead_letters"] == 0


def test_an_append_only_join_is_one(spark: SparkSession) -> None:
    with Harness() as h:
        a, b = h.source("a", "k int, x string"), h.source("b", "j int, y string")
        out = h.collect(a.join(b, on="k = j"))
        h.commit({"a": [("+", (1, "p")), ("+", (1, "p")), ("+", (None, "q"))], "b": [("+", (None, "n"))]})
        h.commit({"b": [("+", (1, "m"))]})
        h.restart()
        h.commit({"a": [("+", (1, "r"))], "b": [("+", (1, "o"))]})
        assert out.changes() == [
            (2, "+", (1, "p", 1, "m")),
            (2, "+", (1, "p", 1, "m")),
            (3, "+", (1, "p", 1, "o")),
            (3, "+", (1, "p", 1, "o")),
            (3, "+", (1, "r", 1, "m")),
            (3, "+", (1, "r", 1, "o")),
        ]


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
        NOT_REPEATABLE: spent.with_columns: `rand()` gives another value each time, and rows are also taken away here
          at test_join.py:*: lambda: hr.job("sampled", spent.with_columns(sample="rand()").write.memory()),
          hint: take the value from a column of the rows: it must be the same when a row is taken away again
          more: headrace error NOT_REPEATABLE
        """,
        lambda: hr.job("sampled", spent.with_columns(sample="rand()").write.memory()),
    )


def test_a_query_says_what_of_it_means_nothing(spark: SparkSession) -> None:
    rows = hr.read.memory([], "k string, v int", name="rows")
    with pytest.warns(UserWarning, match="hr.sql: the ORDER BY at the end changes nothing: a stream has no order"):
        hr.sql("SELECT k FROM rows ORDER BY v", rows=rows)
    with pytest.warns(UserWarning, match="hr.sql: more than one column is called k: one became k_2"):
        assert hr.sql("SELECT k, v AS k FROM rows", rows=rows).columns == ("k", "k_2")
