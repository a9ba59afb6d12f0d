"""Trades with the quote of their time: an ordered map of times that a second input fills; the program and its model."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import ClassVar

import headrace as hr
from tests.models.machine import Model, Row

TRADES = "symbol string, shares int, ts timestamp"
QUOTES = "ticker string, price int, ts timestamp"


class AsOf(hr.Program):
    """Each trade with the last quote before it of at most ten minutes, and how many of these there were; older ones are swept out.

    A quote without a price takes back the one before it.
    """

    swept = hr.Output()

    quotes = hr.Map("timestamp", "int")

    def on_event(self, e):
        price = hr.let(None, "int")
        seen = hr.let(0)
        with hr.each(self.quotes.range(e.ts - hr.minutes(10), e.ts), reverse=True) as it:
            with hr.when(seen.get() == 0):
                price.set(it.value)
            seen.set(seen.get() + 1)
        hr.emit(symbol=self.key.symbol, price=price.get(), seen=seen.get(), cost=price.get() * e.shares, ts=e.ts)

    def on_quotes(self, quote):
        with hr.when(quote.price.is_null()):
            with hr.each(self.quotes, reverse=True) as it:
                with hr.when(it.index == 0):
                    it.remove()
        with hr.otherwise():
            self.quotes.set(quote.ts, quote.price)
        with hr.each(self.quotes.range(None, quote.ts - hr.minutes(12))) as it:
            it.remove()
            self.swept.emit(symbol=self.key.symbol, of=it.key, left=self.quotes.size())


@dataclass
class AsOfModel(Model):
    inputs: ClassVar = {"event": (0, 2), "quotes": (0, 2)}
    quotes: dict[dt.datetime, int] = field(default_factory=dict)

    def on_event(self, row: Row) -> None:
        _, shares, ts = row
        known = [time for time in self.quotes if ts - dt.timedelta(minutes=10) <= time < ts]
        price = self.quotes[max(known)] if known else None
        self.emit(self.key, price, len(known), None if price is None else price * shares, ts)

    def on_quotes(self, row: Row) -> None:
        _, price, ts = row
        if price is not None:
            self.quotes[ts] = price
        elif self.quotes:
            del self.quotes[max(self.quotes)]
        for time in sorted(self.quotes):
            if time < ts - dt.timedelta(minutes=12):
                del self.quotes[time]
                self.emit(self.key, time, len(self.quotes), to="swept")
