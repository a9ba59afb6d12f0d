"""In-memory rows: one epoch for all sources, the same rows again whenever they are asked for."""

from __future__ import annotations

import itertools
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame

from headrace import ports
from headrace.connectors import memory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

numbers = itertools.count()
DDL = "k string, v bigint"


class Board:
    def __init__(self, spark: SparkSession) -> None:
        jvm: Any = spark._jvm
        self.spark = spark
        self.id = f"board-{next(numbers)}"
        self.object = jvm.headrace.source.Board
        self.memory = jvm.headrace.source.Memory
        self.object.create(self.id)

    def append(self, source: str, rows: list[Any], ddl: str = DDL) -> None:
        self.object.append(self.id, source, pickle.dumps(rows), ddl)

    def publish(self) -> int:
        return int(self.object.publish(self.id))

    def frame(self, source: str, ddl: str = DDL) -> DataFrame:
        return DataFrame(self.memory.frame(self.spark._jsparkSession, self.id, source, ddl), self.spark)


@pytest.fixture
def board(spark: SparkSession) -> Iterator[Board]:
    board = Board(spark)
    yield board
    board.object.drop(board.id)


def start(frame: DataFrame, checkpoint: Path, seen: list[tuple[int, list[Any]]], fail_at: int = -1) -> StreamingQuery:
    def batch(rows: DataFrame, epoch: int) -> None:
        seen.append((epoch, sorted(tuple(row) for row in rows.collect())))
        if epoch == fail_at:
            raise ValueError("asked to fail")

    return frame.writeStream.option("checkpointLocation", str(checkpoint)).foreachBatch(batch).trigger(processingTime="0 seconds").start()


def test_nothing_is_read_before_it_is_published(board: Board, tmp_path: Path) -> None:
    seen: list[Any] = []
    query = start(board.frame("a"), tmp_path, seen)
    try:
        board.append("a", [("x", 1)])
        query.processAllAvailable()
        assert seen == []
        assert board.publish() == 1
        query.processAllAvailable()
        board.append("a", [("y", 2), ("z", None)])
        board.append("a", [("y", 3)])
        assert board.publish() == 2
        query.processAllAvailable()
        assert seen == [(0, [("x", 1)]), (1, [("y", 2), ("y", 3), ("z", None)])]
    finally:
        query.stop()


def test_all_sources_of_a_query_see_the_same_epoch(board: Board, tmp_path: Path) -> None:
    seen: list[tuple[int, list[Any]]] = []
    sources = ["a", "b", "c", "d"]
    frame = board.frame("a")
    for source in sources[1:]:
        frame = frame.unionAll(board.frame(source))
    query = start(frame, tmp_path, seen)
    stop = threading.Event()

    def write() -> None:
        for number in range(200):
            for source in sources:
                board.append(source, [(source, number)])
            board.publish()
            if stop.wait(0.005):
                return

    writer = threading.Thread(target=write)
    writer.start()
    try:
        writer.join()
        query.processAllAvailable()
    finally:
        stop.set()
        query.stop()
    assert len(seen) > 1
    for _, rows in seen:
        per_source = [[v for k, v in rows if k == source] for source in sources]
        assert per_source.count(per_source[0]) == len(sources)
    assert sorted(v for _, rows in seen for k, v in rows if k == "a") == list(range(200))


def test_restart_goes_on_and_repeats_the_epoch_that_failed(board: Board, tmp_path: Path) -> None:
    seen: list[Any] = []
    for number in range(3):
        board.append("a", [("x", number)])
        board.publish()
        query = start(board.frame("a"), tmp_path, seen, fail_at=2)
        if number < 2:
            query.processAllAvailable()
        else:
            with pytest.raises(StreamingQueryException, match="asked to fail"):
                query.processAllAvailable()
        query.stop()
    board.append("a", [("late", 9)])
    board.publish()
    query = start(board.frame("a"), tmp_path, seen)
    query.processAllAvailable()
    query.stop()
    assert seen == [(0, [("x", 0)]), (1, [("x", 1)]), (2, [("x", 2)]), (2, [("x", 2)]), (3, [("late", 9)])]


def test_many_rows_are_spread_over_partitions(board: Board, tmp_path: Path) -> None:
    partitions: list[int] = []
    rows: list[Any] = []

    def batch(frame: DataFrame, _: int) -> None:
        partitions.append(frame.rdd.getNumPartitions())
        rows.extend(tuple(row) for row in frame.collect())

    board.append("a", [(f"k{n}", n) for n in range(9001)])
    board.publish()
    query = board.frame("a").writeStream.foreachBatch(batch).option("checkpointLocation", str(tmp_path)).start()
    query.processAllAvailable()
    query.stop()
    assert partitions == [2]
    assert rows == [(f"k{n}", n) for n in range(9001)]


