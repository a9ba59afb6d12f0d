"""A program with a cell of every kind, and what it keeps by a plain computation."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import headrace as hr

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
# Nothing of these ever falls on the time of a row, a watermark or each other.
DUE = dt.timedelta(minutes=31, milliseconds=250)
LATER = dt.timedelta(minutes=47, milliseconds=500)
EXPIRES = dt.timedelta(minutes=20, milliseconds=125)
ALL = 99
"""The amount at which a key forgets everything."""

EVENTS = "card string, amount int, shop string, ts timestamp"
RULES = "shop string, most int, ts timestamp"
KEY = "key struct<card: string, size: bigint>"
TABLES = {
    "every": f"{KEY}, n bigint, last string, last_expires timestamp, cap int, mean double, hits bigint, middle double, due timestamp",
    "every_xs": f"{KEY}, index bigint, value struct<shop: string, amount: int>",
    "every_recent": f"{KEY}, index bigint, value int, expires timestamp",
    "every_shops": f"{KEY}, entry string, value bigint",
    "every_seen": f"{KEY}, entry struct<a: int, b: string>, value int, expires timestamp",
    "every_later": f"{KEY}, entry int, at timestamp",
    "every_limits": "entry string, value int",
    "every_held_event": f"{KEY}, time timestamp, row struct<card: string, amount: int, shop: string, ts: timestamp>",
    "every_held_limits_in": "time timestamp, row struct<shop: string, most: int, ts: timestamp>",
}


class Every(hr.Program):
    """Each row and timer changes something in every cell."""

    n = hr.Value("bigint", default=0)
    last = hr.Value("string", expires=EXPIRES)
    cap = hr.Value("int")
    xs = hr.List("struct<shop: string, amount: int>")
    recent = hr.List("int", expires=EXPIRES)
    shops = hr.Map("string", "bigint")
    seen = hr.Map("struct<a: int, b: string>", "int", expires=EXPIRES)
    mean = hr.Aggregate("sum(x) / count(*)", "x int")
    hits = hr.Aggregate("count(*) FILTER (WHERE x > 3)", "x int")
    middle = hr.Aggregate("percentile(x, 0.5)", "x int")
    due = hr.Timer()
    later = hr.Timer(key="int")
    limits = hr.Broadcast("string", "int")

    def on_event(self, e: Any) -> None:
        self.n.set(self.n.get() + 1)
        self.last.set(e.shop)
        self.cap.set(self.limits.get(e.shop))
        self.xs.append(hr.struct(shop=e.shop, amount=e.amount))
        with hr.each(self.xs) as it:
            with hr.when((it.index == 1) & (e.amount == 5)):
                it.remove()
        self.recent.append(e.amount)
        self.shops.set(e.shop, hr.f.coalesce(self.shops.get(e.shop), 0) + 1)
        self.seen.set(hr.struct(a=e.amount, b=e.shop), e.amount)
        for cell in (self.mean, self.hits, self.middle):
            cell.add(x=e.amount)
        self.due.set(e.ts + DUE)
        self.later.set(e.ts + LATER, e.amount % 3)
        with hr.when(e.amount == 4):
            self.shops.remove("p")
            self.later.clear(0)
        with hr.when(e.amount == ALL):
            for cell in (self.n, self.last, self.cap, self.xs, self.recent, self.shops, self.seen):
                cell.clear()
            for cell in (self.mean, self.hits, self.middle, self.due, self.later):
                cell.clear()
        hr.emit(card=self.key.card, n=self.n.get())

    def on_limits_in(self, r: Any) -> None:
        self.limits.set(r.shop, r.most)

    def on_due(self, at: Any) -> None:
        self.n.set(self.n.get() + 100)
        self.mean.clear()
        self.hits.clear()

    def on_later(self, at: Any, which: Any) -> None:
        self.xs.append(hr.struct(shop=hr.lit("later"), amount=which))


class Event(NamedTuple):
    ts: dt.datetime
    card: str
    amount: int
    shop: str


class Rule(NamedTuple):
    ts: dt.datetime
    shop: str
    most: int | None


@dataclass
class Key:
    n: int | None = None
    last: tuple[str, dt.datetime] | None = None
    cap: int | None = None
    xs: list[tuple[str, int]] = field(default_factory=list)
    recent: list[tuple[int, dt.datetime]] = field(default_factory=list)
    shops: dict[str, int] = field(default_factory=dict)
    seen: dict[tuple[int, str], dt.datetime] = field(default_factory=dict)
    mean: list[int] = field(default_factory=list)
    hits: list[int] = field(default_factory=list)
    middle: list[int] = field(default_factory=list)
    due: dt.datetime | None = None
    later: dict[int, dt.datetime] = field(default_factory=dict)

    def expire(self, now: dt.datetime) -> None:
        """Take away what is gone before a moment."""
        self.last = self.last if self.last and self.last[1] >= now else None
        self.recent = [one for one in self.recent if one[1] >= now]
        self.seen = {entry: gone for entry, gone in self.seen.items() if gone >= now}

    def event(self, e: Event, limits: dict[str, int]) -> None:
        self.n = (self.n or 0) + 1
        self.last = (e.shop, e.ts + EXPIRES)
        self.cap = limits.get(e.shop)
        self.xs.append((e.shop, e.amount))
        if e.amount == 5 and len(self.xs) > 1:
            del self.xs[1]
        self.recent.append((e.amount, e.ts + EXPIRES))
        self.shops[e.shop] = self.shops.get(e.shop, 0) + 1
        self.seen[e.amount, e.shop] = e.ts + EXPIRES
        for numbers in (self.mean, self.hits, self.middle):
            numbers.append(e.amount)
        self.due = e.ts + DUE
        self.later[e.amount % 3] = e.ts + LATER
        if e.amount == 4:
            self.shops.pop("p", None)
            self.later.pop(0, None)

    def first_timer(self) -> dt.datetime | None:
        return min([*self.later.values(), *([self.due] if self.due else [])], default=None)

    def fire(self, at: dt.datetime) -> None:
        self.expire(at)
        if self.due == at:
            self.due = None
            self.n = (self.n or 0) + 100
            self.mean, self.hits = [], []
        for which in [which for which, when in self.later.items() if when == at]:
            del self.later[which]
            self.xs.append(("later", which))


def middle(numbers: list[int]) -> float | None:
    ordered, n = sorted(numbers), len(numbers)
    return None if not n else (ordered[(n - 1) // 2] + ordered[n // 2]) / 2


def kept(events: Iterable[Event], rules: Iterable[Rule], watermark: dt.datetime) -> dict[str, list[tuple[Any, ...]]]:
    """All tables after everything up to the watermark was handled."""
    keys: dict[str, Key] = {}
    limits: dict[str, int] = {}
    for row in sorted([*events, *rules], key=lambda row: row.ts):
        if row.ts > watermark:
            break
        if isinstance(row, Rule):
            if row.most is None:
                limits.pop(row.shop, None)
            else:
                limits[row.shop] = row.most
            continue
        key = keys.setdefault(row.card, Key())
        _fire(key, row.ts)
        key.expire(row.ts)
        key.event(row, limits)
        if row.amount == ALL:
            del keys[row.card]
    for key in keys.values():
        _fire(key, watermark)
        key.expire(watermark)
    held = [row for row in [*events, *rules] if row.ts > watermark]
    return _tables(keys, limits, held)


def _fire(key: Key, until: dt.datetime) -> None:
    while (at := key.first_timer()) is not None and at < until:
        key.fire(at)


def _tables(keys: dict[str, Key], limits: dict[str, int], held: list[Event | Rule]) -> dict[str, list[tuple[Any, ...]]]:
    tables: dict[str, list[tuple[Any, ...]]] = {name: [] for name in TABLES}
    for card, one in keys.items():
        key = (card, len(card))
        last, gone = one.last or (None, None)
        mean = sum(one.mean) / len(one.mean) if one.mean else None
        hits = sum(x > 3 for x in one.hits)
        tables["every"].append((key, one.n, last, gone, one.cap, mean, hits, middle(one.middle), one.due))
        tables["every_xs"] += [(key, index, x) for index, x in enumerate(one.xs)]
        tables["every_recent"] += [(key, index, x, gone) for index, (x, gone) in enumerate(one.recent)]
        tables["every_shops"] += [(key, shop, n) for shop, n in one.shops.items()]
        tables["every_seen"] += [(key, entry, entry[0], gone) for entry, gone in one.seen.items()]
        tables["every_later"] += [(key, which, at) for which, at in one.later.items()]
    tables["every_limits"] += limits.items()
    for row in held:
        if isinstance(row, Rule):
            tables["every_held_limits_in"].append((row.ts, (row.shop, row.most, row.ts)))
        else:
            values = (row.card, row.amount, row.shop, row.ts)
            tables["every_held_event"].append(((row.card, len(row.card)), row.ts, values))
    return tables
