"""Counts and sums: after each row, in windows of ten minutes, and of everything at the end; the programs and their models.

The last two do not depend on the order of arrival: what they emit goes out when no row can change it any more.
"""

from __future__ import annotations

import datetime as dt
import statistics
from dataclasses import dataclass, field
from typing import ClassVar

import headrace as hr
from tests.models.machine import ZERO, Model, Row

SCHEMA = "card string, amount int, ts timestamp"
OVER = dt.datetime(2026, 1, 3, tzinfo=dt.UTC)


class Running(hr.Program):
    """The count and the sum so far, with each row; late ones count, too, but tell nothing."""

    n = hr.Value("bigint", default=0)
    total = hr.Value("bigint", default=100)

    def on_event(self, e):
        self.take(e)
        hr.emit(card=self.key.card, n=self.n.get(), total=self.total.get(), changed=self.total.exists(), at=e.ts)

    def on_late(self, e):
        self.take(e)

    def take(self, e):
        self.n.set(self.n.get() + 1)
        with hr.when(e.amount.is_not_null()):
            self.total.set(self.total.get() + e.amount)


@dataclass
class RunningModel(Model):
    inputs: ClassVar = {"event": (0, 2)}
    amounts: list[int | None] = field(default_factory=list)

    def on_event(self, row: Row) -> None:
        self.amounts.append(row[1])
        known = [amount for amount in self.amounts if amount is not None]
        self.emit(self.key, len(self.amounts), 100 + sum(known), known != [], row[2])

    def on_late(self, row: Row) -> None:
        self.amounts.append(row[1])


class Windows(hr.Program):
    """The count and the largest amount of each ten minutes, when they are over."""

    found = hr.Map("timestamp", "struct<n: bigint, most: int>")
    over = hr.Timer(key="timestamp")

    def on_event(self, e):
        start = hr.f.timestamp_seconds(hr.f.unix_seconds(e.ts) - hr.f.unix_seconds(e.ts) % 600)
        so_far = self.found.get(start)
        self.found.set(start, hr.struct(n=hr.f.coalesce(so_far.n, 0) + 1, most=hr.f.greatest(so_far.most, e.amount)))
        self.over.set(start + hr.minutes(10), start)

    def on_over(self, at, start):
        window = self.found.get(start)
        hr.emit(card=self.key.card, start=start, end=at, n=window.n, most=window.most)
        self.found.remove(start)


@dataclass
class WindowsModel(Model):
    inputs: ClassVar = {"event": (0, 2)}
    timers: ClassVar = ("over",)
    windows: dict[dt.datetime, list[int | None]] = field(default_factory=dict)

    def on_event(self, row: Row) -> None:
        _, amount, ts = row
        start = ts - (ts - ZERO) % dt.timedelta(minutes=10)
        self.windows.setdefault(start, []).append(amount)
        self.set("over", start + dt.timedelta(minutes=10), start)

    def on_over(self, at: dt.datetime, start: dt.datetime) -> None:
        amounts = self.windows.pop(start)
        most = max((amount for amount in amounts if amount is not None), default=None)
        self.emit(self.key, start, at, len(amounts), most)


class Whole(hr.Program):
    """All of a card, long after its last row: how often each amount came, and the one in the middle."""

    each = hr.Output()

    middle = hr.Aggregate("percentile(amount, 0.5)", "amount int")
    least = hr.Aggregate("min(amount) FILTER (WHERE amount > 0)", "amount int")
    first = hr.Value("timestamp")
    often = hr.Map("int", "bigint")
    over = hr.Timer()

    def on_event(self, e):
        self.middle.add(e)
        self.least.add(amount=e.amount)
        self.first.set(hr.f.least(self.first.get(), e.ts))
        with hr.when(e.amount.is_not_null()):
            self.often.set(e.amount, hr.f.coalesce(self.often.get(e.amount), 0) + 1)
        self.over.set(OVER)

    def on_over(self, at):
        hr.emit(card=self.key.card, middle=self.middle.get(), least=self.least.get(), first=self.first.get(), kinds=self.often.size())
        with hr.each(self.often, reverse=True) as it:
            self.each.emit(card=self.key.card, rank=it.index, amount=it.key, n=it.value)


@dataclass
class WholeModel(Model):
    inputs: ClassVar = {"event": (0, 2)}
    timers: ClassVar = ("over",)
    rows: list[Row] = field(default_factory=list)

    def on_event(self, row: Row) -> None:
        self.rows.append(row)
        self.set("over", OVER)

    def on_over(self, at: dt.datetime) -> None:
        amounts = [amount for _, amount, _ in self.rows if amount is not None]
        middle = float(statistics.median(amounts)) if amounts else None
        least = min((amount for amount in amounts if amount > 0), default=None)
        self.emit(self.key, middle, least, min(ts for _, _, ts in self.rows), len(set(amounts)))
        for rank, amount in enumerate(sorted(set(amounts), reverse=True)):
            self.emit(self.key, rank, amount, amounts.count(amount), to="each")
