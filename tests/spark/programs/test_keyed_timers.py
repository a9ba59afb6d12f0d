"""Timers with keys: in the order of time and key, replaced and forgotten by key, set by each other, and at the end of input."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import headrace as hr
from tests.spark.kernel.trial import SECOND, Tried, epoch, row, traced, trial

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


def rows(tried: Tried) -> list[Any]:
    return [one for part in tried.values() for one in part]


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
        assert rows(tried) == wanted
        assert tried.state == []


def test_the_end_of_input(spark: SparkSession) -> None:
    p = traced(Bills, outputs=OUT)
    # 3 sets itself again: behind the last row it is not done, and those behind it in time still fire
    made = [row(1000 * SECOND, v=3), row(1000 * SECOND, v=5), row(1002 * SECOND, v=44), row(1150 * SECOND, v=6)]
    tried = trial(spark, p, epoch(*made, watermark=900 * SECOND), epoch(flush=1150 * SECOND))
    fired = [(k, s) for what, k, _, s in rows(tried) if what == "due"]
    assert fired == [(3, 1003), (5, 1005), (4, 1046), (3, 1103), (6, 1156)]
    assert tried.state == []


def test_at_the_end_of_an_epoch(spark: SparkSession) -> None:
    p = traced(Bills, outputs=OUT, order="arrival")
    tried = trial(
        spark, p, epoch(row(1000 * SECOND, v=1), row(1000 * SECOND, v=2), row(1001 * SECOND, v=92)), epoch(watermark=1001 * SECOND)
    )
    assert rows(tried) == [("row", 1, False, 1000), ("row", 2, False, 1000), ("row", 2, True, 1001), ("due", 1, False, 1001)]


def test_one_that_fails(spark: SparkSession) -> None:
    p = traced(Bills, outputs=OUT, order="arrival")
    tried = trial(spark, p, epoch(row(1000 * SECOND, v=7), row(1000 * SECOND, v=8)), epoch(watermark=1020 * SECOND))
    assert [k for what, k, _, _ in rows(tried) if what == "due"] == [8]
    ((reason, raw),) = tried.dead()
    assert reason.startswith("seven at ")
    assert json.loads(raw) == {"timer": "due", "at": "1970-01-01T00:16:47.000000Z", "timer_key": 7, "key": {"k": "a"}}
