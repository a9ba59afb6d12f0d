"""What is known of queries: whether rows are taken away, and what each operator keeps."""

from __future__ import annotations

from typing import Any

import pytest

import headrace as hr
from headrace.ops import kind_of, unique
from headrace.plan import Plan, facts
from headrace.plan.node import Role

charges = hr.read.memory([], "card string, amount int", name="charges")
cards = hr.read.memory([], "number string, country string", name="cards")
changing = hr.read.memory([], "card string, amount int, op string", name="changing", change_column="op")
spent = charges.group_by("card").agg(spent="sum(amount)")

orders = hr.read.memory([], "pair string, ts timestamp", name="orders")
rates = hr.read.memory([], "pair string, at timestamp, rate double", name="rates")
timed = (orders.watermark("ts", "5 minutes"), rates.watermark("at", "5 minutes"))


def as_of(left: hr.Stream, right: hr.Stream, **more: str) -> hr.Stream:
    return left.join_asof(right, on="pair", time=("ts", "at"), **more)  # type: ignore[arg-type]  # all options are texts here


KINDS = {
    "a join as of a time": (as_of(orders, rates, how="inner"), "changes"),
    "one in event time": (as_of(*timed), "changes"),
    "one sent once": (as_of(*timed, emit="close"), "append"),
    "its late rows": (as_of(*timed).output("late"), "append"),
    "a filter": (charges.filter("amount > 1"), "append"),
    "an inner join": (charges.join(cards, on="card = number"), "append"),
    "a semi join": (charges.join(cards, on="card = number", how="semi"), "append"),
    "a left join": (charges.join(cards, on="card = number", how="left"), "changes"),
    "an anti join": (charges.join(cards, on="card = number", how="anti"), "changes"),
    "distinct": (charges.distinct(), "append"),
    "groups": (spent, "changes"),
    "first rows": (charges.top(1, by="amount"), "changes"),
    "a union with changes": (charges.union(changing), "changes"),
    "changes as rows": (spent.changes(), "append"),
    "a source of changes": (changing, "changes"),
    "the last row of each key": (charges.upserts("card"), "changes"),
    "its changes as rows": (charges.upserts("card").changes(), "append"),
    "its dead letters": (changing.output("dead_letter"), "changes"),
}


@pytest.mark.parametrize("name", KINDS)
def test_whether_rows_are_taken_away(name: str) -> None:
    stream, kind = KINDS[name]
    assert kind_of(stream._node) == kind


def test_a_sink_that_replaces_rows_needs_no_last_ones() -> None:
    def kept_for(sink: Any) -> str:
        plan = Plan.of("job", [sink._use()])
        (name,) = [name for name, node in plan.nodes.items() if node.op == "upserts"]
        return facts(plan, "state")[name].text

    table = "sqlite:spend.db"
    assert kept_for(charges.write.jdbc(table, "last", key="card")) == (
        "bounded: it keeps nothing, as its sink replaces the row of a key of card"
    )
    assert kept_for(charges.write.memory(name="out", key="card")) == "grows with the number of keys: the last row of a key of card"
    # who else looks at the rows has to know which ones go
    last = charges.upserts("card")
    assert kept_for(last.write.jdbc(table, "last", key="card")) == "grows with the number of keys: the last row of a key of card"


def test_explain_says_whether_rows_are_taken_away() -> None:
    plan = Plan.of("job", [spent.join(cards, on="card = number").write.memory(name="out")._use()])
    texts = {plan.nodes[name].op: fact.text for name, fact in facts(plan, "rows").items()}
    assert texts == {"source": "bounded, append only", "aggregate": "insertions and retractions", "join": "insertions and retractions"}


UNIQUE = {
    "the groups of an aggregate": (spent, ["card"], True),
    "more than them": (spent, ["spent", "CARD"], True),
    "something else": (spent, ["spent"], False),
    "the one row of all": (charges.group_by().agg(n="count(*)"), [], True),
    "under another name": (spent.rename({"card": "number"}), ["number"], True),
    "computed of it": (spent.select("spent", card="upper(card)"), ["card"], False),
    "rows of a source": (charges, ["card", "amount"], False),
    "each row once": (charges.distinct(), ["amount", "card"], True),
    "the first row of each": (charges.top(1, by="amount", per="card"), ["card"], True),
    "the first of each and its ties": (charges.top(1, by="amount", per="card", ties="rank"), ["card"], False),
    "the first two of each": (charges.top(2, by="amount", per="card"), ["card"], False),
    "rows by key": (charges.upserts("card"), ["card"], True),
    "a partner at the most": (spent.join(cards.upserts("number"), on="card = number", how="left"), ["card"], True),
    "many partners": (spent.join(cards, on="card = number"), ["card"], False),
    "both of a cross join": (spent.join(cards.upserts("number"), on="1 = 1"), ["card", "number"], True),
    "the left rows of a semi join": (spent.join(cards, on="card = number", how="semi"), ["card"], True),
    "rows of two": (spent.union(spent.filter("spent > 1")), ["card"], False),
}


@pytest.mark.parametrize("name", UNIQUE)
def test_what_tells_rows_apart(name: str) -> None:
    stream, columns, expected = UNIQUE[name]
    assert unique(stream._node, columns) is expected


def test_what_two_views_have_in_common_is_one_operator() -> None:
    again = charges.group_by("card").agg(spent="sum(amount)")
    ends = [spent.top(3, by="spent"), again.join(cards, on="card = number")]
    plan = Plan.of("job", [stream.write.memory(name=f"out {i}")._use() for i, stream in enumerate(ends)])
    assert [node.op for node in plan.nodes.values() if node.role is Role.STATEFUL] == ["aggregate", "top", "join"]
