"""Cells that expire: what a row of a later time no longer sees, in whatever epochs, and that nothing is left of it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

import headrace as hr
from tests.spark.kernel.trial import SECOND, epoch, row, traced, trial

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OUT = {"main": "value int, total bigint, xs array<int>, keys array<int>, first int"}
SPAN = 10


class Brief(hr.Program):
    """Emits what is there, then sets everything anew, or takes things away, or fails."""

    value = hr.Value("int", expires="10 seconds")
    total = hr.Aggregate("sum(x)", "x int", expires="10 seconds")
    xs = hr.List("int", expires="10 seconds")
    m = hr.Map("int", "int", expires="10 seconds")

    def on_event(self, e):
        keys = hr.let(hr.expr("array()"), "array<int>")
        with hr.each(self.m) as it:
            keys.set(hr.f.array_append(keys.get(), it.key))
        hr.emit(value=self.value.get(), total=self.total.get(), xs=self.xs.get(), keys=keys.get(), first=self.m.first().value)
        with hr.when(e.v == 0):
            self.m.remove(self.m.first().key)
            self.value.clear()
            with hr.each(self.xs) as it:
                with hr.when(it.index == 0):
                    it.set(-1)
        with hr.otherwise():
            self.value.set(e.v)
            self.total.add(x=e.v)
            self.xs.append(e.v)
            self.m.set(e.v % 5, e.v)
        with hr.when(e.v == 13):
            hr.reject("no")


def model(rows: list[tuple[int, int]]) -> list[Any]:
    """Rows are times and values."""
    value: tuple[int, int] | None = None
    total: tuple[int, int] | None = None
    xs: list[tuple[int, int]] = []
    m: dict[int, tuple[int, int]] = {}
    emitted = []
    for time, v in rows:
        value = value if value and time <= value[0] + SPAN else None
        total = total if total and time <= total[0] + SPAN else None
        xs = [x for x in xs if time <= x[0] + SPAN]
        m = {k: x for k, x in m.items() if time <= x[0] + SPAN}
        first = m[min(m)][1] if m else None
        if v != 13:  # what a failing row emits is not sent
            emitted.append((value and value[1], total and total[1], [x for _, x in xs], sorted(m), first))
        if v == 0:
            if m:
                del m[min(m)]
            value = None
            if xs:
                xs[0] = (time, -1)
        elif v != 13:
            value = (time, v)
            total = (time, v + (total[1] if total else 0))
            xs.append((time, v))
            m[v % 5] = (time, v)
    return emitted


@pytest.mark.parametrize("seed", range(4))
def test_in_the_order_of_time(spark: SparkSession, seed: int) -> None:
    rng = random.Random(seed)
    rows: list[tuple[int, int]] = []
    time = 100
    for _ in range(60):
        time += rng.choice((0, 1, 1, 2, 4, 5, 9, 11))
        rows.append((time, rng.choice((0, 1, 2, 3, 7, 11, 13, 14))))
    rows.sort()  # rows of one time come by their columns
    p = traced(Brief, outputs=OUT)
    for cuts in (1, 7, 60):
        epochs = []
        for i in range(0, len(rows), cuts):
            part = rows[i : i + cuts]
            following = rows[i + cuts][0] if i + cuts < len(rows) else part[-1][0] + 1
            inputs = [row(time * SECOND, v=v) for time, v in part]
            # the watermark of an epoch is behind its rows, or just before those of the next
            epochs += [epoch(*inputs, watermark=(part[0][0] - 1) * SECOND), epoch(watermark=max(part[0][0] - 1, following - 1) * SECOND)]
        tried = trial(spark, p, *epochs, epoch(watermark=(rows[-1][0] + SPAN - 1) * SECOND))
        assert tried.all() == model(rows)
        assert tried.state != []
        tried = trial(spark, p, epoch(watermark=(rows[-1][0] + SPAN) * SECOND), state=tried.state)
        assert tried.all() == [] and tried.state == [], "what expires goes without a row"


def test_by_the_wall_clock(spark: SparkSession) -> None:
    class Recent(hr.Program):
        xs = hr.List("int", expires="10 seconds", clock="processing")
        n = hr.Value("int", expires="5 seconds", clock="processing")

        def on_event(self, e):
            hr.emit(xs=self.xs.get(), n=self.n.get())
            self.xs.append(e.v)
            self.n.set(e.v)

    p = traced(Recent, outputs={"main": "xs array<int>, n int"}, order="arrival")
    tried = trial(
        spark,
        p,
        epoch(row(None, v=1), now=100 * SECOND),
        epoch(row(None, v=2), now=105 * SECOND),
        epoch(row(None, v=3), now=111 * SECOND),
        epoch(now=116 * SECOND),
    )
    assert tried.values() == [[([], None)], [([1], 1)], [([2], None)], []]
    assert trial(spark, p, epoch(now=121 * SECOND), state=tried.state).state == []


def test_a_duration_that_is_added_counts_from_the_next_set(spark: SparkSession) -> None:
    class Before(hr.Program):
        n = hr.Value("int")
        s = hr.Value("int")

        def on_event(self, e):
            hr.emit(n=self.n.get())
            self.n.set(e.v)
            self.s.set(e.v)

    class After(Before):
        n = hr.Value("int", expires="10 seconds")

    out = {"main": "n int"}
    state = trial(spark, traced(Before, outputs=out, order="arrival"), epoch(row(SECOND, v=1), watermark=0)).state
    now = traced(After, outputs=out, order="arrival", clock="event")
    before = traced(Before, outputs=out, order="arrival")
    now |= {"layout": {"number": 2, "old": [{"number": 1, "cells": before["cells"]}]}}
    tried = trial(spark, now, epoch(row(50 * SECOND, v=2), watermark=40 * SECOND), epoch(row(61 * SECOND, v=3)), state=state)
    assert tried.values() == [[1], [None]]
