"""The record: epochs add up once, whatever is replayed."""

from __future__ import annotations

from pathlib import Path

from headrace.spark.checkpoint.record import Record

COUNTS = [["charges", 0, 0, "read", 3], ["charges", 0, 0, "max_time", 70], [None, 1, 0, "in", 3], [None, 1, 0, "handled", 3]]


def test_epochs_add_up(tmp_path: Path) -> None:
    record = Record(tmp_path / "record", "main", 1)
    assert record.add(0, COUNTS, {"out": 2})
    assert record.add(1, [["charges", 0, 0, "read", 1], ["charges", 0, 0, "max_time", 60]], {"out": 1})
    totals = Record(record.folder, "main", 2).totals
    assert (totals.epoch, totals.of_source("charges", "read"), totals.times(), totals.rows) == (1, 4, {"charges": 70}, {"out": 3})
    assert totals.of_input(1, 0, "in") == totals.of_input(1, 0, "handled") == 3


def test_a_replayed_epoch_adds_nothing(tmp_path: Path) -> None:
    record = Record(tmp_path, "main", 1)
    record.add(0, COUNTS, {"out": 2})
    again = Record(tmp_path, "main", 2)
    assert not again.add(0, COUNTS, {"out": 2})
    assert again.totals == record.totals == Record(tmp_path, "main", 1).totals


def test_times_before_1970_are_times(tmp_path: Path) -> None:
    record = Record(tmp_path, "main", 1)
    record.add(0, [["charges", 0, 0, "max_time", -5]], {})
    record.add(1, [["charges", 0, 0, "max_time", -9]], {})
    assert record.totals.times() == {"charges": -5}


def test_who_reads_while_an_epoch_is_added_sees_all_of_it_or_nothing(tmp_path: Path) -> None:
    record = Record(tmp_path, "main", 1)
    record.add(0, COUNTS, {"out": 2})
    before = record.totals
    kept = before.to_json()
    record.add(1, [[None, 2, 0, "in", 1], *COUNTS], {"more": 1})
    assert before.to_json() == kept
    assert record.totals is not before and record.totals.of_input(2, 0, "in") == 1


def test_nothing_but_the_record_is_left_behind(tmp_path: Path) -> None:
    Record(tmp_path, "main", 1).add(0, COUNTS, {})
    assert [path.name for path in tmp_path.iterdir()] == ["main.1.json"]


def test_who_was_replaced_writes_where_nobody_reads(tmp_path: Path) -> None:
    asleep = Record(tmp_path, "main", 1)
    asleep.add(0, COUNTS, {"out": 2})
    awake = Record(tmp_path, "main", 2)
    awake.add(1, COUNTS, {"out": 2})
    awake.add(2, COUNTS, {"out": 2})
    asleep.add(1, COUNTS, {"out": 2})
    assert Record(tmp_path, "main", 3).totals == awake.totals


def test_records_of_versions_before_terms_are_read(tmp_path: Path) -> None:
    record = Record(tmp_path, "main.2", 1)
    record.add(0, COUNTS, {"out": 2})
    (tmp_path / "main.2.1.json").rename(tmp_path / "main.2.json")  # also the name of what query main counts in term 2
    later = Record(tmp_path, "main.2", 5)
    assert later.totals == record.totals
    later.add(1, COUNTS, {})
    assert [path.name for path in tmp_path.iterdir()] == ["main.2.5.json"]
