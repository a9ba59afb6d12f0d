"""A small charge followed within a minute by a large one: the program and its model."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

import headrace as hr
from tests.models.machine import Model, Row

SCHEMA = "card string, amount decimal(10,2), ts timestamp"


class SmallThenLarge(hr.Program):
    """A charge under 1.00 followed within a minute by one over 500.00, per card."""

    small_at = hr.Value("timestamp")
    forget = hr.Timer()

    def on_event(self, e):
        with hr.when(self.small_at.exists() & (e.amount > 500)):
            hr.emit(card=self.key.card, amount=e.amount, at=e.ts)
            self.small_at.clear()
        with hr.when(e.amount < 1):
            self.small_at.set(e.ts)
            self.forget.set(e.ts + hr.minutes(1))

    def on_forget(self, at):
        self.small_at.clear()


@dataclass
class FraudModel(Model):
    inputs: ClassVar = {"event": (0, 2)}
    timers: ClassVar = ("forget",)
    small_at: dt.datetime | None = None

    def on_event(self, row: Row) -> None:
        _, amount, ts = row
        if self.small_at is not None and amount is not None and amount > 500:
            self.emit(self.key, amount, ts)
            self.small_at = None
        if amount is not None and amount < Decimal(1):
            self.small_at = ts
            self.set("forget", ts + dt.timedelta(minutes=1))

    def on_forget(self, at: dt.datetime) -> None:
        self.small_at = None
