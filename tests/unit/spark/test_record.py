"""The record: epochs add up once, whatever is replayed."""

from __future__ import annotations

from pathlib import Path

from headrace.spark.checkpoint.record import Record, Totals

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


def test_counts_of_an_expectation_are_of_one_condition(tmp_path: Path) -> None:
    def started(term: int, **texts: str) -> Record:
        record = Record(tmp_path, "main", term)
        record.expect({"rows": texts})
        return record

    def counted(record: Record) -> tuple[int, int]:
        totals = record.totals
        return totals.of_source("rows", "passed positive"), totals.of_source("rows", "read")

    first = started(1, positive="n > 0")
    first.add(0, [["rows", 0, 0, "read", 3], ["rows", 0, 0, "passed positive", 2]], {})
    assert counted(started(2, positive="n > 0")) == (2, 3)
    # nothing is stored before an epoch has ended
    assert counted(started(2, positive="n > 5")) == (0, 3)
    assert counted(started(2, positive="n > 0")) == (2, 3)
    other = started(3, positive="n > 5")
    other.add(1, [["rows", 0, 0, "passed positive", 1]], {})
    assert counted(started(4, positive="n > 5")) == (1, 3)
    # what was left out for a while has not seen all rows
    left_out = started(5)
    left_out.add(2, [["rows", 0, 0, "read", 1]], {})
    assert counted(started(6, positive="n > 5")) == (0, 4)


def test_a_record_that_does_not_say_its_conditions() -> None:
    before = Totals(0, {("rows", 0, 0, "passed positive"): 2})
    assert "conditions" not in before.to_json()
    again = Totals.from_json(before.to_json())
    assert again.changed({"rows": {"positive": "n > 0"}}) == []
    assert again.expecting({"rows": {"positive": "n > 0"}}).counts == before.counts
    assert Totals.from_json(again.expecting({"rows": {"positive": "n > 0"}}).to_json()).conditions == {"rows": {"positive": "n > 0"}}
