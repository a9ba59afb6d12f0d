"""Levels that are not what they were: without keys, under other settings, with an operator less."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.spark.kernel.queries import Query, count_rows, emit, program, route, second, source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROW = "k string, v int, ts timestamp"
OUT = "n bigint, v int"


def counting(op: int, key: str, *routes: dict[str, Any], **more: Any) -> dict[str, Any]:
    outputs = {"main": (OUT, None, list(routes))}
    body = [*count_rows(), emit(n="n1", v="e.v")]
    return program(op, 1, key, {"event": ROW}, {"event": body}, cells={"n": "bigint"}, outputs=outputs, **more)


def to(op: int, key: str = "k", **more: Any) -> dict[str, Any]:
    return route(op, ROW, key=key, key_schema=f"{key} string" if key else "", time="ts", order="time", **more)


def rows(*seconds: int) -> list[tuple[str, int, int]]:
    return [(f"k{n}", n, second(n)) for n in seconds]


def test_an_operator_without_keys_has_one_state_for_all_rows(spark: SparkSession, tmp_path: Path) -> None:
    levels = [[counting(1, "", route(2, OUT))]]
    q = Query(spark, tmp_path, [source("t", ROW, to(1, key=""))], levels, {2: OUT}, partitions=3)
    q.commit(t=rows(1, 2))
    q.restart()
    q.commit(t=rows(3, 4, 5))
    q.finish()
    assert q.out.rows[2] == [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]
    assert q.balanced(1) == 5
    q.stop()


def test_settings_of_the_session_do_not_change_when_rows_are_due(spark: SparkSession, tmp_path: Path) -> None:
    odd = {
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
        "spark.sql.streaming.multipleWatermarkPolicy": "max",
        "spark.sql.streaming.statefulOperator.allowMultiple": "false",
    }
    for name, value in odd.items():
        spark.conf.set(name, value)
    try:
        sources = [source("t", ROW, to(1)), source("u", ROW, to(1))]
        q = Query(spark, tmp_path, sources, [[counting(1, "k string", route(2, OUT))]], {2: OUT})
        q.commit(t=rows(1, 5, 9))
        assert q.out.rows[2] == []
        q.commit(u=rows(6))
        assert sorted(q.out.rows[2]) == [(1, 1), (1, 5), (1, 6)]
        q.finish()
        assert q.balanced(1) == 4
        q.stop()
    finally:
        for name in odd:
            spark.conf.unset(name)


def test_what_a_removed_operator_held_goes_and_an_unknown_one_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    stays = counting(2, "k string", route(3, OUT))
    q = Query(spark, tmp_path, [source("t", ROW, to(1), to(2), delay_ms=5000)], [[counting(1, "k string"), stays]], {3: OUT})
    q.commit(t=rows(1, 2, 3))
    kept = states(q)
    q.stop()
    q.sources[0]["routes"] = [to(2)]
    q.document["levels"] = [[stays]]
    q.start()
    with pytest.raises(AssertionError, match="STATE_OF_ANOTHER_LEVEL"):
        q.commit(t=rows(20))
    q.stop()
    q.document["retired"] = [[1]]
    q.start()
    q.settle()
    assert sorted(v for _, v in q.out.rows[3]) == [1, 2, 3]
    # Each of the three keys held a row for either operator: a value and a page. Now they have counted theirs, and a fourth holds one.
    assert (kept, states(q)) == (12, 5)
    q.finish()
    assert sorted(v for _, v in q.out.rows[3]) == [1, 2, 3, 20]
    q.stop()


def states(q: Query) -> int:
    """Values and pages that lie in the state, without Spark's timers."""
    stores = {
        "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
        "spark.sql.streaming.internal.stateStore.partitions": str(q.document["partitions"]),
    }
    try:
        for name, value in stores.items():
            q.spark.conf.set(name, value)
        reader = q.spark.read.format("statestore").option("path", q.checkpoint)
        return sum(reader.option("stateVarName", name).load().count() for name in ("level1_cells", "level1_bags"))
    finally:
        for name in stores:
            q.spark.conf.unset(name)


def test_what_was_counted_before_a_counter_is_cleared_cannot_be_taken_back(spark: SparkSession) -> None:
    counter = spark._jvm.headrace.route.Counter()  # type: ignore[union-attr, misc]
    place = counter.slot(1, 0)
    counter.add(place, 0, 1)
    counter.clear()
    assert counter.additions() == 0
    counter.undo(0)
    assert place[0] == 0
