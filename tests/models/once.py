"""The first of equal messages: for ten minutes, and for ever; the programs and their models."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import ClassVar

import headrace as hr
from tests.models.machine import Model, Row

SCHEMA = "sensor string, id int, ts timestamp"


class OnceInTenMinutes(hr.Program):
    """A message is new if none like it was let through in the ten minutes before; a late one is forgotten at once."""

    again = hr.Output()

    seen = hr.Map("int", "timestamp", expires="10 minutes")
    repeated = hr.Value("int", default=0, expires="3 minutes")

    def on_event(self, e):
        first = self.seen.get(e.id)
        with hr.when(first.is_null()):
            self.seen.set(e.id, e.ts)
            hr.emit(sensor=self.key.sensor, id=e.id, ts=e.ts, repeated=self.repeated.get(), known=self.seen.size())
        with hr.otherwise():
            self.repeated.set(self.repeated.get() + 1)
            self.again.emit(sensor=self.key.sensor, id=e.id, first=first, oldest=self.seen.first().value, known=self.seen.last().key)

    def on_late(self, e):
        self.seen.remove(e.id)


@dataclass
class OnceModel(Model):
    inputs: ClassVar = {"event": (0, 2)}
    brief: ClassVar = {"seen": dt.timedelta(minutes=10), "repeated": dt.timedelta(minutes=3)}
    seen: dict[int, tuple[dt.datetime, dt.datetime]] = field(default_factory=dict)
    repeated: tuple[int, dt.datetime] | None = None

    def on_event(self, row: Row) -> None:
        _, number, ts = row
        repeated = self.repeated[0] if self.repeated else 0
        if number in self.seen:
            self.repeated = (repeated + 1, self.now)
            self.emit(self.key, number, self.seen[number][0], self.seen[min(self.seen)][0], max(self.seen), to="again")
        else:
            self.seen[number] = (ts, self.now)
            self.emit(self.key, number, ts, repeated, len(self.seen))

    def on_late(self, row: Row) -> None:
        self.seen.pop(row[1], None)


class OnceForEver(hr.Program):
    """Which messages there are, in whatever order they come."""

    seen = hr.Map("int", "boolean")

    def on_event(self, e):
        with hr.when(~self.seen.has(e.id)):
            self.seen.set(e.id, True)
            hr.emit(sensor=self.key.sensor, id=e.id)


@dataclass
class EverModel(Model):
    inputs: ClassVar = {"event": (0, 2)}
    seen: set[int] = field(default_factory=set)

    def on_event(self, row: Row) -> None:
        if row[1] not in self.seen:
            self.seen.add(row[1])
            self.emit(self.key, row[1])
