"""Rows and pairs over which a query fails are left out, and the answer is that of batch without them, however rows come and go."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

import headrace as hr
from headrace.ops import Join
from headrace.ops.stream import Stream
from headrace.plan import Plan
from headrace.testing import Harness
from tests.scale import FULL
from tests.spark.sql.changing import Change, Net
from tests.spark.sql.corpus import Query
from tests.spark.sql.oracle import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMAS = {"t": "k int, v int", "u": "k int, w int"}

# Whether a pair meets is unknown where `v / w` fails: for no other pair.
CONDITION, MET, FAILS = "t.v / u.w > 1", "try_divide(t.v, u.w) > 1", "(u.w = 0 AND t.v IS NOT NULL)"
KEYS = {"keys": "t.k = u.k AND ", "no keys": ""}


def pairs(keys: str) -> str:
    return f"SELECT t.k, v, u.k, w FROM t JOIN u ON {keys}{MET}"


def alone(side: str, other: str, keys: str, columns: str) -> str:
    """The rows of a side that surely meet none."""
    return f"SELECT {columns} FROM {side} WHERE NOT EXISTS (SELECT 1 FROM {other} WHERE {keys}({MET} OR {FAILS}))"


def conditions(name: str, keys: str) -> list[Query]:
    on, exists = keys + CONDITION, f"EXISTS (SELECT 1 FROM u WHERE {keys}{CONDITION})"
    met = f"EXISTS (SELECT 1 FROM u WHERE {keys}{MET})"
    left = f"{pairs(keys)} UNION ALL {alone('t', 'u', keys, 't.k, v, NULL, NULL')}"
    right = f"{pairs(keys)} UNION ALL {alone('u', 't', keys, 'NULL, NULL, u.k, w')}"
    return [
        Query(f"inner, {name}", f"SELECT t.k, v, u.k, w FROM t JOIN u ON {on}", pairs(keys)),
        Query(f"left, {name}", f"SELECT t.k, v, u.k, w FROM t LEFT JOIN u ON {on}", left),
        Query(f"right, {name}", f"SELECT t.k, v, u.k, w FROM t RIGHT JOIN u ON {on}", right),
        Query(
            f"full, {name}",
            f"SELECT t.k, v, u.k, w FROM t FULL JOIN u ON {on}",
            f"{left} UNION ALL {alone('u', 't', keys, 'NULL, NULL, u.k, w')}",
        ),
        Query(f"exists, {name}", f"SELECT k, v FROM t WHERE {exists}", f"SELECT k, v FROM t WHERE {met}"),
        Query(f"not exists, {name}", f"SELECT k, v FROM t WHERE NOT {exists}", alone("t", "u", keys, "k, v")),
        Query(
            f"whether it exists, {name}",
            f"SELECT k, v, {exists} AS e FROM t",
            f"SELECT k, v, true FROM t WHERE {met} UNION ALL {alone('t', 'u', keys, 'k, v, false')}",
        ),
        Query(
            f"counted, {name}",
            f"SELECT count(*), count(w), sum(v) FROM t LEFT JOIN u ON {on}",
            f"SELECT count(*), count(w), sum(v) FROM ({left}) AS x(k, v, k2, w)",
        ),
    ]


OF_KEY = "FROM u WHERE u.k = t.k"
ONE, MOST = f"(SELECT w {OF_KEY})", f"(SELECT max(w) {OF_KEY})"
FEW = f"(SELECT count(*) {OF_KEY}) <= 1"
VALUES = [
    Query("value", f"SELECT k, v, {ONE} AS w FROM t", f"SELECT k, v, {MOST} FROM t WHERE {FEW}"),
    Query("value, where", f"SELECT k, v FROM t WHERE v > {ONE}", f"SELECT k, v FROM t WHERE v > {MOST} AND {FEW}"),
    Query("no value", f"SELECT k, v FROM t WHERE {ONE} IS NULL", f"SELECT k, v FROM t WHERE {MOST} IS NULL AND {FEW}"),
    Query(
        "value, aggregated",
        f"SELECT k, sum({ONE}), count(*) FROM t GROUP BY k",
        f"SELECT k, sum(w), count(*) FROM (SELECT k, {MOST} AS w FROM t WHERE {FEW}) GROUP BY k",
    ),
    Query(
        "two values",
        f"SELECT k, v, {ONE} + (SELECT v FROM t AS o WHERE o.k = t.k AND o.v > 6) AS x FROM t",
        f"SELECT k, v, {MOST} + (SELECT max(v) FROM t AS o WHERE o.k = t.k AND o.v > 6) FROM t "
        f"WHERE {FEW} AND (SELECT count(*) FROM t AS o WHERE o.k = t.k AND o.v > 6) <= 1",
    ),
    Query(
        "one value of all",
        "SELECT k, v, (SELECT w FROM u WHERE w > 8) AS w FROM t",
        "SELECT k, v, (SELECT max(w) FROM u WHERE w > 8) FROM t WHERE (SELECT count(*) FROM u WHERE w > 8) <= 1",
    ),
    Query(
        "one value of all, where",
        "SELECT count(*) FROM t WHERE v > (SELECT DISTINCT w FROM u WHERE w > 8)",
        "SELECT count(*) FROM t WHERE v > (SELECT max(w) FROM u WHERE w > 8) AND (SELECT count(DISTINCT w) FROM u WHERE w > 8) <= 1",
    ),
]


def epochs(seed: int, count: int) -> list[dict[str, list[Change]]]:
    """Few keys and values, nulls among them, so that there often are none, one or several."""
    chance = random.Random(seed)
    nets = {name: Net() for name in SCHEMAS}
    history = []
    for _ in range(count):
        epoch = {}
        for name, net in nets.items():
            there = net.rows()
            chance.shuffle(there)
            changes: list[Change] = [("-", row) for row in there[: chance.randint(0, max(1, len(there) // 2))]]
            changes += [
                ("+", (chance.choice([1, 2, 3, 4, 5, None]), chance.choice([0, 0, 2, 4, 7, 9, None]))) for _ in range(chance.randint(0, 4))
            ]
            chance.shuffle(changes)
            net.apply(changes)
            epoch[name] = changes
        history.append(epoch)
    return history


@pytest.mark.full
def test_against_batch_without_them(spark: SparkSession) -> None:
    queries = [*VALUES, *(query for name, keys in KEYS.items() for query in conditions(name, keys))]
    if not FULL:
        queries = queries[::2]
    run({query.name: query for query in queries}, SCHEMAS, epochs(5, 5), restarts=[3], spark=spark)


def test_letters_come_and_go_with_their_rows(spark: SparkSession) -> None:
    """Each says why, has the weight of what is left out, and goes with either of its rows."""
    with Harness(partitions=1) as h:
        t, u = (h.source(name, schema, changes=True) for name, schema in SCHEMAS.items())
        met = t.rename({"k": "a"}).join(u, on="a = k AND v / w > 1", how="anti")
        out, letters = h.collect(met), h.collect(met.output("dead_letter").select("reason", "raw"))
        h.commit({"t": [("+", (1, 7)), ("+", (1, 7)), ("+", (2, 7))], "u": [("+", (1, 0)), ("+", (2, 9))]})
        assert out.rows() == [(2, 7)]
        reason = "[DIVIDE_BY_ZERO] Division by zero."
        assert [(why[: len(reason)], raw) for why, raw in letters.rows()] == 2 * [(reason, '{"a":1,"v":7,"k":1,"w":0}')]
        h.restart()
        h.commit({"t": [("-", (1, 7))]})
        assert (out.rows(), len(letters.rows())) == ([(2, 7)], 1)
        h.commit({"u": [("+", (1, 4))]})
        assert (out.rows(), len(letters.rows())) == ([(2, 7)], 1)
        h.commit({"u": [("-", (1, 0))]})
        assert (out.rows(), letters.rows()) == ([(2, 7)], [])
        h.commit({"u": [("-", (1, 4))]})
        assert (out.rows(), letters.rows()) == ([(1, 7), (2, 7)], [])


def test_letters_of_a_value_that_is_several(spark: SparkSession) -> None:
    with Harness(partitions=1) as h:
        t, u = (h.source(name, schema, changes=True) for name, schema in SCHEMAS.items())
        query = hr.sql(f"SELECT k, v, {ONE} AS w FROM t", t=t, u=u)
        joined = next(node for node in Plan.of("job", [query.write.memory()._use()]).nodes.values() if isinstance(node, Join))
        out, letters = h.collect(query), h.collect(Stream(joined).output("dead_letter").select("reason"))

        def dead() -> int:
            assert all(reason.startswith("SCALAR_SUBQUERY_TOO_MANY_ROWS: ") for (reason,) in letters.rows())
            return len(letters.rows())

        h.commit({"t": [("+", (1, 7)), ("+", (1, 7)), ("+", (2, 7))], "u": [("+", (1, 3)), ("+", (1, 4)), ("+", (1, 5))]})
        assert out.rows() == [(2, 7, None)]
        assert dead() == 2
        h.restart()
        h.commit({"t": [("-", (1, 7))]})
        assert dead() == 1
        h.commit({"u": [("-", (1, 3))]})
        assert (out.rows(), dead()) == ([(2, 7, None)], 1)
        h.commit({"u": [("-", (1, 5))]})
        assert (out.rows(), dead()) == ([(1, 7, 4), (2, 7, None)], 0)


def test_within_a_span_of_time(spark: SparkSession) -> None:
    """A row that may meet another is not given as one without partners, neither at once nor when its time has passed."""
    with Harness(partitions=1) as h:
        bids = h.source("bids", "k int, ts timestamp, v int", watermark=("ts", "1 minute"), changes=True, trusted=True)
        asks = h.source("asks", "a int, at timestamp, w int", watermark=("at", "1 minute"), changes=True, trusted=True)
        outs = {
            (how, emit): h.collect(
                bids.join(asks, on="k = a AND ts BETWEEN at - INTERVAL 5 SECONDS AND at AND v / w > 1", how=how, emit=emit).select("k", "v")
            )
            for how in ("left", "anti", "full")
            for emit in ("changes", "close")
        }

        def rows(emit: str) -> dict[str, list[object]]:
            return {how: out.rows() for (how, sent), out in outs.items() if sent == emit}

        noon = "2026-01-01 12:00:0"
        h.commit({"bids": [("+", (1, noon + "1", 7)), ("+", (2, noon + "1", 7)), ("+", (3, noon + "1", 7))]})
        assert rows("changes") == {"left": [(1, 7), (2, 7), (3, 7)], "anti": [(1, 7), (2, 7), (3, 7)], "full": [(1, 7), (2, 7), (3, 7)]}
        h.commit({"asks": [("+", (1, noon + "2", 0)), ("+", (2, noon + "2", 0)), ("+", (2, noon + "3", 5))]})
        assert rows("changes") == {"left": [(2, 7), (3, 7)], "anti": [(3, 7)], "full": [(2, 7), (3, 7)]}
        h.restart()
        h.commit({"asks": [("-", (2, noon + "2", 0))], "bids": [("-", (1, noon + "1", 7))]})
        assert rows("changes") == {"left": [(2, 7), (3, 7)], "anti": [(3, 7)], "full": [(None, None), (2, 7), (3, 7)]}
        h.commit({"bids": [("+", (1, noon + "2", 8)), ("+", (1, noon + "2", 9))]})
        h.commit({"bids": [("-", (1, noon + "2", 9))]})
        h.finish()
        assert rows("changes") == {"left": [(2, 7), (3, 7)], "anti": [(3, 7)], "full": [(2, 7), (3, 7)]}
        assert rows("close") == rows("changes")
