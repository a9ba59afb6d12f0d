"""Every kind of change that state cannot follow: refused by name, with the checkpoint and the results as they were, byte for byte."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.errors import CheckpointError
from headrace.plan import Plan
from tests.spark.engine.jobs import files, minute, put

pytestmark = pytest.mark.usefixtures("spark")

SCHEMA = "card string, amount decimal(10,2), ts timestamp, other timestamp"


class Cells(hr.Program):
    """Cells of every kind."""

    n = hr.Value("int")
    xs = hr.List("int")
    brief = hr.List("int", expires="1 hour")
    m = hr.Map("int", "string")
    total = hr.Aggregate("sum(x)", "x decimal(10,2)")
    rules = hr.Broadcast("string", "int")
    wake = hr.Timer()
    due = hr.Timer(key="int")

    def on_rules(self, r: Any) -> None:
        self.rules.set(r.card, 1)

    def on_event(self, e: Any) -> None:
        hr.emit(card=self.key.card)

    def on_wake(self, at: Any) -> None:
        hr.emit(card=self.key.card)

    def on_due(self, at: Any, of: Any) -> None:
        hr.emit(card=self.key.card)


class InTime(hr.Program):
    """Two inputs, whose rows are held."""

    last = hr.Value("int")

    def on_event(self, e: Any) -> None:
        hr.emit(card=self.key.card, at=e.ts)

    def on_prices(self, r: Any) -> None:
        hr.emit(card=self.key.card, at=r.ts)


class Alone(hr.Program):
    def on_event(self, e: Any) -> None:
        hr.emit(card=self.key.card, at=e.ts)


class Three(InTime):
    def on_more(self, r: Any) -> None:
        hr.emit(card=self.key.card, at=r.ts)


class ByTheWall(Cells):
    wake = hr.Timer(clock="processing")
    due = hr.Timer(key="int", clock="processing")
    brief = hr.List("int", expires="1 hour", clock="processing")


class OtherCells(hr.Program):
    """The same cells, but those that are given."""

    def __init__(self, **cells: Any) -> None:
        for name, cell in vars(Cells).items():
            if not name.startswith(("_", "on_")):
                setattr(self, name, cells.pop(name, cell))
        for name, cell in cells.items():
            setattr(self, name, cell)

    on_rules, on_event, on_wake, on_due = Cells.on_rules, Cells.on_event, Cells.on_wake, Cells.on_due


class OneMore(OtherCells):
    def on_n(self, at: Any) -> None:
        hr.emit(card=self.key.card)


class Pipeline:
    """The job of all tests here; each changes one thing of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.charges = self.read("charges")
        self.prices = self.read("prices")
        self.rules = self.read("rules")

    def read(self, name: str, schema: str = SCHEMA, time: str = "ts", path: str | None = None) -> hr.Stream:
        rows = hr.read.files(self.folder / (path or name), format="json", schema=schema, name=name)
        return rows.watermark(time, "5 minutes")

    def cells(self, program: Any = Cells, *, key: Any = "card", order: str = "arrival", stream: hr.Stream | None = None) -> hr.Stream:
        keyed = (stream or self.charges).key_by(key)
        return keyed.process(program, order=order, rules=hr.broadcast(self.rules)).named("cells")

    def timed(self, program: Any = InTime, *, stream: hr.Stream | None = None, order: str = "time", **inputs: Any) -> hr.Stream:
        program_inputs = inputs or {"prices": self.prices.key_by("card")}
        return (stream or self.charges).key_by("card").process(program, order=order, **program_inputs).named("timed")

    def job(self, cells: hr.Stream | None = None, timed: hr.Stream | None = None, *more: hr.Sink) -> hr.Job:
        first = (cells or self.cells()).write.files(self.folder / "out", format="json", name="out")
        second = (timed or self.timed()).write.files(self.folder / "times", format="json", name="times")
        return hr.job("sums", first, second, *more)

    def reading(self, stream: hr.Stream) -> hr.Job:
        """The job over another main input."""
        return self.job(self.cells(stream=stream), self.timed(stream=stream))


def cells(**changed: Any) -> Callable[[Pipeline], hr.Job]:
    return lambda p: p.job(p.cells(OtherCells(**changed)))


def twice(p: Pipeline) -> hr.Job:
    """`timed` behind `cells`."""
    again = p.cells().with_columns(ts="TIMESTAMP '2026-01-01 00:00:00'", amount="1.0")
    return p.job(None, again.key_by("card").process(Alone, order="arrival").named("timed"))


def other_settings(p: Pipeline) -> hr.Job:
    plan = p.job().plan.to_json()
    return hr.engine.Job(Plan.from_json({**plan, "settings": {**plan["settings"], "spark.sql.ansi.enabled": "false"}}))


