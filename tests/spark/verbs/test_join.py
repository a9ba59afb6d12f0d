"""join: rows of two streams that meet. Bounds of time: tests/spark/queries/test_interval_joins.py."""

from __future__ import annotations

import random
from pathlib import Path

from pyspark.sql import SparkSession

import headrace as hr
from headrace.testing import Collected, Harness
from tests.scale import FULL
from tests.spark.queries.changing import Table, batch
from tests.spark.verbs.spelling import check_sql, check_yaml
from tests.unit.errors import check_error

HOWS = ("inner", "left", "right", "full", "semi", "anti")


def tables() -> dict[str, Table]:
    def row(rng: random.Random) -> tuple[object, ...]:
        return rng.choice([None, 1, 2, 3]), rng.choice([None, "p", "q", "r", "s"]), rng.choice([None, 0.1, 1e300, -5.5, float("inf")])

    return {"a": Table("k int, x string, d double", row), "b": Table("j int, y string", lambda rng: row(rng)[:2])}


Queries = dict[str, tuple[hr.Stream, str]]


def joins(a: hr.Stream, b: hr.Stream) -> Queries:
    queries: Queries = {}
    for how in HOWS:
        shown = "k, x, d" if how in ("semi", "anti") else "k, x, d, j, y"
        for name, condition in {
            "key": "k = j",
            "both": "k = j AND x < y",
            "neither": "x < y",
            "null": "k <=> j",
            "null and more": "k <=> j AND x = y",
        }.items():
            queries[f"{how}, {name}"] = (a.join(b, on=condition, how=how), f"SELECT {shown} FROM a {how} JOIN b ON {condition}")
    named = b.rename({"j": "k"})
    queries["right, by name"] = (a.join(named, on="k", how="right"), "SELECT j, x, d, y FROM a RIGHT JOIN b ON k = j")
    queries["full, by name"] = (a.join(named, on="k", how="full"), "SELECT coalesce(k, j), x, d, y FROM a FULL JOIN b ON k = j")
    same = b.rename({"j": "k", "y": "x"}).alias("t")
    for how in ("semi", "anti"):
        queries[f"{how}, the same names"] = (
            a.alias("s").join(same, on="s.k = t.k AND s.x < t.x", how=how),
            f"SELECT k, x, d FROM a {how} JOIN b ON k = j AND x < y",
        )
    queries["self"] = (
        a.select("k", "x").join(a.select(l="k", z="x"), on="k = l AND x < z"),
        "SELECT s.k, s.x, t.k, t.x FROM a s JOIN a t ON s.k = t.k AND s.x < t.x",
    )
    return queries


def test_answers(spark: SparkSession) -> None:
    rng, here = random.Random(7), tables()
    with Harness() as h:
        a, b = (h.source(name, table.schema, changes=True) for name, table in here.items())
        outs: dict[str, tuple[Collected, str]] = {name: (h.collect(stream), query) for name, (stream, query) in joins(a, b).items()}
        for epoch in range(6 if FULL else 4):
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


def test_spellings(spark: SparkSession, tmp_path: Path) -> None:
    check_yaml(tmp_path, lambda s: s.sales.join(s.shops, on="shop = name", how="left"), "- join: {with: shops, on: shop = name, how: left}")
    check_sql(lambda s: s.sales.join(s.shops, on="shop = name"), "SELECT * FROM sales JOIN shops ON shop = name")


def test_keys_that_nothing_tells_apart(spark: SparkSession) -> None:
    left, right = (hr.read.memory([], f"{name} variant", name=name) for name in ("v", "w"))
    check_error(
        """
        WRONG_TYPE: join(v, w): a key cannot be of type VARIANT
          at test_join.py:*: lambda: left.join(right, on="v = w").schema,
          hint: key by one of its values
          more: headrace error WRONG_TYPE
        """,
        lambda: left.join(right, on="v = w").schema,
    )
