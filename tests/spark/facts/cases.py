"""Cases of every operator, and what comes into them: rows of two keys, more rows of these, rows of two more keys, then a time by which all
has ended, and a late row of the first key.

Each epoch is alike for each key, so that what is kept may be counted: an operator whose state grows with keys has twice as much of four.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import headrace as hr
from headrace.testing import Harness

START, SAME, MORE, PASSED, LATE = range(5)
"""The epochs."""

TICK = "tick"

Change = tuple[str, tuple[Any, ...]]


@dataclass(frozen=True)
class Case:
    """An operator in some form: the end of `stream` has its rows. `last` is how many its state has when the time has passed, where that is
    something else than what its fact says of growth. `monotone`: rows are said to be taken away, though none of these ever is.
    """

    op: str
    stream: hr.Stream
    last: int | None = None
    monotone: bool = False


@dataclass(frozen=True)
class Inputs:
    """Rows, rows of another kind, rows that come and go, and the first again without event time. None has a row that brings time on."""

    rows: hr.Stream
    other: hr.Stream
    changing: hr.Stream
    plain: hr.Stream
    tables: Path

    @classmethod
    def of_now(cls, h: Harness, tables: Path) -> Inputs:
        rows = h.source("rows", "k string, v int, ts timestamp")
        return cls(rows, rows, rows, rows.filter("v < 100").select("k", "v"), tables)

    @classmethod
    def of(cls, h: Harness, tables: Path) -> Inputs:
        def timed(name: str, schema: str, time: str, key: str, changes: bool = False) -> hr.Stream:
            return h.source(name, schema, watermark=(time, "1 minute"), changes=changes).filter(f"{key} <> '{TICK}'")

        return cls(
            timed("rows", "k string, v int, ts timestamp", "ts", "k"),
            timed("other", "c string, w int, at timestamp", "at", "c"),
            timed("changing", "k string, v int, ts timestamp", "ts", "k", changes=True),
            h.source("plain", "k string, v int"),
            tables,
        )


TIMES = {
    START: ("01:00", "02:00", "02:00", "04:00"),
    SAME: ("05:00", "11:00", "12:00", "13:00"),
    MORE: ("20:00", "21:00", "22:00", "23:00"),
}
"""Of the rows of a key, in an hour. They go on from epoch to epoch, and none is late."""

OTHER = {
    START: {"a": ("01:00", "02:00")},
    SAME: {"a": ("03:30", "12:00"), "b": ("03:30", "12:00")},
    MORE: {"c": ("20:00", "22:00"), "d": ("20:00", "22:00")},
}
"""Those of the other rows: what the rows of the key b meet comes later than they."""


def commits(again: bool = False) -> Iterator[dict[str, list[Change]]]:
    """What comes in each epoch; `again` in another order."""
    for epoch, keys in ((START, "ab"), (SAME, "ab"), (MORE, "cd")):
        rows = [(key, 10 * epoch + n, _at(time)) for key in keys for n, time in enumerate(TIMES[epoch])]
        other = [(key, 10 * epoch + n, _at(time)) for key, times in OTHER[epoch].items() for n, time in enumerate(times)]
        # one of the rows of the first epoch goes again
        gone = [(key, 1, _at(TIMES[START][1])) for key in keys] if epoch == SAME else []
        come = {
            "rows": [("+", row) for row in rows],
            "other": [("+", row) for row in other],
            "changing": [*(("+", row) for row in rows), *(("-", row) for row in gone)],
            "plain": [("+", (key, v)) for key, v, _ in rows],
        }
        yield {name: changes[::-1] if again else changes for name, changes in come.items()}
    yield {name: [("+", (TICK, 0, "2026-01-03 00:00:00"))] for name in ("rows", "other", "changing")}
    late, gone = ("a", 100, _at("03:00")), [("b", 0, _at(TIMES[START][0]))]
    yield {
        "rows": [("+", late)],
        "other": [("+", late)],
        "changing": [("+", late), *(("-", row) for row in gone)],
        "plain": [("+", late[:2])],
    }


def many() -> dict[str, list[Change]]:
    """Many rows of one key, and as many others of another, all within a minute: the watermark passes none, and bags have several pages."""
    begin = datetime(2026, 1, 4, tzinfo=UTC)
    rows = [("m", n, begin + n * timedelta(minutes=10)) for n in range(300)]
    return {
        "rows": [("+", row) for row in rows],
        "other": [("+", ("n", -1 - n, begin + n * timedelta(milliseconds=100))) for n in range(300)],
        "changing": [("+", row) for row in rows],
        "plain": [("+", row[:2]) for row in rows],
    }


def commits_of_now() -> Iterator[dict[str, list[Change]]]:
    """The same for what goes by the time of the machine: rows of now, and an older one when more than a day has passed."""
    now = datetime.now(UTC)
    for epoch, keys in ((START, "ab"), (SAME, "ab"), (MORE, "cd")):
        yield {"rows": [("+", (key, 10 * epoch + n, now - timedelta(minutes=n))) for key in keys for n in range(4)]}
    yield {}
    yield {"rows": [("+", ("a", 100, now))]}


def _at(time: str) -> str:
    return f"2026-01-01 00:{time}"


def sources(i: Inputs) -> dict[str, Case]:
    return {"rows": Case("source", i.rows), "plain": Case("source", i.plain)}


def stateless(i: Inputs) -> dict[str, Case]:
    cities = i.tables / "cities.csv"
    cities.write_text("name,people\na,1\nb,2\n")
    table = hr.lookup.files(str(cities), format="csv", schema="name string, people int", constant=True)
    sums = i.changing.group_by("k").agg(n="sum(v)")
    words = [("e", 1, "insert"), ("f", 2, "insert"), ("g", 3, "delete")]
    weighed = hr.read.memory(words, "k string, v int, op string", name="weighed", change_column="op", trusted=True)
    return {
        "filter": Case("filter", i.plain.filter("v > 1")),
        "filter, changing": Case("filter", sums.filter("n > 1")),
        "project": Case("project", sums.select(n="n", key="k")),
        "projected twice": Case("project", i.plain.select(half="v div 2")),
        "expect": Case("expect", sums.expect(positive="n > 0")),
        "explode": Case("explode", sums.with_columns(twice="array(n, n)").explode("twice")),
        "generate": Case("generate", hr.sql("SELECT k, n, x FROM sums LATERAL VIEW explode(array(n, -n)) AS x", sums=sums)),
        "windows": Case("windows", i.rows.window(hr.hop("ts", "10 minutes", "5 minutes"))),
        "union": Case("union", sums.union(weighed.select("k", n="CAST(v AS bigint)"))),
        "changes": Case("changes", sums.changes()),
        "output": Case("output", i.rows.window(hr.tumble("ts", "1 hour")).group_by("window_end").agg(n="count(*)").output("late")),
        "lookup": Case("lookup", i.plain.lookup(table, on={"k": "name"})),
        "lookup, changing": Case("lookup", sums.lookup(table, on={"k": "name"}, how="inner")),
        "weigh": Case("weigh", weighed),
    }


def aggregates(i: Inputs) -> dict[str, Case]:
    hour = hr.tumble("ts", "1 hour")
    closing = i.rows.window(hour, emit="close")
    changing = i.changing.window(hour)
    return {
        "counts": Case("aggregate", i.plain.group_by("k").agg(n="count(*)", most="max(v)")),
        "counts, changing": Case("aggregate", i.changing.group_by("k").agg(n="count(*)", s="sum(v)")),
        "values": Case("aggregate", i.plain.group_by("k").agg(n="count(DISTINCT v)")),
        "values, changing": Case("aggregate", i.changing.group_by("k").agg(most="max(v)")),
        "one group": Case("aggregate", i.plain.group_by().agg(n="count(*)")),
        "one group of values": Case("aggregate", i.plain.group_by().agg(n="collect_list(v)")),
        "distinct": Case("aggregate", i.plain.select("k").distinct()),
        "distinct, changing": Case("aggregate", i.changing.select("k", one="v = 1").distinct()),
        "windows of groups": Case("aggregate", i.rows.window(hour).group_by("k", "window_end").agg(n="count(*)", some="mode(v)")),
        "windows of groups, changing": Case("aggregate", changing.group_by("k", "window_end").agg(n="count(*)", some="mode(v)")),
        "windows of groups, once": Case("aggregate", closing.group_by("k", "window_end").agg(n="count(*)", some="mode(v)")),
        "windows of groups, early": Case(
            "aggregate",
            i.rows.window(hr.tumble("ts", "1 day"), emit="close", early="5 minutes").group_by("k", "window_end").agg(n="count(*)"),
        ),
        "groups that expire": Case("aggregate", i.rows.group_by("k", expires="1 hour").agg(n="count(*)")),
        "groups that expire, changing": Case("aggregate", i.changing.group_by("k", expires="1 hour").agg(n="count(*)", most="max(v)")),
        "distinct that expires": Case("aggregate", i.rows.select("k").distinct(expires="1 hour")),
    }


def joins(i: Inputs) -> dict[str, Case]:
    other = i.other.select(c="c", w="w")
    near = "k = c AND ts BETWEEN at - INTERVAL 5 MINUTES AND at + INTERVAL 5 MINUTES"
    hour = i.rows.window(hr.tumble("ts", "1 hour")).select("k", "v", "window_end")
    theirs = i.other.window(hr.tumble("at", "1 hour")).select("c", "w", end="window_end")
    exists = "SELECT k, v, EXISTS (SELECT 1 FROM other WHERE c = k AND w > v) AS met FROM plain"
    found = {f"{how} join": Case("join", i.plain.join(other, on="k = c", how=how)) for how in ("inner", "left", "full", "semi", "anti")}
    found |= {
        f"{how} join, condition": Case("join", i.changing.join(other, on="k = c AND v < w", how=how))
        for how in ("inner", "left", "full", "semi", "anti")
    }
    found |= {
        f"{how} join, near": Case("join", i.rows.join(i.other, on=near, how=how)) for how in ("inner", "left", "full", "semi", "anti")
    }
    found |= {
        f"{how} join, near, once": Case("join", i.rows.join(i.other, on=near, how=how, emit="close")) for how in ("left", "full", "anti")
    }
    closing = i.rows.window(hr.tumble("ts", "1 hour"), emit="close").select("k", "v", "window_end")
    closing_theirs = i.other.window(hr.tumble("at", "1 hour"), emit="close").select("c", "w", end="window_end")
    return found | {
        "existence join": Case("join", hr.sql(exists, plain=i.plain, other=other)),
        "join without keys": Case("join", i.plain.join(other, on="v < w")),
        "half-open join": Case("join", i.rows.join(i.other, on="k = c AND ts >= at")),
        "near, of changing rows": Case("join", i.changing.join(i.other, on=near)),
        "join of windows": Case("join", hour.join(theirs, on="k = c AND window_end = end", how="left")),
        "join of windows, once": Case("join", closing.join(closing_theirs, on="k = c AND window_end = end", how="full")),
        "join that expires": Case("join", i.rows.join(i.other, on="k = c", how="left", expires="1 hour")),
        "join that expires, changing": Case("join", i.changing.join(i.other, on="k = c", expires="1 hour")),
    }


def as_of(i: Inputs) -> dict[str, Case]:
    met: dict[str, Any] = {"on": "k = c", "time": ("ts", "at")}
    timeless = i.plain.select("k", "v", ts="timestamp_seconds(v + 10)"), i.other.select("c", "w", at="timestamp_seconds(w)")
    return {
        "as of, without time": Case("join_asof", timeless[0].join_asof(timeless[1], **met)),
        # the last version of each key
        "as of": Case("join_asof", i.rows.join_asof(i.other, **met), last=4),
        "as of, once": Case("join_asof", i.rows.join_asof(i.other, emit="close", **met), last=4),
        "as of, within": Case("join_asof", i.rows.join_asof(i.other, within="5 minutes", **met)),
        # of each of four keys the row behind the last version
        "as of, forward": Case("join_asof", i.rows.join_asof(i.other, direction="forward", **met), last=4),
        # the last version of each key, and the rows of the two keys that have none
        "as of, nearest": Case(
            "join_asof", i.rows.join_asof(i.other.filter("c in ('b', 'd')"), direction="nearest", **met), last=2 + 8 + 4
        ),
        "as of, nearest within, once": Case(
            "join_asof", i.rows.join_asof(i.other, direction="nearest", within="5 minutes", emit="close", **met)
        ),
    }


def partitions(i: Inputs) -> dict[str, Case]:
    hour = hr.tumble("ts", "1 hour")
    windows, closing = i.rows.window(hour), i.rows.window(hour, emit="close")
    place = hr.f.row_number().over(per=["k", "window_end"], by="v desc")
    return {
        "places": Case("partition", i.plain.select("k", "v", place=hr.f.rank().over(per="k", by="v desc"))),
        "places, changing": Case("partition", i.changing.select("k", "v", total=hr.f.sum("v").over(per="k", by="v"))),
        "places in windows": Case("partition", windows.select("k", "v", "window_end", place=place)),
        "places in windows, once": Case("partition", closing.select("k", "v", "window_end", place=place)),
        "first": Case("top", i.plain.top(1, by="v desc", per="k")),
        "first three": Case("top", i.plain.top(3, by="v desc", per="k")),
        "first of all": Case("top", i.plain.top(3, by="v desc")),
        "first of all, changing": Case("top", i.changing.top(3, by="v desc")),
        "first three, changing": Case("top", i.changing.top(3, by="v desc", per="k")),
        "first, rank": Case("top", i.plain.select("k", "v", same="v div 100").top(1, by="same desc", per="k", ties="rank")),
        "first, dense_rank": Case("top", i.changing.select("k", h="v div 10").top(2, by="h desc", per="k", ties="dense_rank")),
        "behind the first": Case("top", hr.sql("SELECT k, v FROM plain ORDER BY v DESC LIMIT 2 OFFSET 2", plain=i.plain)),
        "all behind the first": Case("top", hr.sql("SELECT k, v FROM plain ORDER BY v OFFSET 2", plain=i.plain), monotone=True),
        "first of windows": Case("top", windows.top(2, by="v desc", per=["k", "window_end"])),
        "first of windows, once": Case("top", closing.top(2, by="v desc", per=["k", "window_end"])),
        "first that expires": Case("top", i.rows.top(1, by="v desc", per="k", expires="1 hour")),
        "first that expires, changing": Case("top", i.changing.top(1, by="v desc", per="k", expires="1 hour")),
    }


def others(i: Inputs) -> dict[str, Case]:
    sums = i.changing.group_by("k").agg(n="sum(v)")
    gap = hr.sessions("ts", "3 minutes", per="k")
    return {
        "sessions": Case("sessions", i.rows.window(gap)),
        "sessions, once": Case("sessions", i.rows.window(gap, emit="close", lateness="1 minute")),
        "sessions, changing": Case("sessions", i.changing.window(gap)),
        "sessions, wide": Case("sessions", i.rows.window(hr.sessions("ts", "1 day", per="k")), last=0),
        "sessions without time": Case(
            "sessions", i.plain.select("k", at="timestamp_seconds(v)").window(hr.sessions("at", "8 seconds", per="k"))
        ),
        "ledger": Case("ledger", i.changing),
        "consolidate": Case("consolidate", i.changing.select("k").changes()),
        "last rows": Case("upserts", i.plain.upserts("k")),
        "last rows, as changes": Case("upserts", i.plain.upserts("k").changes()),
        "one row for each key": Case("upserts", sums.union(sums.filter("false")).upserts("k")),
        "one row for each known key": Case("upserts", sums.upserts("k")),
        "one row for each known key, as changes": Case("upserts", sums.upserts("k").changes()),
    }


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
    found = {
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
        **{name: Case("program", stream.named(name.replace(",", ""))) for name, stream in found.items()},
        "rules for a while": Case("program", for_a_while, last=4),
    }


TABLES: tuple[Callable[[Inputs], Mapping[str, Case]], ...] = (
    sources,
    stateless,
    aggregates,
    joins,
    as_of,
    partitions,
    others,
    programs,
)


class Alarms(hr.Program):
    due = hr.Timer(clock="processing")

    def on_event(self, e: Any) -> None:
        self.due.set(hr.now() + hr.minutes(30))
        hr.emit(k=e.k, v=e.v)

    def on_due(self, at: Any) -> None:
        hr.emit(k=self.key.k, v=hr.lit(-1))


def of_processing_time(i: Inputs) -> dict[str, Case]:
    """Those that go by the time of the machine. Rows are of now."""
    windows = i.plain.select("k", "v", at="current_timestamp()").window(hr.tumble("at", "1 day"))
    return {
        "rows of now": Case("temporal", hr.sql("SELECT k, v FROM rows WHERE ts > now() - INTERVAL 1 HOUR", rows=i.rows)),
        "rows of later": Case("temporal", hr.sql("SELECT k, v FROM rows WHERE ts + INTERVAL 2 HOURS < now()", rows=i.rows)),
        "windows of now": Case("aggregate", windows.group_by("k", "window_end").agg(n="count(*)")),
        "alarms": Case("program", i.plain.key_by("k").process(Alarms).named("alarms")),
    }


def cases(i: Inputs) -> dict[str, Case]:
    """Those that go by event time, or by none."""
    return {name: case for table in TABLES for name, case in table(i).items()}
