"""The life of an order: a state machine that rejects the steps it does not know; the program and its model."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import ClassVar

import headrace as hr
from tests.models.machine import Model, Rejected, Row

SCHEMA = "number string, step string, ts timestamp"
AFTER = {None: "placed", "placed": "paid", "paid": "sent"}


class Order(hr.Program):
    """placed, paid, sent, and from the beginning; a payment is awaited for eight minutes, and nothing goes out within a minute of it."""

    state = hr.Value("string")
    steps = hr.List("string")
    since = hr.Value("timestamp")
    unpaid = hr.Timer()

    def on_event(self, e):
        before, since = self.state.get(), self.since.get()
        self.steps.append(e.step)
        self.state.set(e.step)
        self.since.set(e.ts)
        self.unpaid.clear()
        with hr.when((e.step == "placed") & before.is_null()):
            self.unpaid.set(e.ts + hr.minutes(8))
        with hr.elsewhen((e.step == "sent") & (before == "paid")):
            with hr.when(e.ts < since + hr.minutes(1)):
                hr.reject("too soon")
            hr.emit(number=self.key.number, steps=hr.f.concat_ws(hr.lit(","), self.steps.get()), since=since, at=e.ts)
            self.forget()
        with hr.elsewhen((e.step != "paid") | (hr.f.coalesce(before, hr.lit("nothing")) != "placed")):
            hr.reject(hr.f.concat(hr.f.coalesce(before, hr.lit("nothing")), hr.lit(" then "), e.step))

    def on_unpaid(self, at):
        hr.emit(number=self.key.number, steps="unpaid", since=self.since.get(), at=at)
        self.forget()

    def forget(self):
        for cell in (self.state, self.steps, self.since):
            cell.clear()


@dataclass
class OrderModel(Model):
    inputs: ClassVar = {"event": (0, 2)}
    timers: ClassVar = ("unpaid",)
    state: str | None = None
    steps: tuple[str, ...] = ()
    since: dt.datetime | None = None

    def on_event(self, row: Row) -> None:
        _, step, ts = row
        if step != AFTER.get(self.state):
            raise Rejected(f"{self.state or 'nothing'} then {step}")
        if step == "placed":
            self.set("unpaid", ts + dt.timedelta(minutes=8))
        if step == "paid":
            self.clear("unpaid")
        if step == "sent":
            assert self.since is not None
            if ts < self.since + dt.timedelta(minutes=1):
                raise Rejected("too soon")
            self.emit(self.key, ",".join((*self.steps, step)), self.since, ts)
            self.state, self.steps, self.since = None, (), None
        else:
            self.state, self.steps, self.since = step, (*self.steps, step), ts

    def on_unpaid(self, at: dt.datetime) -> None:
        self.emit(self.key, "unpaid", self.since, at)
        self.state, self.steps, self.since = None, (), None
