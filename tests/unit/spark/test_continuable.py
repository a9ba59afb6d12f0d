"""Which stores a new version of a query continues in place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from headrace.spark.checkpoint.record import Totals
from headrace.spark.compile.identity import Entry, QueryIdentity
from headrace.spark.compile.shapes import Shape
from headrace.spark.deploy.parts import ContinuedText
from headrace.spark.deploy.stores import Origin, continuable

KEYS = {1: 100, 2: 20, 3: 30, 4: 500}


def query(*entries: Entry, name: str = "main", levels: int = 1, clock: str = "event") -> QueryIdentity:
    return QueryIdentity(name, ("rows",), levels, clock, entries)


def operator(op: int, level: int = 1) -> Entry:
    return Entry(op, Shape(f"operator {op}", "program", level))


def origin(*entries: Entry, name: str = "main", epoch: int = 7, partitions: int = 2, rebuilt: frozenset[int] | None = None) -> Origin:
    return Origin(query(*entries, name=name, levels=2), Path(name), epoch, partitions, rebuilt)


def continued(new: QueryIdentity, *origins: Origin, changed: tuple[int, ...] = ()) -> dict[int, ContinuedText]:
    totals = Totals(7, {("", op, 0, "keys"): n for op, n in KEYS.items()})
    return dict(continuable(new, [(one, totals) for one in origins], partitions=2, changed=changed))


def test_operators_that_are_added() -> None:
    assert continued(query(operator(1), operator(2)), origin(operator(1))) == {1: ContinuedText(origin=0, others=False)}


def test_operators_that_are_gone() -> None:
    left_out = replace(operator(2), retired=True)
    for old in (operator(2), left_out):
        assert continued(query(operator(1), left_out), origin(operator(1), old)) == {1: ContinuedText(origin=0, others=True)}


def test_an_operator_that_moves_to_another_level() -> None:
    moved = query(operator(1), operator(2, level=2), levels=2)
    assert continued(moved, origin(operator(1), operator(2))) == {1: ContinuedText(origin=0, others=True)}


def test_more_is_removed_than_stays() -> None:
    assert continued(query(operator(1)), origin(operator(1), operator(4))) == {}


def test_rows_that_change() -> None:
    assert continued(query(operator(1), operator(2)), origin(operator(1), operator(2)), changed=(2,)) == {}
    assert continued(query(operator(1), operator(2)), origin(operator(1)), changed=(2,)).keys() == {1}


def test_stores_of_another_kind() -> None:
    now = query(operator(1))
    assert continued(now, origin(operator(1), partitions=3)) == {}
    assert continued(replace(now, clock="none"), origin(operator(1))) == {}
    # its next epoch is not the one after the latest of all
    assert continued(now, origin(operator(1), epoch=6), origin(operator(2), name="other")) == {}


def test_the_query_with_the_most_keys() -> None:
    now = query(operator(1), operator(2), operator(3))
    first, other = origin(operator(2), operator(3)), origin(operator(1), name="other")
    assert continued(now, first, other) == {1: ContinuedText(origin=1, others=False)}


def test_a_shadow_run() -> None:
    """Of any epoch; other operators that it ran are removed from its stores."""
    now, old = query(operator(1), operator(2), operator(4)), origin(operator(1), operator(2))
    for ran, others in (((4,), False), ((1, 4), True)):
        shadow = origin(*map(operator, ran), epoch=0, rebuilt=frozenset({4}))
        assert continued(now, old, shadow) == {1: ContinuedText(origin=1, others=others)}
    assert continued(now, old, origin(operator(2), epoch=0, rebuilt=frozenset({2}))) == {1: ContinuedText(origin=0, others=False)}
    # more of it is removed than stays
    assert continued(
        query(operator(3), operator(4)), origin(operator(3)), origin(operator(2), operator(4), epoch=0, rebuilt=frozenset({2}))
    ) == {1: ContinuedText(origin=0, others=False)}
