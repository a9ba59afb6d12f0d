"""The control source: what it tells a query, what a restart brings back, and the gate between two epochs."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import DataFrame

from headrace.testing import Harness

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

numbers = itertools.count()


class Control:
    def __init__(self, spark: SparkSession) -> None:
        jvm: Any = spark._jvm
        self.spark = spark
        self.id = f"control-{next(numbers)}"
        self.object = jvm.headrace.source.Control
        self.object.create(self.id)

    def publish(self, **times: int) -> None:
        self.object.publish(self.id, json.dumps(times))

    def frame(self, source: str | None = None) -> DataFrame:
        return DataFrame(self.object.frame(self.spark._jsparkSession, self.id, source), self.spark).selectExpr(
            "source", "unix_micros(ts) AS ts"
        )

    def start(self, frame: DataFrame, checkpoint: Path, seen: list[Any], *, fail: bool = False) -> StreamingQuery:
        def batch(rows: DataFrame, epoch: int) -> None:
            seen.append((epoch, sorted(tuple(row) for row in rows.collect())))
            if fail:
                raise ValueError("asked to fail")

        return (
            frame.writeStream.option("checkpointLocation", str(checkpoint)).foreachBatch(batch).trigger(processingTime="0 seconds").start()
        )


@pytest.fixture
def control(spark: SparkSession) -> Iterator[Control]:
    control = Control(spark)
    yield control
    control.object.drop(control.id)


def test_one_row_per_source_that_moved(control: Control, tmp_path: Path) -> None:
    seen: list[Any] = []
    query = control.start(control.frame(), tmp_path, seen)
    try:
        query.processAllAvailable()
        control.publish(a=10, b=20)
        query.processAllAvailable()
        control.publish(a=10, b=21)
        query.processAllAvailable()
        control.publish(a=5)
        query.processAllAvailable()
        control.publish(c=2**60)
        query.processAllAvailable()
    finally:
        query.stop()
    assert seen == [(0, [("a", 10), ("b", 20)]), (1, [("b", 21)]), (2, [("c", 2**60)])]


def test_restart_takes_the_times_from_the_log(spark: SparkSession, tmp_path: Path) -> None:
    seen: list[Any] = []
    first = Control(spark)
    first.publish(a=10, b=20)
    query = first.start(first.frame(), tmp_path, seen, fail=True)
    with pytest.raises(Exception, match="asked to fail"):
        query.processAllAvailable()
    # A new process has an empty board: the epoch that failed comes again as it was, and the times go on from there.
    second = Control(spark)
    query = second.start(second.frame(), tmp_path, seen)
    query.processAllAvailable()
    second.publish(a=9, b=21)
    query.processAllAvailable()
    query.stop()
    assert seen == [(0, [("a", 10), ("b", 20)]), (0, [("a", 10), ("b", 20)]), (1, [("b", 21)])]


def test_a_scan_per_source(control: Control, tmp_path: Path) -> None:
    seen: list[Any] = []
    frame = control.frame("a").unionAll(control.frame("b").selectExpr("concat('of ', source) AS source", "ts"))
    query = control.start(frame, tmp_path, seen)
    control.publish(a=1, b=2, c=3)
    query.processAllAvailable()
    query.stop()
    assert sorted(row for _, rows in seen for row in rows) == [("a", 1), ("of b", 2)]


def test_sources_of_the_same_names_do_no_harm() -> None:
    with Harness() as h:
        schema = "k string, ts timestamp"
        control = h.source("control", schema, watermark=("ts", "1 second"))
        other = h.source("control_control", schema, watermark=("ts", "1 second"))
        out = h.collect(control.union(other))
        plain = h.collect(h.source("control_", "k string"))
        rows = [("+", ("a", "2026-01-01 00:00:00"))]
        h.commit({"control": rows, "control_control": rows, "control_": [("+", ("b",))]})
        assert (len(out.rows()), plain.rows()) == (2, [("b",)])
    with Harness() as h:
        out = h.collect(h.source("control", "k string"))
        h.commit({"control": [("+", ("a",))]})
        assert out.rows() == [("a",)]


def test_held_query_waits_between_two_epochs_and_stops_there(control: Control, tmp_path: Path) -> None:
    seen: list[Any] = []
    query = control.start(control.frame(), tmp_path, seen)
    control.publish(a=1)
    query.processAllAvailable()
    assert not control.object.held(control.id, 0)
    control.object.hold(control.id)
    assert control.object.held(control.id, 20_000)
    control.publish(a=2)
    query.stop()
    assert query.exception() is None
    assert seen == [(0, [("a", 1)])]

    control.object.release(control.id)
    query = control.start(control.frame(), tmp_path, seen)
    query.processAllAvailable()
    query.stop()
    assert seen == [(0, [("a", 1)]), (1, [("a", 2)])]


def test_released_query_goes_on(control: Control, tmp_path: Path) -> None:
    seen: list[Any] = []
    query = control.start(control.frame(), tmp_path, seen)
    control.object.hold(control.id)
    assert control.object.held(control.id, 20_000)
    control.publish(a=1)
    control.object.release(control.id)
    query.processAllAvailable()
    query.stop()
    assert seen == [(0, [("a", 1)])]
