"""How a delay is handed from flight to flight, and aircraft that vanish: the program and its model."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import ClassVar

import headrace as hr
from tests.models.machine import Model, Row

SCHEMA = "tail string, flight int, dep_delay int, arr_delay int, ts timestamp"
LATE = 15


class DelayChain(hr.Program):
    """Flights of an aircraft that hand on a delay form a chain; one that does not fly any more is reported, again and again.

    The reminder sets itself anew, so only the last event ends it.
    """

    vanished = hr.Output()

    brought = hr.Value("int")
    length = hr.Value("int")
    inherited = hr.Value("bigint")
    recovered = hr.Value("bigint")
    reminders = hr.Value("int")
    rest = hr.Timer()
    missing = hr.Timer()

    def on_event(self, e):
        brought = self.brought.get()
        with hr.when((brought > LATE) & (e.dep_delay > LATE)):
            inherited = hr.f.least(brought, e.dep_delay)
            self.length.set(hr.f.coalesce(self.length.get(), 1) + 1)
            self.inherited.set(hr.f.coalesce(self.inherited.get(), 0) + inherited)
            self.recovered.set(hr.f.coalesce(self.recovered.get(), 0) + brought - inherited)
        with hr.elsewhen(self.length.get() > 1):
            self.end_chain(e.ts)
        self.brought.set(e.arr_delay)
        self.reminders.clear()
        self.rest.set(e.ts + hr.minutes(10))
        self.missing.set(e.ts + hr.minutes(15))

    def on_late(self, e):
        self.rest.clear()
        self.brought.set(e.arr_delay)

    def end_chain(self, at):
        hr.emit(tail=self.key.tail, length=self.length.get(), inherited=self.inherited.get(), recovered=self.recovered.get(), at=at)
        for cell in (self.length, self.inherited, self.recovered):
            cell.clear()

    def on_rest(self, at):
        with hr.when(self.length.exists()):
            self.end_chain(at)
        self.brought.clear()

    def on_missing(self, at):
        n = hr.f.coalesce(self.reminders.get(), 0) + 1
        self.reminders.set(n)
        self.vanished.emit(tail=self.key.tail, n=n, at=at)
        self.missing.set(at + hr.minutes(5))


@dataclass
class DelayModel(Model):
    inputs: ClassVar = {"event": (0, 4)}
    timers: ClassVar = ("rest", "missing")
    brought: int | None = None
    length: int | None = None
    inherited: int = 0
    recovered: int = 0
    reminders: int = 0

    def on_event(self, row: Row) -> None:
        _, _, dep_delay, arr_delay, ts = row
        if self.brought is not None and self.brought > LATE and dep_delay is not None and dep_delay > LATE:
            self.length = (self.length or 1) + 1
            self.inherited += min(self.brought, dep_delay)
            self.recovered += self.brought - min(self.brought, dep_delay)
        elif self.length is not None:
            self.end_chain(ts)
        self.brought = arr_delay
        self.reminders = 0
        self.set("rest", ts + dt.timedelta(minutes=10))
        self.set("missing", ts + dt.timedelta(minutes=15))

    def on_late(self, row: Row) -> None:
        self.clear("rest")
        self.brought = row[3]

    def end_chain(self, at: dt.datetime) -> None:
        self.emit(self.key, self.length, self.inherited, self.recovered, at)
        self.length, self.inherited, self.recovered = None, 0, 0

    def on_rest(self, at: dt.datetime) -> None:
        if self.length is not None:
            self.end_chain(at)
        self.brought = None

    def on_missing(self, at: dt.datetime) -> None:
        self.reminders += 1
        self.emit(self.key, self.reminders, at, to="vanished")
        self.set("missing", at + dt.timedelta(minutes=5))
