"""State written by an earlier version of a program: cells added, removed, widened and renamed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import headrace as hr
from tests.spark.kernel.trial import SECOND, Json, emit, epoch, on, program, put, read, row, timer, traced, trial

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def first() -> Json:
    return program(
        on("event", put("n", "e.v"), put("s", "concat('s', e.v)"), put("gone", "e.v"), put("t", "e.ts + INTERVAL '9' SECOND")),
        cells={"n": "int", "s": "string", "gone": "double"},
        timers=("t",),
        order="arrival",
    )


OLD = {
    "number": 1,
    "cells": [
        {"id": 1, "kind": "value", "type": "int"},
        {"id": 2, "kind": "value", "type": "string"},
        {"id": 3, "kind": "value", "type": "double"},
        {"id": 4, "kind": "timer", "type": "timestamp"},
    ],
}


def second() -> Json:
    """`n` is widened, `s` is renamed, `gone` is removed, `more` is added, and the order is another one."""
    cells = ("text", "more", "n")
    return program(
        on(
            "event",
            *(read(f"{c}__1", c) for c in cells),
            read("t__1", "t"),
            emit(n="n__1", text="text__1", more="more__1", t="date_format(t__1, 'ss')"),
            put("more", "date'2024-01-01'"),
        ),
        timer("t", emit(n="0", text="'fired'", more="NULL", t="date_format(at, 'ss')")),
        cells={"text": "string", "more": "date", "n": "decimal(20,1)"},
        timers=("t",),
        ids={"text": 2, "more": 5, "n": 1, "t": 4},
        layout={"number": 2, "old": [OLD]},
        outputs={"main": "n decimal(20,1), text string, more date, t string"},
        order="arrival",
    )


def test_cells_added_removed_widened_renamed(spark: SparkSession) -> None:
    old = trial(spark, first(), epoch(row(SECOND, v=7), row(SECOND, "b", v=8))).state
    new = trial(spark, second(), epoch(row(2 * SECOND, v=0)), epoch(row(3 * SECOND, v=0)), epoch(watermark=10 * SECOND), state=old)
    assert new.values() == [
        [(7.0, "s7", None, "10")],
        [(7.0, "s7", "2024-01-01", "10")],
        [(0.0, "fired", None, "10"), (0.0, "fired", None, "10")],
    ]
    # The key that has not changed since is still read, once more, through the old layout.
    assert trial(spark, second(), epoch(row(2 * SECOND, "b", v=0)), state=old).values() == [[(8.0, "s8", None, "10")]]


def test_a_removed_timer_leaves_the_others_their_alarm(spark: SparkSession) -> None:
    def version(timers: dict[str, int], layout: Json) -> Json:
        sets = (put(t, f"e.ts + INTERVAL '{seconds}' SECOND") for t, seconds in (("early", 2), ("late", 5)) if t in timers)
        fires = (timer(t, emit(what=f"'{t}'")) for t in timers)
        return program(
            on("event", *sets), *fires, timers=tuple(timers), ids=timers, layout=layout, outputs={"main": "what string"}, order="arrival"
        )

    old = {"number": 1, "cells": [{"id": 1, "kind": "timer", "type": "timestamp"}, {"id": 2, "kind": "timer", "type": "timestamp"}]}
    state = trial(spark, version({"early": 1, "late": 2}, {"number": 1, "old": []}), epoch(row(SECOND, v=1))).state
    new = version({"late": 2}, {"number": 2, "old": [old]})
    tried = trial(spark, new, epoch(watermark=3 * SECOND), epoch(watermark=6 * SECOND), state=state)
    assert tried.values() == [[], ["late"]]
    assert [k["value"] for k in tried.state] == []


def test_only_removed_cells_leave_nothing(spark: SparkSession) -> None:
    old = trial(spark, program(on("event", put("n", "e.v")), cells={"n": "int"}, order="arrival"), epoch(row(1, v=1))).state
    new = program(
        on("event"),
        cells={"m": "int"},
        ids={"m": 2},
        layout={"number": 2, "old": [{"number": 1, "cells": [{"id": 1, "kind": "value", "type": "int"}]}]},
        order="arrival",
    )
    assert trial(spark, new, epoch(row(2, v=1)), state=old).state == []


class Both(hr.Program):
    """Two lists, and later only one of them, by another name."""

    xs = hr.List("int")
    ys = hr.List("int")

    def on_event(self, e):
        self.xs.append(e.v)
        self.ys.append(-e.v)
        hr.emit(kept=self.ys.get())


class One(hr.Program):
    zs = hr.List("int", was="ys")

    def on_event(self, e):
        self.zs.append(e.v)
        hr.emit(kept=self.zs.get())


def test_a_removed_list_goes_with_its_pages(spark: SparkSession) -> None:
    outputs = {"main": "kept array<int>"}
    state = trial(spark, traced(Both, outputs=outputs, order="arrival"), epoch(row(1, v=1), row(2, v=2))).state
    assert {cell for cell, _, _ in state[0]["pages"]} == {1, 2}
    now = traced(One, outputs=outputs, order="arrival")
    cells = [{"id": 1, "kind": "list", "type": "int"}, {"id": 2, "kind": "list", "type": "int"}]
    now = now | {"layout": {"number": 2, "old": [{"number": 1, "cells": cells}]}, "cells": [now["cells"][0] | {"id": 2}]}
    tried = trial(spark, now, epoch(row(3, v=3)), state=state)
    assert tried.values() == [[[-1, -2, 3]]]
    assert {cell for cell, _, _ in tried.state[0]["pages"]} == {2}


def test_a_newer_layout_is_refused(spark: SparkSession) -> None:
    state = trial(spark, first() | {"layout": {"number": 3, "old": []}}, epoch(row(SECOND, v=7))).state
    with pytest.raises(Exception, match="the state of p was written in layout 3; this version of the job knows 1, 2"):
        trial(spark, second(), epoch(row(2 * SECOND, v=0)), state=state)


def test_the_mark_of_a_timer_set_by_a_timer_is_kept(spark: SparkSession) -> None:
    """It must be known in the flush, whatever layout it was written in."""

    def version(cells: dict[str, str], layout: Json) -> Json:
        return program(
            on("event", put("t", "e.ts")),
            timer("t", emit(v="CAST(unix_seconds(at) AS int)"), put("t", "at + INTERVAL '5' SECOND")),
            cells=cells,
            timers=("t",),
            ids={"t": 7, "x": 8},
            layout=layout,
        )

    before = version({}, {"number": 1, "old": []})
    after = version({"x": "int"}, {"number": 2, "old": [{"number": 1, "cells": [{"id": 7, "kind": "timer", "type": "timestamp"}]}]})
    held = trial(spark, before, epoch(row(SECOND, v=1)), epoch(watermark=SECOND)).state
    for p in (before, after):
        assert trial(spark, p, epoch(flush=5 * SECOND), state=held).values() == [[]]
        assert trial(spark, p, epoch(flush=6 * SECOND), state=held).values() == [[6]]
