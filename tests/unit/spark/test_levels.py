"""Cutting a plan: which views share a query, and at which level an operator stands."""

from __future__ import annotations

from typing import Any

import pytest

import headrace as hr
from headrace.analysis.clocks import clocks
from headrace.errors import HeadraceError
from headrace.ops.facts.clock import Clock
from headrace.plan import Plan
from headrace.spark.compile.levels import Query, cut
from tests.unit.errors import check_error


class Count(hr.Program):
    n = hr.Value("bigint")

    def on_event(self, e: Any) -> None:
        self.n.set(hr.f.coalesce(self.n.get(), 0) + 1)
        hr.emit(k=self.key.k, v=self.n.get(), ts=e.ts)


class Wait(hr.Program):
    wake = hr.Timer(clock="processing")

    def on_event(self, e: Any) -> None:
        self.wake.set(hr.expr("current_timestamp()"))
        hr.emit(k=self.key.k, v=1, ts=e.ts)

    def on_wake(self, at: Any) -> None:
        hr.emit(k=self.key.k, v=0, ts=at)


class Both(hr.Program):
    def on_event(self, e: Any) -> None:
        hr.emit(k=self.key.k, v=e.v, ts=e.ts)

    def on_other(self, r: Any) -> None:
        hr.emit(k=self.key.k, v=r.v, ts=r.ts)


def source(name: str) -> hr.Stream:
    return hr.read.memory([], "k string, v bigint, ts timestamp", name=name).watermark("ts", "1 second")


def plain(name: str) -> hr.Stream:
    return hr.read.memory([], "k string, v bigint, ts timestamp", name=name)


def queries(*streams: hr.Stream) -> tuple[Query, ...]:
    plan = Plan.of("job", [stream.write.memory(name=f"s{number}")._use() for number, stream in enumerate(streams, 1)])
    return cut(plan, clocks(plan))


def shown(query: Query) -> tuple[Any, ...]:
    names = [[str(node.name) for node in level] for level in query.levels]
    return query.name, query.clock, [str(node.name) for node in query.sources], names, [str(node.name) for node in query.sinks]


def count(stream: hr.Stream, name: str, **more: Any) -> hr.Stream:
    return stream.key_by("k").process(Count, time="ts", **more).named(name)


def test_a_view_without_state_has_no_level() -> None:
    (query,) = queries(source("t").filter("v > 1"))
    assert shown(query) == ("main", "none", ["t"], [], ["s1"])


def test_an_operator_stands_at_the_earliest_level() -> None:
    t, u = source("t"), source("u")
    a = count(t, "a")
    b = count(a.filter("v > 1"), "b")
    c = b.key_by("k").process(Both, other=u.key_by("k")).named("c")
    d = count(u, "d")
    (query,) = queries(c, d)
    assert shown(query) == ("main", "event", ["t", "u"], [["a", "d"], ["b"], ["c"]], ["s1", "s2"])


def test_views_that_share_nothing_are_queries_of_their_own() -> None:
    t = source("t")
    assert [shown(query) for query in queries(count(t, "a"), source("u"), t.filter("v > 1"))] == [
        ("main", "event", ["t"], [["a"]], ["s1", "s3"]),
        ("s2", "none", ["u"], [], ["s2"]),
    ]


def test_what_nobody_reads_is_in_no_query() -> None:
    t = source("t")
    count(t, "never")
    (query,) = queries(count(t, "a"))
    assert [node.name for node in query.operators] == ["a"]


def test_processing_time_has_a_query_of_its_own() -> None:
    t = source("t")
    wait = t.key_by("k").process(Wait, order="arrival").named("wait")
    assert [shown(query) for query in queries(count(t, "a"), wait, t.filter("v > 1"))] == [
        ("main", "event", ["t"], [["a"]], ["s1", "s3"]),
        ("s2", "processing", ["t"], [["wait"]], ["s2"]),
    ]


def test_an_operator_without_a_clock_goes_with_the_others() -> None:
    t = plain("t")
    wait = t.key_by("k").process(Wait, order="arrival").named("wait")
    after = count(wait, "after", order="arrival")
    assert [shown(query) for query in queries(after)] == [("main", "processing", ["t"], [["wait"], ["after"]], ["s1"])]


def test_a_watermark_is_a_clock_for_timers_to_come() -> None:
    (timed,) = queries(source("t").key_by("k").process(Count, order="arrival"))
    (never,) = queries(plain("t").key_by("k").process(Count, order="arrival"))
    assert (timed.clock, never.clock) == ("event", "none")


def test_clocks_behind_each_other_are_refused() -> None:
    t = source("t")
    wait = count(t, "a").key_by("k").process(Wait, order="arrival").named("wait")
    check_error(
        """
        CLOCKS_MIXED: wait uses processing time and is downstream of a, which uses event time; one Spark query has one clock
          at test_levels.py:*: wait = count(t, "a").key_by("k").process(Wait, order="arrival").named("wait")
          hint: use one clock, or write the first result to files and read them in a second job; clock="event" is the default
          more: headrace error CLOCKS_MIXED
        """,
        lambda: queries(wait),
    )


def test_clocks_beside_each_other_in_one_sink_are_refused() -> None:
    t = source("t")
    wait = t.key_by("k").process(Wait, order="arrival").named("wait")
    with pytest.raises(HeadraceError, match="s1 receives rows of a, which uses event time, and of wait, which uses processing time"):
        queries(count(t, "a").union(wait))


def test_state_that_both_clocks_need_is_refused() -> None:
    a = count(plain("t"), "a", order="arrival")
    wait = a.key_by("k").process(Wait, order="arrival").named("wait")
    timed = a.key_by("k").process(Both, order="arrival", other=count(source("u"), "b").key_by("k")).named("timed")
    with pytest.raises(HeadraceError, match="a feeds operators of event time and of processing time"):
        queries(wait, timed)


def test_lookups_stand_behind_the_level_that_they_wait_for_and_behind_each_other() -> None:
    def table(name: str) -> Any:
        return hr.lookup.memory([], f"k string, {name} string", name=name)

    rows = source("rows")
    first, other = rows.lookup(table("a"), on="k"), rows.lookup(table("b"), on="k")
    chained = first.lookup(table("c"), on="k")
    behind = chained.key_by("k").process(Count, time="ts").lookup(table("d"), on="k")
    sinks = [stream.write.console(name=f"s{n}")._use() for n, stream in enumerate([other, behind])]
    plan = Plan.of("", sinks)
    [query] = cut(plan, dict.fromkeys(plan.nodes, Clock("event", final=True)))
    names = [[[str(node.name) for node in nodes] for nodes in rounds] for rounds in query.lookups]
    assert names == [[["rows.lookup_b", "rows.lookup_a"], ["rows.lookup_a.lookup_c"]], [["rows.Count.lookup_d"]]]
