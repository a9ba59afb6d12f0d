"""Sessions: visits to pages with no pause of five minutes between them; the program and its model."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import ClassVar

import headrace as hr
from tests.models.machine import Model, Row

SCHEMA = "visitor string, page string, ts timestamp"


class Sessions(hr.Program):
    """A session is over when the timer comes that each visit sets anew; `logout` ends it at once."""

    began = hr.Value("timestamp")
    latest = hr.Value("timestamp")
    visits = hr.Value("int", default=0)
    over = hr.Timer()

    def on_event(self, e):
        with hr.when(~self.began.exists()):
            self.began.set(e.ts)
        self.latest.set(e.ts)
        self.visits.set(self.visits.get() + 1)
        with hr.when(e.page == "logout"):
            self.end(e.ts)
            self.over.clear()
        with hr.otherwise():
            self.over.set(e.ts + hr.minutes(5))

    def on_over(self, at):
        self.end(at)

    def end(self, at):
        hr.emit(visitor=self.key.visitor, began=self.began.get(), latest=self.latest.get(), visits=self.visits.get(), ended=at)
        for cell in (self.began, self.latest, self.visits):
            cell.clear()


@dataclass
class SessionsModel(Model):
    inputs: ClassVar = {"event": (0, 2)}
    timers: ClassVar = ("over",)
    visits: list[dt.datetime] = field(default_factory=list)

    def on_event(self, row: Row) -> None:
        _, page, ts = row
        self.visits.append(ts)
        if page == "logout":
            self.clear("over")
            self.on_over(ts)
        else:
            self.set("over", ts + dt.timedelta(minutes=5))

    def on_over(self, at: dt.datetime) -> None:
        self.emit(self.key, self.visits[0], self.visits[-1], len(self.visits), at)
        self.visits = []
