"""Expressions that fail, in every place of a program: the row goes to the dead letters with its place and reason, the state is as before."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

import pytest

import headrace as hr
from tests.spark.kernel.trial import SECOND, epoch, row, traced, trial

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FAILURES = {
    "division": ("1 div (e.v - e.v)", "[DIVIDE_BY_ZERO]"),
    "overflow": ("CAST(2147483647 + e.v AS int)", "[ARITHMETIC_OVERFLOW]"),
    "cast": ("CAST(concat('x', e.v) AS int)", "[CAST_INVALID_INPUT]"),
    "raised": ("CAST(raise_error('no') AS int)", "[USER_RAISED_EXCEPTION] no"),
}


class Everywhere(hr.Program):
    """First changes all cells; `what` then names the place in which `bad` is evaluated. The place of a chain is where it begins."""

    n = hr.Value("int", default=3)
    brief = hr.Value("int", expires="1 hour")
    xs = hr.List("int")
    m = hr.Map("int", "int")
    sum = hr.Aggregate("sum(x)", "x int")
    seen = hr.Aggregate("collect_list(x)", "x int")
    alarm = hr.Timer()
    alarms = hr.Timer(key="int")
    side = hr.Output()
    report = hr.Output()

    def __init__(self, bad: str) -> None:
        self.bad = bad

    def on_event(self, e):
        bad = hr.expr(self.bad)
        self.n.set(self.n.get() + 1)
        self.brief.set(e.v)
        self.xs.append(e.v)
        self.xs.append(e.v + 1)
        self.m.set(e.v, e.v)
        self.sum.add(x=e.v)
        self.seen.add(x=e.v)
        self.alarm.set(e.ts + hr.hours(1))
        self.alarms.set(e.ts + hr.hours(2), e.v)
        hr.emit(n=self.n.get(), size=self.m.size())
        self.side.emit(n=self.n.get())
        total = hr.let(0)
        with hr.when(e.what == hr.lit("")):
            self.tell()
        with hr.elsewhen(e.what == "a condition"):
            with hr.when(bad > 0):  # a condition
                self.n.set(0)
        with hr.elsewhen(e.what == "a later condition"):
            with hr.when(e.v < 0):
                self.n.set(0)
            with hr.elsewhen(bad > 0):  # a later condition
                self.n.set(1)
        with hr.elsewhen(e.what == "the value of a value"):
            self.n.set(bad)  # the value of a value
        with hr.elsewhen(e.what == "the value of one that expires"):
            self.brief.set(bad)  # the value of one that expires
        with hr.elsewhen(e.what == "the values of a list"):
            self.xs.set(hr.f.array(1, bad))  # the values of a list
        with hr.elsewhen(e.what == "a value appended"):
            self.xs.append(bad)  # a value appended
        with hr.elsewhen(e.what == "the key of an entry set"):
            self.m.set(bad, 1)  # the key of an entry set
        with hr.elsewhen(e.what == "the value of an entry set"):
            self.m.set(1, bad)  # the value of an entry set
        with hr.elsewhen(e.what == "the key of an entry read"):
            self.n.set(self.m.get(bad))  # the key of an entry read
        with hr.elsewhen(e.what == "the key of an entry asked for"):
            with hr.when(self.m.has(bad)):  # the key of an entry asked for
                self.n.set(0)
        with hr.elsewhen(e.what == "the key of an entry removed"):
            self.m.remove(bad)  # the key of an entry removed
        with hr.elsewhen(e.what == "a row added"):
            self.sum.add(x=bad)  # a row added
        with hr.elsewhen(e.what == "a row added to an object"):
            self.seen.add(x=bad)  # a row added to an object
        with hr.elsewhen(e.what == "the result of an aggregate"):
            self.sum.add(x=2147483647)
            self.n.set(self.sum.get() + bad)  # the result of an aggregate
        with hr.elsewhen(e.what == "the time of a timer"):
            self.alarm.set(e.ts + bad * hr.seconds(1))  # the time of a timer
        with hr.elsewhen(e.what == "the key of a timer set"):
            self.alarms.set(e.ts, bad)  # the key of a timer set
        with hr.elsewhen(e.what == "the key of a timer cleared"):
            self.alarms.clear(bad)  # the key of a timer cleared
        with hr.elsewhen(e.what == "the key of a timer read"):
            with hr.when(self.alarms.at(bad) > e.ts):  # the key of a timer read
                self.n.set(0)
        with hr.elsewhen(e.what == "a local made"):
            local = hr.let(bad)  # a local made
            self.n.set(local.get())
        with hr.elsewhen(e.what == "a local set"):
            total.set(bad)  # a local set
        with hr.elsewhen(e.what == "the low end of a range"):
            with hr.each(self.m.range(bad, 9)) as it:  # the low end of a range
                total.set(it.value)
        with hr.elsewhen(e.what == "the high end of a range"):
            with hr.each(self.m.range(0, bad)) as it:  # the high end of a range
                total.set(it.value)
        with hr.elsewhen(e.what == "the second turn of a loop"):
            with hr.each(self.xs) as it:
                it.set(0)
                with hr.when(it.index > 0):
                    it.set(bad)  # the second turn of a loop
        with hr.elsewhen(e.what == "the value of an entry in a loop"):
            with hr.each(self.m, reverse=True) as it:
                it.set(bad)  # the value of an entry in a loop
        with hr.elsewhen(e.what == "after a removal in a loop"):
            with hr.each(self.m) as it:
                it.remove()
            self.xs.clear()
            self.n.set(bad)  # after a removal in a loop
        with hr.elsewhen(e.what == "after everything was cleared"):
            self.n.clear()
            self.brief.clear()
            self.xs.clear()
            self.m.clear()
            self.sum.clear()
            self.seen.clear()
            self.alarm.clear()
            self.alarms.clear(e.v)
            hr.emit(n=bad, size=0)  # after everything was cleared
        with hr.elsewhen(e.what == "a column"):
            hr.emit(n=1, size=bad)  # a column
        with hr.elsewhen(e.what == "a column of another output"):
            self.side.emit(n=bad)  # a column of another output
        with hr.elsewhen(e.what == "the reason of a rejection"):
            hr.reject(bad.cast("string"))  # the reason of a rejection

    def tell(self):
        entries = hr.let(hr.lit(""), "string")
        with hr.each(self.m) as it:
            entries.set(hr.f.concat(entries.get(), it.key, hr.lit("="), it.value, hr.lit(" ")))
        self.report.emit(
            brief=self.brief.get(),
            xs=self.xs.get(),
            entries=entries.get(),
            sum=self.sum.get(),
            seen=self.seen.get(),
            alarms=hr.f.array(self.alarm.at(), self.alarms.at(1), self.alarms.at(2), self.alarms.at(3)),
        )

    def on_alarm(self, at):
        pass

    def on_alarms(self, at, of):
        pass


LINES, FIRST = inspect.getsourcelines(Everywhere)
PLACES = {text.split("  # ")[1].strip(): FIRST + n for n, text in enumerate(LINES) if "  # " in text}


REPORT = "brief int, xs array<int>, entries string, sum bigint, seen array<int>, alarms array<timestamp>"


def everywhere(failure: str) -> Any:
    return traced(
        Everywhere(FAILURES[failure][0]),
        inputs={"event": "v int, what string, ts timestamp"},
        outputs={"main": "n int, size bigint", "side": "n int", "report": REPORT},
        order="arrival",
    )


@pytest.mark.parametrize("failure", FAILURES)
def test_every_place(spark: SparkSession, failure: str) -> None:
    assert set(PLACES) == set(re.findall(r'e\.what == "(.+)"', "".join(LINES)))
    p = everywhere(failure)
    good = [row(n * SECOND, v=n, what="") for n in (1, 2, 3)]
    bad = [row(2 * SECOND, v=2, what=place) for place in PLACES]
    # in the epoch of the good rows, and in one in which all that is kept comes out of the store
    for epochs, clean_epochs in (
        ([epoch(*good[:2], *bad, good[2])], [epoch(*good)]),
        ([epoch(*good[:2]), *(epoch(b) for b in bad), epoch(good[2])], [epoch(*good[:2]), epoch(good[2])]),
    ):
        tried = trial(spark, p, *epochs)
        clean = trial(spark, p, *clean_epochs)
        assert tried.all() == clean.all() == [(4, 1), (5, 2), (6, 3)]
        assert tried.all("side") == [4, 5, 6]
        # after each good row, also after the bad ones, all that is kept is as it would be without them
        assert tried.all("report") == clean.all("report")
        assert [(one["value"], one["alarm"]) for one in tried.state] == [(one["value"], one["alarm"]) for one in clean.state]
        reasons = [reason for reason, _ in tried.dead()]
        assert [int(reason.rpartition(":")[2]) for reason in reasons] == list(PLACES.values())
        assert {reason for reason in reasons if not reason.startswith(FAILURES[failure][1])} == set()
        assert all("test_failures.py:" in reason for reason in reasons)
        assert sum(counts.get("event.dead", 0) for counts in tried.counts) == len(PLACES)


class Handlers(hr.Program):
    """Fails in each kind of handler where the value is 13."""

    n = hr.Value("int", default=0)
    m = hr.Map("int", "int")
    rules = hr.Broadcast("int", "int")
    alarm = hr.Timer()
    alarms = hr.Timer(key="int")

    def on_event(self, e):
        self.alarm.set(e.ts + hr.seconds(1))
        self.alarms.set(e.ts + hr.seconds(2), e.v)
        self.fail("event", e.v)

    def on_late(self, e):
        self.fail("late", e.v)

    def on_other(self, o):
        self.fail("other", o.v)

    def on_rules(self, r):
        self.rules.set(r.v, r.v)
        self.rules.set(1, 100 / (r.v - 13))

    def on_alarm(self, at):
        self.fail("alarm", self.n.get())

    def on_alarms(self, at, v):
        self.fail("alarms", v)

    def fail(self, where, v):
        self.n.set(v)
        self.m.set(v, v)
        hr.emit(where=where, v=v, quotient=hr.expr("CAST(100 AS int)") / (v - 13), rule=self.rules.get(1))


def test_every_handler(spark: SparkSession) -> None:
    p = traced(
        Handlers,
        inputs={"event": "v int, ts timestamp", "other": "v int, ts timestamp", "rules": "v int, ts timestamp"},
        outputs={"main": "where string, v int, quotient double, rule double"},
        broadcast=("rules",),
    )
    epochs = [
        epoch(row(0, None, "rules", v=3), row(1, None, "rules", v=13)),
        epoch(row(10 * SECOND, v=3), row(20 * SECOND, v=13), row(30 * SECOND, "a", "other", v=13), watermark=5 * SECOND),
        epoch(row(4 * SECOND, v=13), row(40 * SECOND, "a", "other", v=5), watermark=25 * SECOND),
        epoch(watermark=50 * SECOND),
    ]
    tried = trial(spark, p, *epochs)
    seen = [(where, v) for where, v, *_ in tried.all()]
    # the row of 13 sets no timers; the late one is handled before what is due
    assert seen == [("event", 3), ("alarm", 3), ("alarms", 3), ("other", 5)]
    assert {rule for *_, rule in tried.all()} == {-10}
    assert [raw.partition('"ts"')[0] for _, raw in tried.dead()] == ['{"v":13,'] * 4
    sites = [int(reason.rpartition(":")[2]) for reason, _ in tried.dead()]
    start = inspect.getsourcelines(Handlers)[1]
    assert len(set(sites)) == 2
    assert all(start < site < start + 40 for site in sites)
    assert [sum(c.get(f"{side}.dead", 0) for c in tried.counts) for side in ("event", "other", "rules")] == [2, 1, 1]
