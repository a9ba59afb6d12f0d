"""State that is to be forgotten: where it can be, what the plan says of it, and what is told of it."""

from __future__ import annotations

import json

import pytest

import headrace as hr
from headrace.analysis.expiry import require_expiry
from headrace.ops import kind_of, unique
from headrace.plan import Plan
from tests.unit.errors import check_error

plain = hr.read.memory([], "card string, ts timestamp, amount int", name="charges")
charges = plain.watermark("ts", "5 minutes")
cards = hr.read.memory([], "number string, country string, op string", name="cards", change_column="op")


def plan(stream: hr.Stream) -> Plan:
    return Plan.of("job", [stream.write.memory(name="out", mode="changes")._use()])


def checked(stream: hr.Stream) -> None:
    require_expiry(plan(stream))


def test_no_watermark() -> None:
    check_error(
        """
        NO_WATERMARK: spent expires by event time, but none of its sources has a watermark
          at test_expiry.py:*: return plain.group_by("card", expires="7 days").agg(spent="sum(amount)").named("spent")
          hint: add a watermark to a source: .watermark("ts", "5 minutes"); or leave expires out
          more: headrace error NO_WATERMARK
        """,
        lambda: checked(timeless()),
    )
    checked(charges.join(cards, on="card = number", expires="7 days"))  # one side has one


def timeless() -> hr.Stream:
    return plain.group_by("card", expires="7 days").agg(spent="sum(amount)").named("spent")


@pytest.mark.parametrize(
    "stream",
    [
        charges.group_by(expires="1 day").agg(n="count(*)"),
        charges.top(3, by="amount", expires="1 day"),
        charges.join(cards, on="amount > length(number)", expires="1 day"),
    ],
)
def test_one_group(stream: hr.Stream) -> None:
    with pytest.raises(hr.PlanError, match=r"BAD_EXPIRY: .* cannot expire"):
        checked(stream)


def test_one_group_whole() -> None:
    check_error(
        """
        BAD_EXPIRY: best cannot expire: without keys all its rows are one group
          at test_expiry.py:*: return charges.top(3, by="amount", expires="1 day").named("best")
          hint: add keys: group_by("card"), per="card", on="card"; or leave expires out
          more: headrace error BAD_EXPIRY
        """,
        lambda: checked(best()),
    )


def best() -> hr.Stream:
    return charges.top(3, by="amount", expires="1 day").named("best")


def test_groups_that_close() -> None:
    check_error(
        """
        BAD_EXPIRY: spent cannot expire: its groups close, which releases their state
          at test_expiry.py:*: return windowed.group_by("window_end", "card", expires="1 day").agg(s="sum(amount)").named("spent")
          hint: leave expires out; .window(..., lateness="1 hour") keeps groups open longer
          more: headrace error BAD_EXPIRY
        """,
        lambda: checked(windows()),
    )


def windows() -> hr.Stream:
    windowed = charges.window(hr.tumble("ts", "1 hour"))
    return windowed.group_by("window_end", "card", expires="1 day").agg(s="sum(amount)").named("spent")


def test_durations() -> None:
    check_error(
        """
        BAD_EXPIRY: group_by: `expires` is zero, so everything would be forgotten at once
          at test_expiry.py:*: lambda: charges.group_by("card", expires="0 days"),
          hint: set a duration: expires="7 days"; without it, state is kept
          more: headrace error BAD_EXPIRY
        """,
        lambda: charges.group_by("card", expires="0 days"),
    )
    check_error(
        """
        BAD_EXPIRY: dedupe takes within or expires, not both
          at test_expiry.py:*: lambda: charges.dedupe(on="card", within="1 hour", expires="1 hour"),
          hint: leave one out: within counts from the first row of a key, expires from the last
          more: headrace error BAD_EXPIRY
        """,
        lambda: charges.dedupe(on="card", within="1 hour", expires="1 hour"),
    )
    with pytest.raises(hr.SchemaError, match="BAD_DURATION"):
        charges.distinct(expires="a week or so")


VERBS = {
    "group_by": (
        lambda after: charges.group_by("card", expires=after).agg(n="count(*)"),
        "forgotten when a group of card has had no row for 7 days of event time; its output stays, a later row starts it over; until then: grows with the number of groups: a row of numbers for a group of card",
    ),
    "distinct": (
        lambda after: charges.select("card", "amount").distinct(expires=after),
        "forgotten when a group of card, amount has had no row for 7 days of event time; its output stays, a later row starts it over; until then: grows with the number of groups: a row of numbers for a group of card, amount",
    ),
    "top": (
        lambda after: charges.top(2, by="amount", per="card", expires=after),
        "forgotten when a group of card has had no row for 7 days of event time; its output stays, a later row starts it over; until then: grows with the number of partitions: the first 2 rows of each partition of card",
    ),
    "dedupe": (
        lambda after: charges.dedupe(on="card", by="amount", expires=after),
        "forgotten when a group of card has had no row for 7 days of event time; its output stays, a later row starts it over; until then: grows with the number of partitions: the first 1 rows of each partition of card",
    ),
    "join": (
        lambda after: charges.join(cards, on="card = number", how="right", expires=after),
        "forgotten when a group of number has had no row for 7 days of event time; its output stays, a later row starts it over; retractions of forgotten rows are late; until then: grows with the rows of both sides; a later row may match any of them",
    ),
}


@pytest.mark.parametrize("verb", VERBS)
def test_what_a_plan_says_of_it(verb: str) -> None:
    make, _ = VERBS[verb]
    stream, before = make("7 days"), make(None)  # type: ignore[no-untyped-call]  # a verb of any kind
    [node] = [one for one in plan(stream).to_json()["nodes"] if "expires_ms" in one]
    assert node["expires_ms"] == 604_800_000
    again = Plan.from_json(json.loads(json.dumps(plan(stream).to_json())))
    assert again.fingerprint == plan(stream).fingerprint != plan(before).fingerprint
    assert "expires_ms" not in json.dumps(plan(before).to_json())
    assert again.nodes[node["name"]].describe().endswith(", expires after 7 days")
    assert kind_of(stream._node) == kind_of(before._node)


def test_late_rows_are_those_that_take_away_what_is_forgotten() -> None:
    joined = charges.join(cards, on="card = number", expires="1 day")
    assert joined.output("late_right").columns == ("number", "country")
    check_error(
        """
        UNKNOWN_OUTPUT: join(charges, cards.ledger) has no output `late`
          at test_expiry.py:*: lambda: joined.output("late"),
          hint: it has: dead_letter, late_right
          more: headrace error UNKNOWN_OUTPUT
        """,
        lambda: joined.output("late"),
    )


def test_the_groups_are_still_what_a_sink_is_keyed_by() -> None:
    assert unique(charges.group_by("card", expires="1 day").agg(n="count(*)")._node, ["card"])
