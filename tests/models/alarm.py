"""Machines that fall silent: alarms that re-arm themselves, and what they find when cells have expired; the program and its model."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import ClassVar

import headrace as hr
from tests.models.machine import Model, Rejected, Row

SCHEMA = "machine string, load int, ts timestamp"


class Alarm(hr.Program):
    """An alarm after six minutes without a sign, and again after each further three; `check` comes at the same time, and after it.

    A check that finds a load of more than 8 fails: it leaves a dead letter, the alarm that it forgot goes on. A row with load 0 sets a
    check for the past. Loads are known for nine minutes.
    """

    checks = hr.Output()

    load = hr.Value("int", expires=hr.minutes(9))
    alarms = hr.Value("int", default=0)
    silent = hr.Timer()
    check = hr.Timer()

    def on_event(self, e):
        self.load.set(e.load)
        self.alarms.clear()
        self.silent.set(e.ts + hr.minutes(6))
        with hr.when(e.load == 0):
            self.check.set(e.ts - hr.minutes(1))
        with hr.otherwise():
            self.check.set(e.ts + hr.minutes(6))

    def on_late(self, e):
        self.load.set(-1)
        self.check.set(e.ts + hr.minutes(2))

    def on_silent(self, at):
        self.alarms.set(self.alarms.get() + 1)
        hr.emit(machine=self.key.machine, n=self.alarms.get(), load=self.load.get(), next=self.check.at(), at=at)
        self.silent.set(at + hr.minutes(3))

    def on_check(self, at):
        self.silent.clear()
        self.checks.emit(machine=self.key.machine, load=self.load.get(), alarms=self.alarms.get(), at=at)
        with hr.when(self.load.get() > 8):
            hr.reject(hr.f.concat(hr.lit("load "), self.load.get()))
        self.load.set(self.load.get() + 1)
        self.silent.set(at + hr.minutes(3))
        with hr.when(self.alarms.get() < 4):
            self.check.set(at + hr.minutes(6))


@dataclass
class AlarmModel(Model):
    inputs: ClassVar = {"event": (0, 2)}
    timers: ClassVar = ("silent", "check")
    brief: ClassVar = {"load": dt.timedelta(minutes=9)}
    load: tuple[int, dt.datetime] | None = None
    alarms: int = 0

    def on_event(self, row: Row) -> None:
        _, load, ts = row
        self.load = None if load is None else (load, self.now)
        self.alarms = 0
        self.set("silent", ts + dt.timedelta(minutes=6))
        self.set("check", ts + dt.timedelta(minutes=-1 if load == 0 else 6))

    def on_late(self, row: Row) -> None:
        self.load = (-1, self.now)
        self.set("check", row[2] + dt.timedelta(minutes=2))

    def on_silent(self, at: dt.datetime) -> None:
        self.alarms += 1
        self.emit(self.key, self.alarms, self.load and self.load[0], self.at("check"), at)
        self.set("silent", at + dt.timedelta(minutes=3))

    def on_check(self, at: dt.datetime) -> None:
        load = self.load and self.load[0]
        self.emit(self.key, load, self.alarms, at, to="checks")
        if load is not None and load > 8:
            raise Rejected(f"load {load}")
        self.load = None if load is None else (load + 1, self.now)
        self.set("silent", at + dt.timedelta(minutes=3))
        if self.alarms < 4:
            self.set("check", at + dt.timedelta(minutes=6))
