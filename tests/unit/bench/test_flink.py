"""What Flink is asked, and what is told of its answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.nexmark.events import Events
from bench.nexmark.flink import Refused
from bench.nexmark.measure import DISORDERED, FLINK, HEADRACE, Measured, mean
from bench.nexmark.queries import QUERIES
from bench.nexmark.tables import COLUMNS, in_flink


def test_the_tables_are_made_over_the_files_for_flink(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    statements = in_flink(Events(tmp_path, 0, 1))
    assert [statement.split(" (")[0].split(" AS ")[0] for statement in statements] == [
        "DROP TEMPORARY VIEW IF EXISTS person",
        "DROP TEMPORARY VIEW IF EXISTS auction",
        "DROP TEMPORARY VIEW IF EXISTS bid",
        "DROP TEMPORARY TABLE IF EXISTS events",
        "DROP TEMPORARY TABLE IF EXISTS side_input",
        "CREATE TEMPORARY TABLE events",
        "CREATE TEMPORARY VIEW person",
        "CREATE TEMPORARY VIEW auction",
        "CREATE TEMPORARY VIEW bid",
        "CREATE TEMPORARY TABLE side_input",
    ]
    assert f"'path' = '{(tmp_path / 'flink').as_uri()}'" in statements[5]
    assert statements[8] == (
        "CREATE TEMPORARY VIEW bid AS SELECT bid.`auction`, bid.`bidder`, bid.`price`, bid.`channel`, bid.`url`, `dateTime`, bid.`extra` "
        "FROM events WHERE event_type = 2"
    )
    assert set(COLUMNS) == {"person", "auction", "bid"}


def test_flink_says_windows_with_table_around_them() -> None:
    windowed = [query for query in QUERIES.values() if "window_end" in query.text]
    assert [query.name for query in windowed] == ["q5", "q7", "q8", "q11", "q12"]
    assert all("FROM TABLE(" in query.flink and "FROM TABLE(" not in query.text for query in windowed)


def test_the_last_cause_of_a_trace_is_reported() -> None:
    trace = "An error occurred while calling o7.executeInsert.\n: first\n\tat a.b(C.java:1)\nCaused by: second: why\n\tat d\n\t... 3 more"
    assert str(Refused(trace)) == "second: why"
    assert str(Refused("a.B: alone\n\tat c.D(E.java:1)")) == "a.B: alone"


def test_the_mean_is_of_the_queries_that_both_ran() -> None:
    results = [
        Measured(QUERIES["q0"], samples={HEADRACE: [1.0, 9.0, 2.0], FLINK: [4.0, 4.0, 4.0]}),
        Measured(QUERIES["q1"], samples={HEADRACE: [2.0], FLINK: [1.0]}),
        Measured(QUERIES["q6"], samples={HEADRACE: [100.0]}),
    ]
    assert [result.ratio for result in results] == [2.0, 0.5, None]
    assert mean(result.ratio for result in results) == 1.0
    assert mean([None]) is None


def test_events_out_of_order_are_compared_with_those_in_order() -> None:
    results = [
        Measured(QUERIES["q0"], samples={HEADRACE: [2.0, 3.0, 9.0], DISORDERED: [3.3, 3.3, 3.3], FLINK: [6.0, 6.0, 6.0]}),
        Measured(QUERIES["q1"], samples={HEADRACE: [2.0], FLINK: [1.0]}),
    ]
    assert [result.disorder for result in results] == [pytest.approx(1.1), None]
    assert [result.to_json().get("disorder") for result in results] == [1.1, None]
    assert results[0].ratio == 2.0


def test_what_is_kept_of_a_query() -> None:
    result = Measured(QUERIES["q4"], 5, {HEADRACE: [2.0, 1.0], FLINK: [3.0, 3.0]}, {HEADRACE: 700, FLINK: 800})
    assert result.to_json() == {
        "title": "q4, Average price for a category",
        "unit": "s",
        "contenders": {
            HEADRACE: {"median": 1.5, "samples": [2.0, 1.0], "peak_mib": 700},
            FLINK: {"median": 3.0, "samples": [3.0, 3.0], "peak_mib": 800},
        },
        "ratio": 2.0,
        "rows": 5,
        "absent": {},
    }
