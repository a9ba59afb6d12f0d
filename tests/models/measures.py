"""Aggregates of Spark as cells, that are cleared, expire and are undone; the program and its model."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import ClassVar

import headrace as hr
from tests.models.machine import Model, Rejected, Row

SCHEMA = "place string, value int, ts timestamp"


class Measures(hr.Program):
    """All values since the last 0, their middle, and the sum of those with no pause of four minutes before. More than 2 zeros is an error."""

    all = hr.Aggregate("collect_list(value)", "value int")
    middle = hr.Aggregate("percentile(value, 0.5)", "value int")
    recent = hr.Aggregate("sum(value)", "value int", expires="4 minutes")
    latest = hr.Aggregate("max_by(value, at)", "value int, at timestamp")
    zeros = hr.Aggregate("count(*)", "value int")
    report = hr.Timer()

    def on_event(self, e):
        for cell in (self.all, self.middle, self.recent):
            cell.add(value=e.value)
        self.latest.add(value=e.value, at=e.ts)
        with hr.when(e.value == 0):
            self.all.clear()
            self.middle.clear()
            self.zeros.add(e)
            with hr.when(self.zeros.get() > 2):
                self.zeros.clear()
                hr.reject("zero again")
        self.report.set(e.ts + hr.minutes(3))

    def on_late(self, e):
        self.zeros.clear()

    def on_report(self, at):
        hr.emit(
            place=self.key.place,
            all=self.all.get(),
            middle=self.middle.get(),
            recent=self.recent.get(),
            any=self.recent.exists(),
            latest=self.latest.get(),
            zeros=self.zeros.get(),
            at=at,
        )
        self.report.set(at + hr.minutes(2))


@dataclass
class MeasuresModel(Model):
    inputs: ClassVar = {"event": (0, 2)}
    timers: ClassVar = ("report",)
    brief: ClassVar = {"recent": dt.timedelta(minutes=4)}
    all: list[int] = field(default_factory=list)
    recent: tuple[int | None, dt.datetime] | None = None
    latest: tuple[dt.datetime, int | None] | None = None
    zeros: int = 0

    def on_event(self, row: Row) -> None:
        _, value, ts = row
        if value == 0 and self.zeros == 2:
            raise Rejected("zero again")
        so_far = self.recent[0] if self.recent else None
        self.recent = (so_far if value is None else (so_far or 0) + value, self.now)
        if self.latest is None or ts >= self.latest[0]:
            self.latest = (ts, value)
        if value == 0:
            self.all = []
            self.zeros += 1
        elif value is not None:
            self.all.append(value)
        self.set("report", ts + dt.timedelta(minutes=3))

    def on_late(self, row: Row) -> None:
        self.zeros = 0

    def on_report(self, at: dt.datetime) -> None:
        sorted_all, n = sorted(self.all), len(self.all)
        middle = (sorted_all[(n - 1) // 2] + sorted_all[n // 2]) / 2 if n else None
        latest = self.latest[1] if self.latest else None
        self.emit(
            self.key, tuple(self.all), middle, self.recent[0] if self.recent else None, self.recent is not None, latest, self.zeros, at
        )
        self.set("report", at + dt.timedelta(minutes=2))
