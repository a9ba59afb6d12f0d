"""Cases of every operator, in the forms of which its facts differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import headrace as hr
from tests.spark.facts.inputs import Case, Inputs
from tests.spark.facts.programs import Alarms, programs


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
        "hybrid": Case("hybrid", hr.read.hybrid(i.plain, then=weighed.select("k", v="v"))),
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
            i.rows.window(hr.tumble("ts", "1 day"), emit="close", early="1 hour").group_by("k", "window_end").agg(n="count(*)"),
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
    cases = {f"{how} join": Case("join", i.plain.join(other, on="k = c", how=how)) for how in ("inner", "left", "full", "semi", "anti")}
    cases |= {
        f"{how} join, condition": Case("join", i.changing.join(other, on="k = c AND v < w", how=how))
        for how in ("inner", "left", "full", "semi", "anti")
    }
    cases |= {
        f"{how} join, near": Case("join", i.rows.join(i.other, on=near, how=how)) for how in ("inner", "left", "full", "semi", "anti")
    }
    cases |= {
        f"{how} join, near, once": Case("join", i.rows.join(i.other, on=near, how=how, emit="close")) for how in ("left", "full", "anti")
    }
    closing = i.rows.window(hr.tumble("ts", "1 hour"), emit="close").select("k", "v", "window_end")
    closing_theirs = i.other.window(hr.tumble("at", "1 hour"), emit="close").select("c", "w", end="window_end")
    return cases | {
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
        # as many counters as keys come in an epoch
        "heavy hitters": Case("heavy_hitters", i.plain.heavy_hitters(1, by="k", error=0.5)),
        "consolidate": Case("consolidate", i.changing.select("k").changes()),
        "last rows": Case("upserts", i.plain.upserts("k")),
        "last rows, as changes": Case("upserts", i.plain.upserts("k").changes()),
        "one row for each key": Case("upserts", sums.union(sums.filter("false")).upserts("k")),
        "one row for each known key": Case("upserts", sums.upserts("k")),
        "one row for each known key, as changes": Case("upserts", sums.upserts("k").changes()),
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
