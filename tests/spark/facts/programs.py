"""Programs: cells of each kind, kept for ever, cleared and expiring."""

from __future__ import annotations

from typing import Any

import headrace as hr
from tests.spark.facts.inputs import Case, Inputs


class Counts(hr.Program):
    n = hr.Value("int", default=0)

    def on_event(self, e: Any) -> None:
        self.n.set(self.n.get() + 1)
        hr.emit(k=e.k, n=self.n.get())


class Lists(hr.Program):
    xs = hr.List("int")

    def on_event(self, e: Any) -> None:
        self.xs.append(e.v)
        hr.emit(k=e.k, n=self.xs.size())


class Maps(hr.Program):
    xs = hr.Map("int", "int")

    def on_event(self, e: Any) -> None:
        self.xs.set(e.v, e.v)
        hr.emit(k=e.k, n=self.xs.size())


class Sums(hr.Program):
    total = hr.Aggregate("sum(x)", "x int")

    def on_event(self, e: Any) -> None:
        self.total.add(x=e.v)
        hr.emit(k=e.k, total=self.total.get())


class Collects(hr.Program):
    all = hr.Aggregate("collect_list(x)", "x int")

    def on_event(self, e: Any) -> None:
        self.all.add(x=e.v)
        hr.emit(k=e.k, n=hr.f.size(self.all.get()))


class Timers(hr.Program):
    due = hr.Timer()
    each = hr.Timer(key="int")

    def on_event(self, e: Any) -> None:
        self.due.set(e.ts + hr.minutes(30))
        self.each.set(e.ts + hr.minutes(30), e.v)
        hr.emit(k=e.k, v=e.v)

    def on_due(self, at: Any) -> None:
        hr.emit(k=self.key.k, v=hr.lit(-1))

    def on_each(self, at: Any, v: Any) -> None:
        hr.emit(k=self.key.k, v=v)


class Forgets(hr.Program):
    last = hr.Value("int", expires="30 minutes")
    xs = hr.List("int", expires="30 minutes")
    by = hr.Map("int", "int", expires="30 minutes")
    n = hr.Value("int")
    end = hr.Timer()

    def on_event(self, e: Any) -> None:
        self.last.set(e.v)
        self.xs.append(e.v)
        self.by.set(e.v, e.v)
        self.n.set(e.v)
        self.end.set(e.ts + hr.minutes(30))
        hr.emit(k=e.k, v=e.v)

    def on_end(self, at: Any) -> None:
        self.n.clear()


class Rules(hr.Program):
    rules = hr.Broadcast("string", "int")

    def on_other(self, r: Any) -> None:
        self.rules.set(hr.f.concat(r.c, r.w.cast("string")), r.w)

    def on_event(self, e: Any) -> None:
        hr.emit(k=e.k, w=self.rules.get(e.k))


class ForAWhile(hr.Program):
    rules = hr.Broadcast("string", "int", expires="30 minutes")

    def on_other(self, r: Any) -> None:
        self.rules.set(r.c, r.w)

    def on_event(self, e: Any) -> None:
        hr.emit(k=e.k, w=self.rules.get(e.k))


class Passes(hr.Program):
    def on_event(self, e: Any) -> None:
        hr.emit(e)


def programs(i: Inputs) -> dict[str, Case]:
    plain, rows = i.plain.key_by("k"), i.rows.key_by("k")
    whole = i.plain
    streams = {
        "values by key": plain.process(Counts),
        "a list by key": plain.process(Lists),
        "a map by key": plain.process(Maps),
        "a sum by key": plain.process(Sums),
        "all values by key": plain.process(Collects),
        "a value of the whole stream": whole.process(Counts),
        "a list of the whole stream": whole.process(Lists),
        "timers": rows.process(Timers),
        "timers, as rows come": rows.process(Timers, order="arrival"),
        "what is forgotten": rows.process(Forgets),
        "what is forgotten, as rows come": rows.process(Forgets, order="arrival"),
        "rules": rows.process(Rules, other=hr.broadcast(i.other)),
        "nothing": plain.process(Passes),
        "nothing, in the order of time": rows.process(Passes),
        "first in a while": i.rows.dedupe(on="k", within="30 minutes"),
    }
    # What expires of a map for all keys goes in the epoch behind.
    for_a_while = rows.process(ForAWhile, other=hr.broadcast(i.other)).named("rules for a while")
    return {
        **{name: Case("program", stream.named(name.replace(",", ""))) for name, stream in streams.items()},
        "rules for a while": Case("program", for_a_while, last=4),
    }


class Alarms(hr.Program):
    due = hr.Timer(clock="processing")

    def on_event(self, e: Any) -> None:
        self.due.set(hr.now() + hr.minutes(30))
        hr.emit(k=e.k, v=e.v)

    def on_due(self, at: Any) -> None:
        hr.emit(k=self.key.k, v=hr.lit(-1))
