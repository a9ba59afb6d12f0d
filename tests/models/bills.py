"""Bills that fall due: timers with keys that rows replace and clear and that set each other; the program and its model."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import ClassVar

import headrace as hr
from tests.models.machine import Model, Row

SCHEMA = "customer string, what string, bill int, ts timestamp"


class Bills(hr.Program):
    """A bill falls due after ten minutes, later if it is sent again; then there are reminders every four minutes, at most three."""

    ledger = hr.Output()

    reminded = hr.Map("int", "int")
    remind = hr.Timer(key="int")
    due = hr.Timer(key="int")
    account = hr.Timer()

    def on_event(self, e):
        with hr.when(e.what == "bill"):
            self.due.set(e.ts + hr.minutes(10), e.bill)
            self.remind.clear(e.bill)
            self.account.set(e.ts + hr.minutes(10))
        with hr.elsewhen(e.what == "paid"):
            self.ledger.emit(customer=self.key.customer, bill=e.bill, due=self.due.at(e.bill), reminder=self.remind.at(e.bill), at=e.ts)
            self.due.clear(e.bill)
            self.remind.clear(e.bill)
            self.reminded.remove(e.bill)
        with hr.elsewhen(e.what == "moved"):
            self.due.clear()
            self.account.clear()
        with hr.otherwise():
            # as if it had been due for long: it fires at once
            self.due.set(e.ts - hr.minutes(30), e.bill)

    def on_due(self, at, bill):
        hr.emit(customer=self.key.customer, what="due", bill=bill, n=self.reminded.get(bill), at=at)
        self.reminded.set(bill, 0)
        self.remind.set(at + hr.minutes(4), bill)

    def on_remind(self, at, bill):
        n = hr.f.coalesce(self.reminded.get(bill), 0) + 1
        hr.emit(customer=self.key.customer, what="reminder", bill=bill, n=n, at=at)
        self.reminded.set(bill, n)
        with hr.when(n < 3):
            self.remind.set(at + hr.minutes(4), bill)
            # beside it, another bill is put off
            with hr.when(self.due.at(bill + 1).is_not_null()):
                self.due.set(self.due.at(bill + 1) + hr.minutes(1), bill + 1)

    def on_account(self, at):
        hr.emit(customer=self.key.customer, what="account", bill=None, n=self.reminded.size().cast("int"), at=at)


@dataclass
class BillsModel(Model):
    inputs: ClassVar = {"event": (0, 3)}
    timers: ClassVar = ("remind", "due", "account")
    reminded: dict[int, int] = field(default_factory=dict)

    def on_event(self, row: Row) -> None:
        _, what, bill, ts = row
        if what == "bill":
            self.clear("remind", bill)
            self.set("due", ts + dt.timedelta(minutes=10), bill)
            self.set("account", ts + dt.timedelta(minutes=10))
        elif what == "paid":
            self.emit(self.key, bill, self.at("due", bill), self.at("remind", bill), ts, to="ledger")
            self.clear("due", bill)
            self.clear("remind", bill)
            self.reminded.pop(bill, None)
        elif what == "moved":
            self.clear_all("due")
            self.clear("account")
        else:
            self.set("due", ts - dt.timedelta(minutes=30), bill)

    def on_due(self, at: dt.datetime, bill: int) -> None:
        self.emit(self.key, "due", bill, self.reminded.get(bill), at)
        self.reminded[bill] = 0
        self.set("remind", at + dt.timedelta(minutes=4), bill)

    def on_remind(self, at: dt.datetime, bill: int) -> None:
        self.reminded[bill] = self.reminded.get(bill, 0) + 1
        self.emit(self.key, "reminder", bill, self.reminded[bill], at)
        if self.reminded[bill] < 3:
            self.set("remind", at + dt.timedelta(minutes=4), bill)
            if (later := self.at("due", bill + 1)) is not None:
                self.set("due", later + dt.timedelta(minutes=1), bill + 1)

    def on_account(self, at: dt.datetime) -> None:
        self.emit(self.key, "account", None, len(self.reminded), at)
