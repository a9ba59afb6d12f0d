"""Window functions and first rows: by difference, from buffers that lie on disk, with functions that fail behind good rows."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

import headrace as hr
from headrace.ops import Partition
from headrace.ops.stream import Stream
from headrace.testing import Harness
from tests.spark.sql.changing import Epoch
from tests.spark.sql.oracle import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "k int, v int, d double"
MOST = 2**63 - 1
QUERIES = {
    "running": "SELECT *, row_number() OVER w AS a, sum(v) OVER w AS b, lag(v, 2) OVER w AS c, lead(d) OVER w AS e FROM t "
    "WINDOW w AS (PARTITION BY k ORDER BY v, d)",
    "whole": "SELECT *, count(*) OVER p AS a, percent_rank() OVER w AS b, ntile(3) OVER w AS c, first_value(v) OVER w AS e FROM t "
    "WINDOW p AS (PARTITION BY k), w AS (PARTITION BY k ORDER BY v DESC, d)",
    "moving": "SELECT *, max(v) OVER (PARTITION BY k ORDER BY v, d ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS a, "
    "sum(v) OVER (PARTITION BY k ORDER BY v RANGE BETWEEN 3 PRECEDING AND CURRENT ROW) AS b, "
    "count_if(v BETWEEN 0 AND 4) OVER (PARTITION BY k) AS c FROM t",
    "first": "SELECT * FROM t ORDER BY v DESC, k, d LIMIT 7",
    "many": "SELECT * FROM t ORDER BY v DESC, k, d LIMIT 20",
    "tied": "SELECT * FROM t QUALIFY rank() OVER (PARTITION BY k ORDER BY v DESC) <= 3",
    "values": "SELECT *, rank() OVER w AS a, dense_rank() OVER w AS b FROM t WINDOW w AS (ORDER BY d DESC, v) QUALIFY b < 3",
    "page": "SELECT * FROM t ORDER BY d, v, k LIMIT 9 OFFSET 4",
    "rest": "SELECT * FROM t ORDER BY v, k, d OFFSET 5",
}


def changing(seed: int, epochs: int) -> list[Epoch]:
    """Many rows are alike."""
    chance = random.Random(seed)
    kept: list[tuple[int, int, float]] = []
    history: list[Epoch] = []
    for _ in range(epochs):
        changes = []
        for _ in range(30):
            if kept and chance.random() < 0.4:
                changes.append(("-", kept.pop(chance.randrange(len(kept)))))
            else:
                kept.append((chance.randint(1, 2), chance.randint(-3, 9), chance.choice((0.0, 0.5, 1.0))))
                changes.append(("+", kept[-1]))
        history.append({"t": changes})
    return history


@pytest.fixture
def small_buffers(spark: SparkSession) -> Iterator[None]:
    """Four rows of a partition in memory, the others on disk."""
    settings = {"spark.sql.windowExec.buffer.in.memory.threshold": "2", "spark.sql.windowExec.buffer.spill.threshold": "4"}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield
    for name in settings:
        spark.conf.unset(name)


@pytest.mark.full
def test_partitions_on_disk_stay_equal_to_batch(spark: SparkSession, small_buffers: None) -> None:
    run(QUERIES, {"t": SCHEMA}, changing(1, 6), restarts=[3], spark=spark)


def test_trees_of_partial_results_belong_to_a_task(spark: SparkSession) -> None:
    settings = {"spark.sql.window.segmentTree.enabled": "true", "spark.sql.window.segmentTree.minPartitionRows": "1"}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        run({"moving": QUERIES["moving"]}, {"t": SCHEMA}, changing(2, 4), spark=spark)
    finally:
        for name in settings:
            spark.conf.unset(name)


def test_only_rows_whose_results_differ_are_sent(spark: SparkSession) -> None:
    with Harness() as h:
        t = h.source("t", "k int, v int", changes=True)
        out = h.collect(hr.sql("SELECT v, row_number() OVER (PARTITION BY k ORDER BY v) AS r FROM t", t=t))
        h.commit({"t": [("+", (1, v)) for v in range(0, 2000, 2)]})
        last = h.commit({"t": [("+", (1, 1993))]})
        sent = sorted((sign, row) for number, sign, row in out.changes() if number == last)
        assert sent == [
            ("+", (1993, 998)),
            *(("+", (v, v // 2 + 2)) for v in (1994, 1996, 1998)),
            *(("-", (v, v // 2 + 1)) for v in (1994, 1996, 1998)),
        ]


def test_of_few_first_rows_only_the_net_is_sent(spark: SparkSession) -> None:
    with Harness() as h:
        t, u = h.source("t", "k int, v int"), h.source("u", "k int, v int", changes=True)
        outs = [h.collect(t.top(2, by="v desc", per="k")), h.collect(u.top(2, by="v desc", per="k"))]
        rows = [(1, v) for v in (3, 1, 4, 1, 5, 9, 2, 6)]
        for changes, wanted in [
            ([("+", row) for row in rows], [("+", (1, 6)), ("+", (1, 9))]),
            ([("+", (1, 7)), ("+", (1, 8)), ("+", (1, 9)), ("+", (2, 1))], [("+", (1, 9)), ("+", (2, 1)), ("-", (1, 6))]),
        ]:
            number = h.commit({"t": changes, "u": changes})
            for out in outs:
                assert sorted((sign, row) for epoch, sign, row in out.changes() if epoch == number) == wanted
        h.commit({"u": [("-", (1, 9)), ("-", (1, 9)), ("-", (2, 1)), ("+", (1, 0))]})
        assert outs[1].rows() == [(1, 7), (1, 8)]


def test_a_function_that_fails_behind_good_rows_takes_them_back(spark: SparkSession) -> None:
    def totals(rows: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
        return [(1, number, total) for (number, _), total in zip(rows, itertools.accumulate(v for _, v in rows), strict=True)]

    rows = [(n, n) for n in range(1, 201)]
    with Harness() as h:
        t = h.source("t", "k int, n int, v bigint", changes=True)
        sums = hr.sql("SELECT k, n, sum(v) OVER (PARTITION BY k ORDER BY n) AS s FROM t", t=t)
        out, dead = h.collect(sums), h.collect(dead_letters(sums))
        other = [(2, 1, 1)]
        h.commit({"t": [("+", (1, *row)) for row in rows] + [("+", (2, 1, 1))]})
        assert (out.rows(), dead.rows()) == (totals(rows) + other, [])
        gone = len(rows)
        for change, first in [(("+", (1, 150, MOST)), '{"k":1,"n":1,"v":1}'), (("+", (1, 0, 5)), '{"k":1,"n":0,"v":5}')]:
            number = h.commit({"t": [change]})
            assert (out.rows(), [letter[4] for letter in dead.rows()]) == (other, [first])
            assert len([sign for at, sign, _ in out.changes() if at == number]) == gone
            gone = 0
        h.commit({"t": [("-", (1, 150, MOST))]})
        assert (out.rows(), dead.rows()) == (totals([(0, 5), *rows]) + other, [])


def dead_letters(stream: Stream) -> Stream:
    """Those of the window functions that a query ends with."""
    node = stream._node
    while not isinstance(node, Partition):
        node = node.inputs[0]
    return Stream(node).output("dead_letter")


def test_first_rows_of_rows_that_are_only_added(spark: SparkSession) -> None:
    chance = random.Random(3)
    kept: list[tuple[int]] = []
    with Harness() as h:
        t = h.source("t", "v int")
        bounds = [(0, 3), (2, 6), (0, 1), (4, 22)]
        outs = [h.collect(hr.sql(f"SELECT v FROM t ORDER BY v LIMIT {end - first} OFFSET {first}", t=t)) for first, end in bounds]
        tied, values = (h.collect(t.top(3, by="v desc", ties=ties)) for ties in ("rank", "dense_rank"))
        for _ in range(5):
            new = [(chance.randint(0, 20),) for _ in range(8)]
            kept = sorted(kept + new)
            h.commit({"t": [("+", row) for row in new]})
            assert [out.rows() for out in outs] == [kept[first:end] for first, end in bounds]
            assert tied.rows() == [row for row in kept if row >= kept[-3]]
            assert values.rows() == [row for row in kept if row in sorted(set(kept))[-3:]]
