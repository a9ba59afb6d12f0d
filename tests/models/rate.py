"""A limit on calls: no more than three and a weight of 20 in five minutes; the program and its model."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import ClassVar

import headrace as hr
from tests.models.machine import Model, Rejected, Row

SCHEMA = "client string, weight int, ts timestamp"


class RateLimit(hr.Program):
    """A call above the limit is rejected, also what was done for it before that was found out. A weight of 0 lightens the last one."""

    calls = hr.List("int", expires="5 minutes")

    def on_event(self, e):
        with hr.when(e.weight == 0):
            with hr.each(self.calls, reverse=True) as it:
                with hr.when(it.index == 0):
                    it.set(1)
        with hr.otherwise():
            self.calls.append(e.weight)
        weight = hr.let(0, "bigint")
        with hr.each(self.calls) as it:
            weight.set(weight.get() + it.value)
        hr.emit(client=self.key.client, calls=self.calls.get(), weight=weight.get(), at=e.ts)
        with hr.when((self.calls.size() > 3) | (weight.get() > 20)):
            self.calls.clear()
            hr.reject(hr.f.concat(hr.lit("too much: "), self.calls.size(), hr.lit(" "), weight.get()))


@dataclass
class RateModel(Model):
    inputs: ClassVar = {"event": (0, 2)}
    brief: ClassVar = {"calls": dt.timedelta(minutes=5)}
    calls: list[tuple[int, dt.datetime]] = field(default_factory=list)

    def on_event(self, row: Row) -> None:
        _, weight, ts = row
        if weight:
            calls = [*self.calls, (weight, self.now)]
        else:
            calls = [*self.calls[:-1], (1, self.now)] if self.calls else []
        weights = tuple(one for one, _ in calls)
        if len(weights) > 3 or sum(weights) > 20:
            raise Rejected(f"too much: 0 {sum(weights)}")
        self.calls = calls
        self.emit(self.key, weights, sum(weights), ts)
