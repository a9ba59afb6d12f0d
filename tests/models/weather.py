"""The weather report that was known when a flight left: a program with two inputs and its model."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import ClassVar

import headrace as hr
from tests.models.machine import Model, Row

FLIGHTS = "origin string, flight int, ts timestamp"
REPORTS = "airport string, temp double, wind int, ts timestamp"


class HourOfWeather(hr.Program):
    """Adds to each flight the last report before it, if that is not older than an hour.

    At equal times the main input comes first: a flight at 10:00 does not see the report of 10:00. A flight without a report waits for the
    next one, at most ten minutes.
    """

    temp = hr.Value("double")
    wind = hr.Value("int")
    waiting = hr.Value("struct<flight int, ts timestamp>")
    old = hr.Timer()
    patience = hr.Timer()

    def on_event(self, e):
        with hr.when(self.old.at() > e.ts):
            hr.emit(origin=self.key.origin, flight=e.flight, ts=e.ts, temp=self.temp.get(), wind=self.wind.get(), how="known")
        with hr.elsewhen(self.waiting.exists()):
            hr.emit(origin=self.key.origin, flight=e.flight, ts=e.ts, temp=None, wind=None, how="crowded")
        with hr.otherwise():
            self.waiting.set(hr.struct(flight=e.flight, ts=e.ts))
            self.patience.set(e.ts + hr.minutes(10))

    def on_weather(self, report):
        self.temp.set(report.temp)
        self.wind.set(report.wind)
        self.old.set(report.ts + hr.hours(1))
        waiting = self.waiting.get()
        with hr.when(waiting.is_not_null()):
            hr.emit(origin=self.key.origin, flight=waiting.flight, ts=waiting.ts, temp=report.temp, wind=report.wind, how="waited")
            self.waiting.clear()
            self.patience.clear()

    def on_old(self, at):
        self.temp.clear()
        self.wind.clear()

    def on_patience(self, at):
        waiting = self.waiting.get()
        hr.emit(origin=self.key.origin, flight=waiting.flight, ts=waiting.ts, temp=self.temp.get(), wind=None, how="in vain")
        self.waiting.clear()


@dataclass
class WeatherModel(Model):
    inputs: ClassVar = {"event": (0, 2), "weather": (0, 3)}
    timers: ClassVar = ("old", "patience")
    temp: float | None = None
    wind: int | None = None
    waiting: tuple[int | None, dt.datetime] | None = None

    def on_event(self, row: Row) -> None:
        _, flight, ts = row
        old = self.at("old")
        if old is not None and old > ts:
            self.emit(self.key, flight, ts, self.temp, self.wind, "known")
        elif self.waiting is not None:
            self.emit(self.key, flight, ts, None, None, "crowded")
        else:
            self.waiting = (flight, ts)
            self.set("patience", ts + dt.timedelta(minutes=10))

    def on_weather(self, row: Row) -> None:
        _, self.temp, self.wind, ts = row
        self.set("old", ts + dt.timedelta(hours=1))
        if self.waiting is not None:
            self.emit(self.key, *self.waiting, self.temp, self.wind, "waited")
            self.waiting = None
            self.clear("patience")

    def on_old(self, at: dt.datetime) -> None:
        self.temp = self.wind = None

    def on_patience(self, at: dt.datetime) -> None:
        assert self.waiting is not None
        self.emit(self.key, *self.waiting, self.temp, None, "in vain")
        self.waiting = None