CHANGES: dict[str, Callable[[Pipeline], hr.Job]] = {
    # cells
    "in cells, the cell n was int and is now smallint": cells(n=hr.Value("smallint")),
    "in cells, the cell n was int and is now string": cells(n=hr.Value("string")),
    "in cells, the cell n was a value and is now a list": cells(n=hr.List("int")),
    "in cells, the cell n was a value and is now a timer": lambda p: p.job(p.cells(OneMore(n=hr.Timer()))),
    "in cells, the cell xs was a list of int and is now a list of bigint": cells(xs=hr.List("bigint")),
    "in cells, the cell xs was a list of int and is now a list of int that expire": cells(xs=hr.List("int", expires="1 day")),
    "in cells, the cell brief was a list of int that expire and is now a list of int": cells(brief=hr.List("int")),
    "in cells, the cell m was a map of string by int and is now a map of string by bigint": cells(m=hr.Map("bigint", "string")),
    "in cells, the cell m was a map of string by int and is now a map of date by int": cells(m=hr.Map("int", "date")),
    "in cells, the cell total was sum(x) over x decimal(10,2) and is now max(x) over x decimal(10,2)": cells(
        total=hr.Aggregate("max(x)", "x decimal(10,2)")
    ),
    "in cells, the cell total was sum(x) over x decimal(10,2) and is now sum(x) over x decimal(12,2)": cells(
        total=hr.Aggregate("sum(x)", "x decimal(12,2)")
    ),
    "in cells, the cell rules was a map of int by string for all keys and is now a map of bigint by string for all keys": cells(
        rules=hr.Broadcast("string", "bigint")
    ),
    "in cells, the cell wake was a timer and is now a timer by int": lambda p: p.job(p.cells(Keyed(wake=hr.Timer(key="int")))),
    "in cells, the cell due was a timer by int and is now a timer by string": cells(due=hr.Timer(key="string")),
    "in cells, the cell also was a list and is now a value": lambda p: p.job(p.cells(Renamed())),
    # keys, order, time
    "the key of cells is computed differently for its input event": lambda p: p.job(p.cells(key=hr.expr("upper(card)").alias("card"))),
    "cells is now keyed by card decimal(10,2) instead of card string": lambda p: p.job(p.cells(key=hr.col("amount").alias("card"))),
    'cells has order="time" instead of "arrival"': lambda p: p.job(p.cells(order="time")),
    'timed has order="arrival" instead of "time"': lambda p: p.job(None, p.timed(order="arrival")),
    # a query of its own then, as it has another clock
    "the source rules is gone in query main": lambda p: p.job(p.cells(ByTheWall)),
    # what is held
    "timed has the new input more": lambda p: p.job(None, p.timed(Three, prices=p.prices.key_by("card"), more=p.rules.key_by("card"))),
    "timed no longer has the input prices, whose rows it may hold": lambda p: p.job(
        None, p.charges.key_by("card").process(Alone, order="time").named("timed")
    ),
    "timed may hold rows of its input event, which had the columns card string, amount decimal(10,2), ts timestamp, other timestamp and now has card string, ts timestamp, other timestamp": (
        lambda p: p.job(None, p.timed(stream=p.charges.drop("amount")))
    ),
    "the input event of timed takes its event time from elsewhere": lambda p: p.reading(p.read("charges", time="other")),
    # levels, sources, queries
    "query main had 1 level of operators with state and now has 2": twice,
    "the source charges is gone and the source others is new in query main": lambda p: p.reading(p.read("others", path="charges")),
    "the source more is new in query main": lambda p: p.job(p.cells(stream=p.charges.union(p.read("more", path="charges")))),
    # the whole
    "settings that affect results differ from those of the checkpoint: spark.sql.ansi.enabled was true and is false": other_settings,
}


class Keyed(OtherCells):
    def on_wake(self, at: Any, of: Any) -> None:  # type: ignore[override]
        hr.emit(card=self.key.card)


class Renamed(OtherCells):
    """A value that says it was a list."""

    def __init__(self) -> None:
        super().__init__(also=hr.Value("int", was="xs"))
        del self.xs


def test_changes_that_are_refused_touch_nothing(tmp_path: Path) -> None:
    for name in ("charges", "prices", "rules"):
        put(tmp_path / name, "1.json", [("a", "1.00", minute(number)) for number in (1, 2)])
    Pipeline(tmp_path).job().run(checkpoint=tmp_path / "state", flush=False)
    put(tmp_path / "charges", "2.json", [("a", "2.00", minute(3))])
    before = files(tmp_path)
    unlike = {}
    for expected, change in CHANGES.items():
        changed = change(Pipeline(tmp_path))
        with pytest.raises(CheckpointError) as refused:
            changed.run(checkpoint=tmp_path / "state", flush=False)
        if expected not in str(refused.value):  # all that is in the way is told at once
            unlike[expected] = str(refused.value)
        assert files(tmp_path) == before, expected
    assert not unlike, "\n".join(f"{expected}: {message}" for expected, message in unlike.items())
    # and what was not changed goes on
    summary = Pipeline(tmp_path).job().run(checkpoint=tmp_path / "state")
    assert {one.program: one.rows_in for one in summary.inputs if one.input == "event"} == {"cells": 3, "timed": 3}


def test_queries_that_change_places_touch_nothing(tmp_path: Path) -> None:
    """Views that share no source are queries of their own, and each counts its own epochs."""
    for name in ("charges", "prices", "rules"):
        put(tmp_path / name, "1.json", [("a", "1.00", minute(1))])

    def jobs(p: Pipeline, *, crossed: bool = False, joined: bool = False) -> hr.Job:
        one = p.charges.key_by("card").process(Alone, order="arrival").named("one")
        two = (p.charges if joined else p.prices).key_by("card").process(Alone, order="arrival").named("two")
        first, second = (two, one) if crossed else (one, two)
        return hr.job(
            "two",
            first.write.files(p.folder / "first", format="json", name="first"),
            second.write.files(p.folder / "second", format="json", name="second"),
        )

    jobs(Pipeline(tmp_path)).run(checkpoint=tmp_path / "state", flush=False)
    before = files(tmp_path)
    for pattern, changed in {
        r"the sink \w+ was written by query \w+ and would now be written by query \w+": jobs(Pipeline(tmp_path), crossed=True),
        r"the queries \w+ and \w+ were merged": jobs(Pipeline(tmp_path), joined=True),
    }.items():
        with pytest.raises(CheckpointError) as refused:
            changed.run(checkpoint=tmp_path / "state", flush=False)
        assert re.search(pattern, refused.value.message), refused.value.message
        assert files(tmp_path) == before
