"""Nexmark: what its queries hold at the end of the stream is what DuckDB answers over the same files, however many epochs that took.

The sample has 20,000 events in three epochs; `make test-all` has a million, in one and in 37. `tests/faults` has it in ten, and kills.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.nexmark import ours
from bench.nexmark.events import make
from bench.nexmark.oracle import Oracle
from bench.nexmark.queries import OF_EVENTS, OF_THE_CLOCK, QUERIES, Query
from pyspark.sql import SparkSession

import headrace as hr


def compare(folder: Path, events: int, epochs: int) -> None:
    given = make(events, epochs, cache=folder)
    summary = ours.kept(OF_EVENTS.values(), given, folder / "out").run(checkpoint=folder / "checkpoint", progress=False, partitions=2)
    assert summary.epochs == epochs
    assert wrong(list(OF_EVENTS.values()), Oracle(given), folder / "out") == {}


def wrong(queries: list[Query], oracle: Oracle, folder: Path) -> dict[str, str]:
    """By query, how what it wrote differs from the answer."""
    found = {query.name: oracle.difference(query, hr.committed_files(folder / query.name)) for query in queries}
    return {name: difference for name, difference in found.items() if difference}


def test_there_are_23() -> None:
    assert list(QUERIES) == [f"q{number}" for number in range(23)]
    assert all(query.tables for query in QUERIES.values())


def test_a_sample_is_what_duckdb_answers(spark: SparkSession, tmp_path: Path) -> None:
    compare(tmp_path, 20_000, 3)


def test_windows_of_the_clock_hold_each_event_once(spark: SparkSession, tmp_path: Path) -> None:
    given, timed = make(20_000, 3, cache=tmp_path), [QUERIES[OF_THE_CLOCK]]
    ours.kept(timed, given, tmp_path / "out").run(checkpoint=tmp_path / "checkpoint", progress=False, partitions=2)
    assert wrong(timed, Oracle(given), tmp_path / "out") == {}


@pytest.mark.full
@pytest.mark.parametrize("epochs", [1, 37])
def test_a_million_events_are_what_duckdb_answers(spark: SparkSession, tmp_path: Path, epochs: int) -> None:
    compare(tmp_path, 1_000_000, epochs)