def test_every_type_comes_through(board: Board, tmp_path: Path) -> None:
    ddl = (
        "b boolean, y tinyint, s smallint, i int, l bigint, f float, d double, n decimal(20,3), t string, x binary, "
        "day date, ts timestamp, tn timestamp_ntz, a array<int>, m map<string,double>, r struct<p: int, q: array<string>>, iv interval day to second"
    )
    row = (
        True, 1, 2, 3, 2**40, 1.5, float("nan"), Decimal("1.250"), "ä", b"\x00\xff",
        20454, 1767225600000000, 1767225600000001, [1, None], {"a": 2.5}, (7, ["u", None]), 1_500_000,
    )  # fmt: skip
    seen: list[Any] = []
    board.append("a", [row, (None,) * len(row)], ddl)
    board.publish()
    frame = board.frame("a", ddl).selectExpr(
        "b", "y", "s", "i", "l", "f", "isnan(d)", "string(n)", "t", "hex(x)", "string(day)", "string(ts)", "string(tn)", "string(a)", "string(m)", "string(r)",
        "string(iv)",
    )  # fmt: skip
    query = (
        frame.writeStream.foreachBatch(lambda b, _: seen.extend(tuple(r) for r in b.collect()))
        .option("checkpointLocation", str(tmp_path))
        .start()
    )
    query.processAllAvailable()
    query.stop()
    assert seen[0] == (
        True, 1, 2, 3, 2**40, 1.5, True, "1.250", "ä", "00FF",
        "2026-01-01", "2026-01-01 00:00:00", "2026-01-01 00:00:00.000001", "[1, null]", "{a -> 2.5}", "{7, [u, null]}", "INTERVAL '0 00:00:01.5' DAY TO SECOND",
    )  # fmt: skip
    assert seen[1] == (*(None,) * 6, False, *(None,) * 10)


def test_a_checkpoint_of_another_process_is_told_why_it_cannot_go_on(spark: SparkSession, board: Board, tmp_path: Path) -> None:
    board.append("a", [("x", 1)])
    board.publish()
    seen: list[Any] = []
    query = start(board.frame("a"), tmp_path, seen, fail_at=0)
    with pytest.raises(StreamingQueryException):
        query.processAllAvailable()
    board.object.drop(board.id)
    board.object.create(board.id)
    query = start(board.frame("a"), tmp_path, seen)
    with pytest.raises(StreamingQueryException, match="rows in memory do not outlive their process"):
        query.processAllAvailable()


def test_other_rows_than_those_that_were_read_are_refused(spark: SparkSession, board: Board, tmp_path: Path) -> None:
    board.append("a", [("x", 1)])
    board.publish()
    seen: list[Any] = []
    query = start(board.frame("a"), tmp_path, seen)
    query.processAllAvailable()
    query.stop()
    other = Board(spark)
    other.append("a", [("x", 1), ("y", 2)])
    other.publish()
    query = start(other.frame("a"), tmp_path, seen)
    with pytest.raises(StreamingQueryException, match="the rows of memory source a are not those that the checkpoint has read"):
        query.processAllAvailable()
    assert seen == [(0, [("x", 1)])]


def collected(source: memory.Source, spark: SparkSession, checkpoint: Path) -> list[Any]:
    frame, _ = source.scan(spark, ports.SourceContext("a", checkpoint))
    seen: list[Any] = []
    query = start(frame, checkpoint, seen)
    query.processAllAvailable()
    query.stop()
    return [row for _, rows in seen for row in rows]


def test_an_attempt_that_failed_halfway_leaves_no_rows(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = memory.Source([("half", n) for n in range(5)], DDL)
    monkeypatch.setattr(memory, "_SLICE", 2)
    slices = itertools.count()

    def fail(*arguments: Any) -> bytes:
        if next(slices) == 1:
            raise MemoryError("asked to fail")
        return pickle.dumps(*arguments)

    monkeypatch.setattr(memory, "pickle", SimpleNamespace(dumps=fail))
    with pytest.raises(MemoryError):
        source.scan(spark, ports.SourceContext("a", tmp_path))
    assert collected(source, spark, tmp_path) == [("half", n) for n in range(5)]


def test_threads_that_begin_at_once_fill_one_board(spark: SparkSession, tmp_path: Path) -> None:
    source = memory.Source([("threads", n) for n in range(5)], DDL)
    rows_by_thread: dict[int, list[Any]] = {}

    def run(number: int) -> None:
        rows_by_thread[number] = collected(source, spark, tmp_path / str(number))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(rows_by_thread.values()) == [[("threads", n) for n in range(5)]] * 3


@pytest.mark.full
def test_a_session_after_another_one_reads_each_row_once() -> None:
    script = """
import headrace as hr
rows = [("a", 1), ("b", 2)]
for _ in range(2):
    spark = hr.session(master="local[1]", conf={"spark.driver.memory": "1g"})
    print(sorted(hr.collect(hr.read.memory(rows, "k string, v int", name="rows")).rows()))
    spark.stop()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=240, check=False)
    assert done.stdout == "[('a', 1), ('b', 2)]\n" * 2, done.stderr
