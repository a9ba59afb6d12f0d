"""The record: epochs add up once, whatever is replayed."""

from __future__ import annotations

from pathlib import Path

from headrace.spark.record import Record

COUNTS = [["charges", 0, 0, "read", 3], ["charges", 0, 0, "max_time", 70], [None, 1, 0, "in", 3], [None, 1, 0, "handled", 3]]


def test_epochs_add_up(tmp_path: Path) -> None:
    record = Record(tmp_path / "record" / "main.json")
    assert record.add(0, COUNTS, {"out": 2})
    assert record.add(1, [["charges", 0, 0, "read", 1], ["charges", 0, 0, "max_time", 60]], {"out": 1})
    totals = Record(record.path).totals
    assert (totals.epoch, totals.of_source("charges", "read"), totals.times(), totals.rows) == (1, 4, {"charges": 70}, {"out": 3})
    assert totals.of_input(1, 0, "in") == totals.of_input(1, 0, "handled") == 3


def test_a_replayed_epoch_adds_nothing(tmp_path: Path) -> None:
    record = Record(tmp_path / "main.json")
    record.add(0, COUNTS, {"out": 2})
    again = Record(record.path)
    assert not again.add(0, COUNTS, {"out": 2})
    assert again.totals == record.totals == Record(record.path).totals


def test_times_before_1970_are_times(tmp_path: Path) -> None:
    record = Record(tmp_path / "main.json")
    record.add(0, [["charges", 0, 0, "max_time", -5]], {})
    record.add(1, [["charges", 0, 0, "max_time", -9]], {})
    assert record.totals.times() == {"charges": -5}


def test_who_reads_while_an_epoch_is_added_sees_all_of_it_or_nothing(tmp_path: Path) -> None:
    record = Record(tmp_path / "main.json")
    record.add(0, COUNTS, {"out": 2})
    before = record.totals
    kept = before.to_json()
    record.add(1, [[None, 2, 0, "in", 1], *COUNTS], {"more": 1})
    assert before.to_json() == kept
    assert record.totals is not before and record.totals.of_input(2, 0, "in") == 1


def test_nothing_but_the_record_is_left_behind(tmp_path: Path) -> None:
    Record(tmp_path / "main.json").add(0, COUNTS, {})
    assert [path.name for path in tmp_path.iterdir()] == ["main.json"]
