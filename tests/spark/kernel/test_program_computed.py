"""Cells that are computed from those of the version before: the same whatever versions a key was worked on in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import headrace as hr
from headrace.spark.compile.layout import Cell, Layout, first, follow
from tests.spark.kernel.trial import SECOND, Json, epoch, row, traced, trial

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OUT = {"main": "seen string"}


def versions(*programs: Any, order: str = "arrival", **more: Any) -> list[Json]:
    """Programs one after the other, each as the query document tells it behind those before."""
    layouts: tuple[Layout, ...] = ()
    operators = []
    for program in programs:
        operator = traced(program, outputs=OUT, order=order, **more)
        cells = [
            Cell(c["name"], c["kind"], c["type"], c.get("was"), key=c.get("key"), sql=c.get("sql"), computed=c.get("computed"))
            for c in operator["cells"]
        ]
        layouts = follow(layouts, cells) if layouts else (first(cells),)
        *old, now = layouts
        described = [{**cell.to_json(), "site": f"job.py:{number}"} for number, cell in enumerate(now.cells, 1)]
        operators.append({**operator, "cells": described, "layout": {"number": now.number, "old": [one.to_json() for one in old]}})
    return operators


class First(hr.Program):
    """Keeps this or that, as the row says."""

    a = hr.Value("int")
    b = hr.Value("int")
    gone = hr.Value("string")
    t = hr.Timer()
    xs = hr.List("int")

    def on_event(self, e):
        with hr.when(e.v.is_in(1, 2)):
            self.a.set(e.v + 2147483640)
        with hr.when(e.v.is_in(1, 4)):
            self.b.set(e.v)
        with hr.when(e.v == 3):
            self.xs.append(e.v)
        with hr.when(e.v.is_in(1, 5)):
            self.gone.set("x")
        with hr.when(e.v.is_in(1, 6)):
            self.t.set(e.ts + hr.days(1))
        hr.emit(seen="")

    def on_t(self, at):
        hr.emit(seen="t")


class Second(hr.Program):
    """What is in it is computed over the narrower columns of the first: b + 2147483640 would not fit there."""

    a = hr.Value("bigint")
    sum = hr.Value("bigint", was=hr.expr("CAST(a AS bigint)") + hr.col("b"))
    word = hr.Value("string", was=hr.f.concat(hr.lit("w"), hr.col("b")))
    later = hr.Timer(was=hr.col("t") + hr.seconds(1))
    xs = hr.List("int")

    def on_event(self, e):
        hr.emit(seen="")

    def on_later(self, at):
        hr.emit(seen="later")


class Third(hr.Program):
    """One is renamed and wider, one has the name of another and another type, two are gone."""

    total = hr.Value("decimal(20,1)", was="sum")
    a = hr.Value("string", was=hr.expr("concat('a', a)"))
    e = hr.Value("int", was=hr.f.coalesce(hr.f.length("word"), hr.lit(-1)))
    later = hr.Timer()

    def on_event(self, e):
        hr.emit(seen="")

    def on_later(self, at):
        hr.emit(seen="later")


class Fourth(hr.Program):
    twice = hr.Value("decimal(22,1)", was=hr.col("total") * 2)
    a = hr.Value("string", was=hr.expr("concat('a', a)"))
    n = hr.Value("int", was=hr.expr("coalesce(e, 0) + 100"))
    later = hr.Timer()
    at = hr.Value("timestamp", was=hr.col("later"))

    def on_event(self, e):
        cells = {name: getattr(self, name).get() for name in ("twice", "a", "n", "at")}
        hr.emit(seen=hr.f.to_json(hr.struct(**cells, later=self.later.at())))

    def on_later(self, at):
        hr.emit(seen="later")


def test_every_way_through_the_versions_gives_the_same(spark: SparkSession) -> None:
    all_of_them = versions(First, Second, Third, Fourth)
    keys = "abcdefg"
    next_epoch = epoch(*(row(3 * SECOND, key, v=0) for key in keys))
    begun = trial(spark, all_of_them[0], epoch(*(row(SECOND, key, v=v) for v, key in enumerate(keys)))).state
    values_by_way = {}
    for way in ((), (1,), (2,), (1, 2)):
        state = begun
        for version in way:
            state = trial(spark, all_of_them[version], next_epoch, state=state).state
        values_by_way[way] = dict(zip(keys, trial(spark, all_of_them[3], next_epoch, state=state).values()[0], strict=True))
    assert values_by_way[()] == {
        "a": "{}",
        "b": '{"twice":4294967284.0,"a":"a2147483641","n":102,"at":"1970-01-02T00:00:02.000Z","later":"1970-01-02T00:00:02.000Z"}',
        "c": '{"a":"a2147483642","n":99}',
        "d": '{"n":99}',
        "e": '{"n":102}',
        "f": "{}",
        "g": '{"n":99,"at":"1970-01-02T00:00:02.000Z","later":"1970-01-02T00:00:02.000Z"}',
    }
    assert [values_by_way[way] for way in values_by_way] == [values_by_way[()]] * 4


def test_a_computed_timer_rings(spark: SparkSession) -> None:
    one, two = versions(First, Second)
    begun = trial(spark, one, epoch(row(SECOND, v=6), row(SECOND, "b", v=6))).state
    day = 86_400 * SECOND
    tried = trial(spark, two, epoch(row(2 * SECOND, v=0)), epoch(watermark=day + SECOND), epoch(watermark=day + 2 * SECOND), state=begun)
    # b was woken by the alarm of the timer it had, and that is how its new one came to be known
    assert tried.values() == [[""], [], ["later", "later"]]
    assert tried.state == []


class Failing(hr.Program):
    """Computes for one key what cannot be computed."""

    a = hr.Value("int")
    ratio = hr.Value("double", was=hr.expr("1 / (a - 2147483642)"))

    def on_event(self, e):
        hr.emit(seen=self.ratio.get().cast("string"))


class Without(hr.Program):
    a = hr.Value("int")
    half = hr.Value("double", was=hr.expr("a / 2"))

    def on_event(self, e):
        hr.emit(seen=self.half.get().cast("string"))


def test_what_cannot_be_computed_stops_the_job(spark: SparkSession) -> None:
    one, failing, without = versions(First, Failing, Without)
    begun = trial(spark, one, epoch(row(SECOND, v=1), row(SECOND, "b", v=2))).state
    assert trial(spark, failing, epoch(row(2 * SECOND, v=0)), state=begun).values() == [["-1.0"]]
    message = r"p: the first value of the cell ratio, `1 / \(a - 2147483642\)`, fails for the key \{\"k\":\"b\"\}: \[DIVIDE_BY_ZERO\]"
    with pytest.raises(Exception, match=message):
        trial(spark, failing, epoch(row(2 * SECOND, "b", v=0)), state=begun)
    # who never saw it does not need it
    assert trial(spark, without, epoch(row(2 * SECOND, "b", v=0)), state=begun).values() == [["1.073741821E9"]]


class Shared(hr.Program):
    n = hr.Value("int")
    rules = hr.Broadcast("string", "int")

    def on_rules(self, r):
        self.rules.set(r.name, r.most)

    def on_event(self, e):
        self.n.set(e.v)
        hr.emit(seen="")


class SharedLater(Shared):
    m = hr.Value("int", was=hr.f.coalesce("n", hr.lit(0)) + 5)
    wake = hr.Timer(was=hr.expr("TIMESTAMP '1970-01-01 00:00:02'"))

    def on_event(self, e):
        hr.emit(seen=hr.f.concat_ws(hr.lit(" "), self.m.get(), self.rules.get("x"), self.rules.size()))

    def on_wake(self, at):
        hr.emit(seen=hr.f.concat(hr.lit("woken "), self.key.k))


def test_what_all_keys_share_has_no_such_cells(spark: SparkSession) -> None:
    one, two = versions(
        Shared,
        SharedLater,
        inputs={"event": "v int, ts timestamp", "rules": "name string, most int, ts timestamp"},
        broadcast=("rules",),
        clock="event",
    )
    rule = row(SECOND, None, "rules", name="x", most=3)
    begun = trial(spark, one, epoch(rule, row(SECOND, v=7))).state
    again = row(3 * SECOND, None, "rules", name="y", most=4)
    tried = trial(spark, two, epoch(again, row(3 * SECOND, v=0)), epoch(watermark=9 * SECOND), state=begun)
    assert tried.values() == [["12 3 2"], ["woken a"]]


class Holds(hr.Program):
    n = hr.Value("int")

    def on_event(self, e):
        self.n.set(e.v)
        hr.emit(seen="")


class HoldsLater(hr.Program):
    n = hr.Value("int")
    m = hr.Value("int", was=hr.f.coalesce("n", 5))

    def on_event(self, e):
        hr.emit(seen=hr.f.concat(self.key.k, hr.lit(" "), hr.f.coalesce(self.m.get(), -1)))


def test_rows_that_are_held_are_no_state_to_compute_from(spark: SparkSession) -> None:
    one, two = versions(Holds, HoldsLater, order="time")
    begun = trial(
        spark, one, epoch(row(SECOND, "b", v=1)), epoch(watermark=SECOND), epoch(row(3 * SECOND, v=2), row(3 * SECOND, "b", v=3))
    ).state
    assert sorted(trial(spark, two, epoch(watermark=3 * SECOND), state=begun).values()[0]) == ["a -1", "b 1"]
