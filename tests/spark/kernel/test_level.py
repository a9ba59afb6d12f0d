"""Levels: rows of many operators through one stateful operator, in order, once, over restarts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.spark.kernel.queries import DEAD, Query, count_rows, emit, program, route, second, source
from tests.spark.versions import not_on_older

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROW = "k string, v int, ts timestamp"
OUT = "k string, n bigint, v int, ts timestamp"
COUNT = [*count_rows(), emit(k="key.k", n="n1", v="e.v", ts="e.ts")]


def counting(op: int, level: int, *routes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return program(
        op,
        level,
        "k string",
        {"event": more.pop("row", ROW)},
        {"event": COUNT},
        cells={"n": "bigint"},
        outputs={"main": (OUT, "ts", list(routes))},
        **more,
    )


def keyed(to: int, schema: str = ROW, **more: Any) -> dict[str, Any]:
    return route(to, schema, key="k", key_schema="k string", time="ts", order="time", **more)


def test_rows_of_a_key_come_in_time_order_whatever_the_epochs(spark: SparkSession, tmp_path: Path) -> None:
    q = Query(spark, tmp_path, [source("t", ROW, keyed(1), delay_ms=5000)], [[counting(1, 1, route(2, OUT))]], {2: OUT})
    q.commit(t=[("a", 20, second(2)), ("b", 10, second(1)), ("a", 10, second(1))])
    assert q.out.rows[2] == []
    q.commit(t=[("a", 0, second(0)), ("a", 90, second(9))])
    assert [r for r in q.out.rows[2] if r[0] == "a"] == [("a", 1, 0, second(0)), ("a", 2, 10, second(1)), ("a", 3, 20, second(2))]
    q.restart()
    q.finish()
    assert [r for r in q.out.rows[2] if r[0] == "a"][-1] == ("a", 4, 90, second(9))
    assert sorted(q.out.rows[2])[-1] == ("b", 1, 10, second(1))
    assert q.balanced(1) == 5
    assert q.out.counts["t", 0, 0, "read"] == 5
    assert q.out.counts["", 1, 0, "held"] == 0
    q.stop()


def test_late_rows_are_counted_and_a_restart_remembers_the_watermark(spark: SparkSession, tmp_path: Path) -> None:
    q = Query(spark, tmp_path, [source("t", ROW, keyed(1))], [[counting(1, 1, route(2, OUT))]], {2: OUT})
    q.commit(t=[("a", 1, second(10))])
    q.restart()
    q.commit(t=[("a", 2, second(10)), ("b", 3, second(3))])
    assert q.out.counts["", 1, 0, "late"] == 2
    q.finish()
    assert q.out.rows[2] == [("a", 1, 1, second(10))]
    assert q.balanced(1) == 3
    q.stop()


def test_two_levels_and_what_passes_through_the_second(spark: SparkSession, tmp_path: Path) -> None:
    """Operator 1 feeds operator 3 a level below and sink 8; operator 2 feeds sink 9 only. The source feeds sink 7 past both levels."""
    one = counting(1, 1, keyed(3, OUT), route(8, OUT))
    two = counting(2, 1, route(9, OUT))
    three = counting(3, 2, route(10, OUT), row=OUT, judged=False)
    s = source("t", ROW, keyed(1), keyed(2), route(7, ROW))
    q = Query(spark, tmp_path, [s], [[one, two], [three]], {7: ROW, 8: OUT, 9: OUT, 10: OUT})
    rows = [(f"k{i % 7}", i, second(i)) for i in range(100)]
    q.commit(t=rows[:50])
    q.restart()
    q.commit(t=rows[50:])
    q.finish()
    expected = sorted((k, sum(1 for x in rows[: v + 1] if x[0] == k), v, ts) for k, v, ts in rows)
    assert sorted(q.out.rows[7]) == sorted(rows)
    for op in (8, 9, 10):
        assert sorted(q.out.rows[op]) == expected
    assert [q.balanced(op) for op in (1, 2, 3)] == [100, 100, 100]
    q.stop()


@pytest.mark.parametrize("partitions", [1, 7])
def test_any_number_of_partitions_gives_one_exchange_and_one_sort_per_level(spark: SparkSession, tmp_path: Path, partitions: int) -> None:
    levels = [[counting(1, 1, keyed(2, OUT))], [counting(2, 2, route(3, OUT), row=OUT, judged=False)]]
    q = Query(spark, tmp_path, [source("t", ROW, keyed(1))], levels, {3: OUT}, partitions=partitions)
    q.commit(t=[(f"k{i}", i, second(i)) for i in range(20)])
    q.finish()
    assert len(q.out.rows[3]) == 20
    assert next(len(p["stateOperators"]) for p in map(json.loads, q.run.recentProgress()) if p["stateOperators"]) == 2
    assert {o["numShufflePartitions"] for o in json.loads(q.run.lastProgress())["stateOperators"]} == {partitions}
    q.stop()


@not_on_older("does not log them; headrace has them in job.json")
def test_a_restart_keeps_the_partitions_of_the_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    q = Query(spark, tmp_path, [source("t", ROW, keyed(1))], [[counting(1, 1, route(2, OUT))]], {2: OUT})
    q.commit(t=[("a", 1, second(1))])
    q.document["partitions"] = 5
    q.restart()
    q.commit(t=[("a", 2, second(2))])
    q.finish()
    assert sorted(r[1] for r in q.out.rows[2]) == [1, 2]
    assert json.loads(q.run.lastProgress())["stateOperators"][0]["numShufflePartitions"] == 2
    q.stop()


def test_a_source_and_an_operator_can_be_added_to_a_running_chain(spark: SparkSession, tmp_path: Path) -> None:
    q = Query(spark, tmp_path, [source("t", ROW, keyed(1))], [[counting(1, 1, route(2, OUT))]], {2: OUT})
    q.commit(t=[("a", 1, second(1))])
    q.stop()
    q.sources.insert(0, source("u", ROW, keyed(4)))
    q.document["levels"] = [[counting(4, 1, route(5, OUT)), counting(1, 1, route(2, OUT))]]
    q.document["sinks"].append({"op": 5, "name": "s5", "schema": OUT, "stage": {"kind": "rows"}})
    q.out.ops.append(5)
    q.out.rows[5] = []
    q.start()
    q.commit(t=[("a", 2, second(2))], u=[("a", 7, second(2))])
    q.finish()
    assert sorted(r[1] for r in q.out.rows[2]) == [1, 2]
    assert [r[1:3] for r in q.out.rows[5]] == [(1, 7)]
    q.stop()


def test_a_longer_chain_on_an_old_checkpoint_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    q = Query(spark, tmp_path, [source("t", ROW, keyed(1))], [[counting(1, 1, route(2, OUT))]], {2: OUT})
    q.commit(t=[("a", 1, second(1))])
    q.stop()
    q.document["levels"] = [[counting(1, 1, keyed(3, OUT))], [counting(3, 2, route(2, OUT), row=OUT, judged=False)]]
    with pytest.raises(Exception, match="holds the state of level 1 where this query has level 2"):
        q.start()


def test_without_levels_nothing_is_shuffled(spark: SparkSession, tmp_path: Path) -> None:
    s = source("t", ROW, route(2, "k string, w int", {"where": "v > 1"}, {"project": [["k", "k"], ["w", "v * 2"]]}), delay_ms=None)
    q = Query(spark, tmp_path, [s], [], {2: "k string, w int"}, clock="none")
    q.commit(t=[("a", 1, None), ("b", 2, None)])
    q.commit(t=[("c", 3, None)])
    assert q.out.rows[2] == [("b", 4), ("c", 6)]
    assert q.out.counts["t", 0, 0, "read"] == 3
    assert json.loads(q.run.lastProgress())["stateOperators"] == []
    q.stop()


def test_a_timer_of_the_processing_clock_rings_when_the_clock_is_moved(spark: SparkSession, tmp_path: Path) -> None:
    p = program(
        1, 1, "k string", {"event": ROW},
        {"event": [{"do": "set", "cell": "soon", "value": "current_timestamp() + INTERVAL '10' SECOND"}], "soon": [emit(k="key.k")]},
        cells={"soon": "timer"}, outputs={"main": ("k string", None, [route(2, "k string")])}, order="arrival", clock="processing",
    )  # fmt: skip
    s = source("t", ROW, route(1, ROW, key="k", key_schema="k string"), delay_ms=None)
    q = Query(spark, tmp_path, [s], [[p]], {2: "k string"}, clock="processing", manual=True)
    q.commit(t=[("a", 1, None)])
    q.run.advance(3000)
    q.settle()
    assert q.out.rows[2] == []
    q.restart()
    q.run.advance(60_000)
    q.settle()
    assert q.out.rows[2] == [("a",)]
    q.stop()


def test_one_operator_with_two_sources_waits_for_the_slower(spark: SparkSession, tmp_path: Path) -> None:
    p = program(
        1, 1, "k string", {"event": ROW, "other": ROW},
        {on: [*count_rows(), emit(k="key.k", n="n1", v="e.v", ts="e.ts")] for on in ("event", "other")},
        cells={"n": "bigint"}, outputs={"main": (OUT, "ts", [route(2, OUT)])},
    )  # fmt: skip
    q = Query(spark, tmp_path, [source("t", ROW, keyed(1)), source("u", ROW, keyed(1, side=1))], [[p]], {2: OUT})
    q.commit(t=[("a", 1, second(1)), ("a", 5, second(5))])
    assert q.out.rows[2] == []
    q.commit(u=[("a", 3, second(3)), ("a", -1, second(1))])
    assert [r[2] for r in q.out.rows[2]] == [1, -1, 3]
    q.finish()
    assert [r[2] for r in q.out.rows[2]] == [1, -1, 3, 5]
    assert q.balanced(1, 0) == 2 and q.balanced(1, 1) == 2
    q.stop()


def test_a_failure_in_a_task_reaches_python_as_text(spark: SparkSession, tmp_path: Path) -> None:
    s = source("t", "value string", route(2, "k string"), delay_ms=None, reader="json", malformed="fail")
    s["schema"] = "k string"
    q = Query(spark, tmp_path, [s], [], {2: "k string"}, clock="none", scans={"t": lambda: q_scan(spark, tmp_path)})
    q.run.processAllAvailable()
    failure = json.loads(q.run.exception())
    assert (failure["class"], failure["condition"], failure["node"]) == ("headrace.HeadraceKernelException", "MALFORMED_ROW", "t")
    assert failure["message"].startswith("t: ")
    assert not q.run.isActive()


def q_scan(spark: SparkSession, folder: Path) -> Any:
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / "a.json").write_text('{"k": "a"}\n{oops\n')
    return spark.readStream.format("text").load(str(folder / "in"))._jdf


def test_a_stop_request_stops_between_epochs(spark: SparkSession, tmp_path: Path) -> None:
    q = Query(spark, tmp_path, [source("t", ROW, keyed(1))], [[counting(1, 1, route(2, OUT))]], {2: OUT})
    q.commit(t=[("a", 1, second(1))])
    q.run.requestStop()
    assert q.run.awaitTermination(20_000)
    assert not q.run.isActive() and q.run.exception() is None
    q.start()
    q.finish()
    assert q.out.rows[2] == [("a", 1, 1, second(1))]
    q.stop()


def test_a_query_that_starts_is_not_held_before_it_reaches_the_gate(spark: SparkSession, tmp_path: Path) -> None:
    """An interrupt while Spark reads the checkpoint ends the query with an error."""
    q = Query(spark, tmp_path, [source("t", ROW, keyed(1))], [[counting(1, 1, route(2, OUT))]], {2: OUT})
    q.commit(t=[("a", 1, second(1))])
    q.stop()
    q.start()
    q.run.hold()
    query = q.run.getClass().getDeclaredField("query")
    query.setAccessible(True)
    while not q.run.isHeld():
        pass
    assert query.get(q.run).status().isTriggerActive()
    q.run.requestStop()
    assert q.run.awaitTermination(20_000)
    assert q.run.exception() is None


def test_what_the_interrupt_of_a_stop_causes(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    of = jvm.headrace.run.Run.isInterrupt
    assert of(jvm.java.lang.RuntimeException("no state", jvm.java.nio.channels.ClosedChannelException()))
    assert not of(jvm.java.lang.RuntimeException("no state", jvm.java.io.IOException("no file")))


def test_compiled_instances_are_kept_from_epoch_to_epoch_and_dropped_with_the_query(spark: SparkSession, tmp_path: Path) -> None:
    q = Query(spark, tmp_path, [source("t", ROW, keyed(1), dead=3)], [[counting(1, 1, route(2, OUT))]], {2: OUT, 3: DEAD})
    for n in range(3):
        q.commit(t=[("a", n, second(n))])
    pool = q.jvm.headrace.task.Pool
    name = next(
        n for n in q.jvm.scala.jdk.javaapi.CollectionConverters.asJava(pool.queries()) if n.startswith(q.document["fingerprint"] + "/")
    )
    waiting = q.jvm.scala.jdk.javaapi.CollectionConverters.asJava(pool.waiting(name))
    assert 1 <= waiting["source t"] <= 2 and 1 <= waiting["operator 1"] <= 2
    q.stop()
    assert pool.waiting(name).isEmpty()
