"""A census of all rows of a stream: a program without keys, and its model."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import ClassVar

import headrace as hr
from tests.models.machine import Model, Row

SCHEMA = "town string, people int, ts timestamp"


class Census(hr.Program):
    """The largest town whenever it changes, and every ten minutes how people are spread; a town not heard of for long is forgotten."""

    spread = hr.Output()

    towns = hr.Map("string", "int", expires="40 minutes")
    largest = hr.Value("string")
    every = hr.Timer()

    def on_event(self, e):
        self.towns.set(e.town, e.people)
        most = hr.let(-1)
        of = hr.let(None, "string")
        with hr.each(self.towns) as it:
            with hr.when(it.value > most.get()):
                most.set(it.value)
                of.set(it.key)
        with hr.when(hr.f.coalesce(of.get(), hr.lit("")) != hr.f.coalesce(self.largest.get(), hr.lit(""))):
            hr.emit(town=of.get(), people=most.get(), before=self.largest.get(), at=e.ts)
        self.largest.set(of.get())
        with hr.when(self.every.at().is_null()):
            self.every.set(e.ts + hr.minutes(10))

    def on_every(self, at):
        total = hr.let(0, "bigint")
        with hr.each(self.towns) as it:
            total.set(total.get() + it.value)
        with hr.each(self.towns) as it:
            with hr.when(it.value * 5 > total.get()):
                self.spread.emit(town=it.key, people=it.value, total=total.get(), at=at)
        self.every.set(at + hr.minutes(10))


@dataclass
class CensusModel(Model):
    inputs: ClassVar = {"event": (None, 2)}
    timers: ClassVar = ("every",)
    brief: ClassVar = {"towns": dt.timedelta(minutes=40)}
    towns: dict[str, tuple[int, dt.datetime]] = field(default_factory=dict)
    largest: str | None = None

    def on_event(self, row: Row) -> None:
        town, people, ts = row
        self.towns.pop(town, None)
        if people is not None:
            self.towns[town] = (people, self.now)
        most = max((people for people, _ in self.towns.values()), default=-1)
        largest = min((name for name, (people, _) in self.towns.items() if people == most), default=None)
        if largest != self.largest:
            self.emit(largest, most, self.largest, ts)
        self.largest = largest
        if self.at("every") is None:
            self.set("every", ts + dt.timedelta(minutes=10))

    def on_every(self, at: dt.datetime) -> None:
        total = sum(people for people, _ in self.towns.values())
        for town, (people, _) in self.towns.items():
            if people * 5 > total:
                self.emit(town, people, total, at, to="spread")
        self.set("every", at + dt.timedelta(minutes=10))
