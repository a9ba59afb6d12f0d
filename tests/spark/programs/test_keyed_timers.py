"""Timers with keys: in the order of time and key, replaced and forgotten by key, set by each other, and at the end of input."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import headrace as hr
from tests.spark.kernel.trial import SECOND, epoch, row, traced, trial

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OUT = {"main": "what string, k int, pending boolean, s bigint"}


class Bills(hr.Program):
    """A row sets the timer of its number mod 10 to fire in as many seconds; 90 and more forget one, 99 all, 80 to 89 fail."""

    due = hr.Timer(key="int")
    other = hr.Timer()

    def on_event(self, e):
        k = e.v % 10
        hr.emit(what="row", k=k, pending=self.due.at(k).is_not_null(), s=hr.f.unix_seconds(e.ts))
        with hr.when(e.v == 99):
            self.due.clear()
        with hr.elsewhen(e.v >= 90):
            self.due.clear(k)
        with hr.otherwise():
            self.due.set(e.ts + hr.expr("make_dt_interval(0, 0, 0, e.v)"), k)
            self.other.set(e.ts + hr.seconds(5))
        with hr.when((e.v >= 80) & (e.v < 90)):
            hr.reject("no")

    def on_due(self, at, k):
        hr.emit(what="due", k=k, pending=self.due.at(k).is_not_null(), s=hr.f.unix_seconds(at))
        with hr.when(k == 3):
            self.due.set(at + hr.seconds(100), k)

        with hr.when(k == 7):
            hr.reject("seven")

    def on_other(self, at):
        hr.emit(what="other", k=0, pending=True, s=hr.f.unix_seconds(at))


INPUT = [(1000, 30), (1000, 31), (1001, 4), (1002, 13), (1003, 85), (1004, 92), (1005, 11), (1006, 93), (1006, 23), (1007, 2)]


def test_in_the_order_of_time_and_key(spark: SparkSession) -> None:
    p = traced(Bills, outputs=OUT)
    wanted = [
        ("row", 0, False, 1000),
        ("row", 1, False, 1000),
        ("row", 4, False, 1001),
        ("row", 3, False, 1002),
        ("row", 2, False, 1004),
        ("row", 1, True, 1005),
        ("due", 4, False, 1005),
        ("row", 3, True, 1006),  # 23 comes before 93: columns are compared
        ("row", 3, True, 1006),
        ("row", 2, False, 1007),
        ("due", 2, False, 1009),
        ("other", 0, True, 1012),
        ("due", 1, False, 1016),
        ("due", 0, False, 1030),
    ]
    for cuts in (1, 3, 10):
        epochs = []
        for i in range(0, len(INPUT), cuts):
            part = INPUT[i : i + cuts]
            epochs += [epoch(*(row(time * SECOND, v=v) for time, v in part), watermark=999 * SECOND)]
            following = INPUT[i + cuts][0] if i + cuts < len(INPUT) else 1008
            epochs += [epoch(watermark=(following - 1) * SECOND)]
        tried = trial(spark, p, *epochs[:-1], epoch(watermark=2000 * SECOND))
        assert tried.all() == wanted
        assert tried.state == []


def test_the_end_of_input(spark: SparkSession) -> None:
    p = traced(Bills, outputs=OUT)
    # 3 sets itself again: behind the last row it is not done, and those behind it in time still fire
    rows = [row(1000 * SECOND, v=3), row(1000 * SECOND, v=5), row(1002 * SECOND, v=44), row(1150 * SECOND, v=6)]
    tried = trial(spark, p, epoch(*rows, watermark=900 * SECOND), epoch(flush=1150 * SECOND))
    fired = [(k, s) for what, k, _, s in tried.all() if what == "due"]
    assert fired == [(3, 1003), (5, 1005), (4, 1046), (3, 1103), (6, 1156)]
    # it stays pending, as one without keys does
    assert [(one["alarm"], len(one["pages"])) for one in tried.state] == [(None, 2)]


class Ended(hr.Program):
    """Timers that set themselves again, with a key and without; a row tells when they are due."""

    one = hr.Timer()
    each = hr.Timer(key="int")

    def on_event(self, e):
        hr.emit(one=self.one.at(), each=self.each.at(e.v))
        with hr.when(e.v < 5):
            self.one.set(e.ts + hr.seconds(10))
            self.each.set(e.ts + hr.seconds(10), e.v)

    def on_one(self, at):
        self.one.set(at + hr.seconds(10))

    def on_each(self, at, k):
        self.each.set(at + hr.seconds(10), k)


def test_what_rings_no_more_is_seen_by_later_rows(spark: SparkSession) -> None:
    p = traced(Ended, outputs={"main": "one timestamp, each timestamp"})
    rows = [row(1000 * SECOND, v=1), row(1024 * SECOND, v=7), row(1025 * SECOND, v=1)]
    for epochs in ([epoch(*rows, watermark=900 * SECOND)], [epoch(*rows, watermark=900 * SECOND), epoch(watermark=1024 * SECOND)]):
        tried = trial(spark, p, *epochs, epoch(flush=1025 * SECOND))
        assert [one for one, _ in tried.all()] == [None, "1970-01-01T00:17:10.000000Z", "1970-01-01T00:17:10.000000Z"]
        assert [each for _, each in tried.all()] == [None, None, "1970-01-01T00:17:10.000000Z"]


def test_at_the_end_of_an_epoch(spark: SparkSession) -> None:
    p = traced(Bills, outputs=OUT, order="arrival")
    tried = trial(
        spark, p, epoch(row(1000 * SECOND, v=1), row(1000 * SECOND, v=2), row(1001 * SECOND, v=92)), epoch(watermark=1001 * SECOND)
    )
    assert tried.all() == [("row", 1, False, 1000), ("row", 2, False, 1000), ("row", 2, True, 1001), ("due", 1, False, 1001)]


def test_one_that_fails(spark: SparkSession) -> None:
    p = traced(Bills, outputs=OUT, order="arrival")
    tried = trial(spark, p, epoch(row(1000 * SECOND, v=7), row(1000 * SECOND, v=8)), epoch(watermark=1020 * SECOND))
    assert [k for what, k, _, _ in tried.all() if what == "due"] == [8]
    ((reason, raw),) = tried.dead()
    assert reason.startswith("seven at ")
    assert json.loads(raw) == {"timer": "due", "at": "1970-01-01T00:16:47.000000Z", "timer_key": 7, "key": {"k": "a"}}
