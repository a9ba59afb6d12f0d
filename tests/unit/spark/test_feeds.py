"""Feeds: the ways rows take, as steps; and where key columns come from."""

from __future__ import annotations

from typing import Any

import headrace as hr
from headrace.analysis.schemas import Schemas
from headrace.plan import Plan
from headrace.schema import parse_schema
from headrace.spark.compile.feeds import Feed, Feeds, lineage
from headrace.spark.compile.lower import Lowering, shape
from headrace.spark.compile.shapes import Shape

SCHEMA = "card string, amount int"


class Seen(hr.Program):
    def on_event(self, e: hr.Row) -> None:
        hr.emit(k=self.key.k)


def feeds(stream: hr.Stream, **schemas: str) -> tuple[Feed, ...]:
    plan = Plan.of("", [stream._node])
    of = {name: parse_schema(schemas.get(name.replace(".", "_"), SCHEMA)) for name in plan.nodes}
    return Feeds(plan, of).into(plan.nodes[plan.sinks[0]])


def steps(feed: Feed) -> list[Any]:
    written = [step.to_json() for step in feed.steps]
    return [next(step[kind] for kind in ("where", "project", "generate") if kind in step) for step in written]


def read(name: str) -> hr.Stream:
    return hr.read.memory([], SCHEMA, name=name)


def test_a_chain_is_one_feed() -> None:
    (feed,) = feeds(read("t").filter("amount > 1", "card = 'a'").select("card", cents="amount * 100"))
    assert (feed.producer, feed.output) == ("t", "main")
    assert steps(feed)[-1] == [["card", "card"], ["cents", "amount * 100"]]
    assert feed.steps[-1].place.node == "t.filter.select"


def test_a_union_is_a_feed_for_each_branch() -> None:
    north, south = read("north").filter("amount > 1"), read("south")
    branches = feeds(north.union(south).filter("amount < 9"))
    assert [(feed.producer, steps(feed)) for feed in branches] == [("north", ["amount > 1", "amount < 9"]), ("south", ["amount < 9"])]


def test_branches_are_brought_to_the_columns_of_the_union() -> None:
    north, south = read("north"), hr.read.memory([], "amount bigint, card string", name="south")
    branches = feeds(north.union(south), south="amount bigint, card string", north_union="card string, amount bigint")
    assert [steps(feed) for feed in branches] == [
        [[["card", "card"], ["amount", "CAST(amount AS bigint)"]]],
        [[["card", "card"], ["amount", "amount"]]],
    ]


def test_a_lookup_gives_rows_of_its_own_and_is_seen_through_for_where_they_come_from() -> None:
    """So a program keeps its state when one is put in front of it."""
    table = hr.lookup.memory([], "card string, place string", name="places")
    looked_up = read("t").filter("amount > 1").lookup(table, on="card")
    plan = Plan.of("", [looked_up.select("card", "place")._node])
    plan_feeds = Feeds(plan, {})
    (feed,) = plan_feeds.into(plan.nodes[plan.sinks[0]])
    assert (feed.producer, feed.output, steps(feed)) == ("t.filter.lookup_places", "main", [[["card", "card"], ["place", "place"]]])
    (longer,) = plan_feeds.before_lookups(plan.nodes[plan.sinks[0]])
    assert lineage(longer, ("card",)) == ("card of t",)
    assert lineage(longer, ("place",)) == ("place = lookup_places(card)", "card of t")


def test_dead_letters_are_another_output() -> None:
    (feed,) = feeds(read("t").output("dead_letter").filter("reason LIKE 'x%'"))
    assert (feed.producer, feed.output, steps(feed)) == ("t", "dead_letter", ["reason LIKE 'x%'"])


def test_a_long_chain_needs_no_deep_stack() -> None:
    stream = read("t")
    for number in range(3000):
        stream = stream.filter(f"amount > {number}")
    (feed,) = feeds(stream)
    assert len(feed.steps) == 3000


def test_lineages_see_through_renames_and_not_through_filters() -> None:
    t = read("t")
    (plain,) = feeds(t)
    (filtered,) = feeds(t.filter("amount > 1").with_columns(more="amount + 1").select("card"))
    (renamed,) = feeds(t.rename({"card": "c"}).rename({"c": "card"}))
    (other,) = feeds(t.with_columns(card="upper(card)"))
    assert lineage(plain, ("card",)) == lineage(filtered, ("card",)) == ("card of t",)
    assert lineage(renamed, ("card",)) != lineage(other, ("card",))
    assert lineage(other, ("card",)) == ("card = upper(card)", "card of t")


def test_a_text_that_sqlglot_cannot_read_uses_every_column() -> None:
    t = read("t")
    (shifted,) = feeds(t.with_columns(card="upper(card)").with_columns(b="amount >>> 3").select("b"))
    (other,) = feeds(t.with_columns(card="lower(card)").with_columns(b="amount >>> 3").select("b"))
    assert lineage(shifted, ("b",)) == ("b = amount >>> 3", "card = upper(card)", "* of t")
    assert lineage(shifted, ("b",)) != lineage(other, ("b",))
    assert lineage(shifted, None) == ("b = amount >>> 3", "card = upper(card)", "* of t")


def test_a_key_that_sqlglot_cannot_read_uses_every_column() -> None:
    def keyed(card: str) -> Shape:
        stream = read("t").with_columns(card=card).key_by(hr.expr("amount >>> 3").alias("k")).process(Seen)
        plan = Plan.of("", [stream._node])
        of = {name: parse_schema(SCHEMA) for name in plan.nodes}
        keys = {name: parse_schema("k int") for name in plan.nodes}
        return shape(plan.nodes[plan.sinks[0]], 1, Lowering(plan, Schemas(of, {}, keys, {}, {}, frozenset(), {}), Feeds(plan, of)))

    assert keyed("upper(card)").inputs["event"].key == ("amount >>> 3", "* of t", "card = upper(card)")
    assert keyed("upper(card)").inputs != keyed("lower(card)").inputs


def test_lineages_see_generated_columns() -> None:
    (feed,) = feeds(hr.read.memory([], "xs array<int>", name="t").explode("xs", as_="x"))
    assert lineage(feed, ("x",))[-1] == "xs of t"
