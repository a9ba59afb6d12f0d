"""Nexmark: what its queries hold at the end of the stream is what DuckDB answers over the same files, however many epochs that took.

The sample has 20,000 events in three epochs; `make test-all` has a million, in one and in 37. `tests/faults` has it in ten, and kills.
"""

from __future__ import annotations

import shutil
from functools import lru_cache
from pathlib import Path

import pytest
from bench.nexmark import ours, page
from bench.nexmark.events import Events, make
from bench.nexmark.oracle import Oracle
from bench.nexmark.queries import OF_EVENTS, OF_THE_CLOCK, QUERIES, Query
from pyspark.sql import SparkSession

import headrace as hr

MANY = 1_000_000
GROUPS = {
    "rows": ("q0", "q1", "q2", "q10", "q14", "q21", "q22"),
    "joins": ("q3", "q13", "q20"),
    "prices of auctions": ("q4", "q6", "q9"),
    "windows": ("q5", "q7", "q8", "q11"),
    "groups": ("q15", "q16", "q17"),
    "first rows": ("q18", "q19"),
}
"""Queries that run as one job where there are many events: a case can be run by itself, as `-k "37 and windows"`."""


def of(group: str) -> list[Query]:
    return [QUERIES[name] for name in GROUPS[group]]


def compare(queries: list[Query], events: Events, folder: Path) -> None:
    summary = ours.kept(queries, events, folder / "out").run(checkpoint=folder / "checkpoint", progress=False, partitions=2)
    assert summary.epochs == events.epochs
    assert wrong(queries, oracle(events), folder / "out") == {}


def wrong(queries: list[Query], oracle: Oracle, folder: Path) -> dict[str, str]:
    """By query, how what it wrote differs from the answer."""
    differences = {query.name: oracle.difference(query, hr.committed_files(folder / query.name)) for query in queries}
    return {name: difference for name, difference in differences.items() if difference}


@lru_cache(maxsize=1)
def oracle(events: Events) -> Oracle:
    """DuckDB with these events in memory; those of one run at a time."""
    return Oracle(events)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the events lie that cases share."""
    return tmp_path_factory.mktemp("nexmark")


def test_there_are_23() -> None:
    assert list(QUERIES) == [f"q{number}" for number in range(23)]
    assert all(query.tables for query in QUERIES.values())
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(OF_EVENTS)


def test_a_sample_is_what_duckdb_answers(spark: SparkSession, tmp_path: Path) -> None:
    compare(list(OF_EVENTS.values()), make(20_000, 3, cache=tmp_path), tmp_path)


@pytest.mark.parametrize(("events", "epochs"), [(20_000, 3), *(pytest.param(MANY, n, marks=pytest.mark.full) for n in (1, 37))])
def test_windows_of_the_clock_hold_each_event_once(spark: SparkSession, cache: Path, tmp_path: Path, events: int, epochs: int) -> None:
    generated, timed = make(events, epochs, cache=cache), [QUERIES[OF_THE_CLOCK]]
    ours.kept(timed, generated, tmp_path / "out").run(checkpoint=tmp_path / "checkpoint", progress=False, partitions=2)
    assert wrong(timed, oracle(generated), tmp_path / "out") == {}


@pytest.mark.full
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("epochs", [1, 37])
def test_many_events_are_what_duckdb_answers(spark: SparkSession, cache: Path, tmp_path: Path, group: str, epochs: int) -> None:
    compare(of(group), make(MANY, epochs, cache=cache), tmp_path)
    shutil.rmtree(tmp_path)  # hundreds of megabytes


def test_the_page_shows_the_plans(spark: SparkSession) -> None:
    written = page.PAGE.read_text(encoding="utf-8")
    assert page.filled(written, page.plans()) == written, "run: .venv/bin/python -m bench.nexmark.page"
