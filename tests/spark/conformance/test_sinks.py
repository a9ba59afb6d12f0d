"""Sinks of this process's own pass the suite, and one that has a fault is found out."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace import ports
from headrace.points import CALL
from headrace.schema import Struct
from headrace.testing.conformance import NotConforming, Report, check_sink
from tests.spark.conformance import lines
from tests.spark.conformance.lines import lines_by_name

__all__ = ["lines_by_name"]


def report(fault: str, points: tuple[str, ...] = (), only: tuple[str, ...] = ()) -> Report:
    try:
        return check_sink(lambda place, key: lines.Sink(str(place.folder), fault), rows=0, points=points, kills=0, only=only)
    except NotConforming as problem:
        return problem.report


LATE = ["append: a commit after another process has continued", "append: a commit after another process has taken over"]
EPOCHS = ["append: several epochs, one without rows"]
AGAIN = ["append: a repeated epoch, by the same sink", "append: a repeated epoch, by a new process"]


@pytest.mark.parametrize(
    ("fault", "failed"),
    [
        ("doubles", AGAIN[1:]),
        ("ignores the term", LATE[:1]),
        ("rounds", ["decimals"]),
        ("marks numbers alone", EPOCHS),
        ("marks unsaid", EPOCHS),
    ],
)
def test_a_fault_is_found(spark: SparkSession, fault: str, failed: list[str]) -> None:
    conformance = report(fault, only=tuple(failed))
    assert conformance.failed == failed, conformance


@pytest.mark.full
@pytest.mark.parametrize(
    ("fault", "failed"), [("", []), ("doubles", AGAIN), ("ignores the term", LATE), ("rounds", ["decimals"]), ("loses", [])]
)
def test_no_fault_is_found_where_there_is_none(spark: SparkSession, fault: str, failed: list[str]) -> None:
    conformance = report(fault)
    assert conformance.failed == failed, conformance


@pytest.mark.full
@pytest.mark.usefixtures("lines_by_name")
def test_a_fault_that_only_a_kill_shows(spark: SparkSession) -> None:
    points = ("before sink commit", "after sink commit", "before the commit log", "after the commit log")
    assert report("", points, ("killed",)).failed == []
    conformance = report("loses", points, ("killed",))
    # what came before is written with the next commit, and what had come when the process died never
    assert conformance.failed == ["append: killed after the commit log"], conformance


@pytest.mark.full
@pytest.mark.usefixtures("lines_by_name")
@pytest.mark.parametrize("fault", ["marks first", "marks last"])
def test_a_fault_that_only_a_kill_within_a_commit_shows(spark: SparkSession, fault: str) -> None:
    """Rows and the mark of their epoch are two steps: between the two a crash loses, or doubles."""
    conformance = report(fault, (CALL,), ("killed",))
    assert conformance.failed == [f"append: killed {CALL}"], conformance
    assert ("rows lost" in str(conformance)) == (fault == "marks first") != ("rows too many" in str(conformance)), conformance


def test_rows_that_are_seen_before_the_commit(spark: SparkSession) -> None:
    conformance = report("shows early", only=("nothing visible",))
    assert conformance.failed == ["append: nothing visible before the commit"], conformance
    assert report("", only=("nothing visible",)).failed == []


@pytest.mark.full
@pytest.mark.parametrize("format", ["json", "csv", "parquet", "orc", "avro"])
def test_files(spark: SparkSession, format: str) -> None:
    files = ports.sink_class("files")
    try:
        conformance = check_sink(lambda place, key: files.from_options({"path": str(place.folder), "format": format}))
    except NotConforming as problem:
        conformance = problem.report
    # ORC itself cannot hold times within the last second before 1970.
    assert conformance.failed == (["times"] if format == "orc" else []), conformance
    if format == "parquet":
        assert [line.check for line in conformance.lines if line.outcome != "passed"] == [], conformance


@pytest.mark.full
def test_files_by_folders(spark: SparkSession) -> None:
    files = ports.sink_class("files")
    check_sink(
        lambda place, key: files.from_options({"path": str(place.folder), "format": "parquet", "partition_by": "id"}), rows=0, points=()
    )


@pytest.mark.full
def test_memory(spark: SparkSession) -> None:
    memory: Any = ports.sink_class("memory")
    # its rows are in the process, and with them in its object
    cached_sink = cache(lambda name, key: memory(key=key or None))

    def rows(sink: Any, schema: Struct) -> list[Any]:
        return [(*row, *(None,) * (len(schema.names) - len(row))) for row in sink.rows()]

    conformance = check_sink(lambda place, key: cached_sink(place.name, key), rows, rows=100_000, points=())
    assert {line.outcome for line in conformance.lines} <= {"passed", "refused"}, conformance
