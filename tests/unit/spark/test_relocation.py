"""Operators and sinks found wherever they lie: at other levels, in merged, divided and renamed queries."""

from __future__ import annotations

from dataclasses import replace

from headrace.spark.compile.identity import DEAD_LETTERS, Identity, identify
from headrace.spark.compile.relocation import Relocation, relocate
from headrace.spark.compile.shapes import LOOKUP, SINK, QueryShape, Shape

DEAD = Shape(DEAD_LETTERS, SINK)


def operator(name: str, level: int = 1) -> Shape:
    return Shape(name, "aggregate", level, "k int", content=name)


def query(*shapes: Shape, name: str = "main", sources: tuple[str, ...] = ("rows",), clock: str = "none") -> QueryShape:
    levels = max((shape.level for shape in shapes), default=0)
    return QueryShape(name, sources, levels, clock, (*shapes, DEAD))


def stored(*queries: QueryShape) -> Identity:
    return identify(Identity(), queries)[0]


def numbers(identity: Identity) -> dict[str, int]:
    return {name: entry.op for one in identity.queries for name, entry in one.live().items() if name != DEAD_LETTERS}


def moved(relocation: Relocation) -> dict[str, bool]:
    return {one.identity.name: one.moved for one in relocation.queries.values()}


A, B, C = operator("a"), operator("b"), operator("c")
OUT_A, OUT_B = Shape("out_a", SINK), Shape("out_b", SINK)


def test_a_version_without_changes_stays_where_it_is() -> None:
    before = stored(query(A, OUT_A))
    relocation = relocate(before, [query(A, OUT_A)])
    assert (relocation.identity, relocation.names, moved(relocation), relocation.gone) == (before, {"main": "main"}, {"main": False}, ())


def test_operators_at_other_levels_keep_their_numbers() -> None:
    before = stored(query(A, OUT_A))
    relocation = relocate(before, [query(replace(A, level=2), B, OUT_A)])
    assert numbers(relocation.identity) == {"a": 1, "out_a": 2, "b": 4}
    assert moved(relocation) == {"main": True}
    assert relocation.queries["main"].origins == ("main",)


def test_queries_that_become_one() -> None:
    before = stored(query(A, OUT_A), query(B, OUT_B, name="out_b", sources=("prices",)))
    relocation = relocate(before, [query(A, B, C, OUT_A, OUT_B, sources=("prices", "rows"))])
    one = relocation.queries["main"]
    assert (relocation.names, one.origins, relocation.gone) == ({"main": "main"}, ("main", "out_b"), ("out_b",))
    assert numbers(relocation.identity) == {"a": 1, "out_a": 2, "b": 4, "out_b": 5, "c": 7}
    assert (one.moved, one.identity.sources, [query.name for query in relocation.identity.queries]) == (True, ("prices", "rows"), ["main"])
    # its place knows the sink by the query in which it began
    assert {name: entry.home for name, entry in one.identity.live().items() if entry.home} == {"out_b": "out_b"}


def test_a_query_that_becomes_two_and_one_again() -> None:
    both = query(A, B, OUT_A, OUT_B, sources=("prices", "rows"))
    apart = [query(A, OUT_A), query(B, OUT_B, name="out_b", sources=("prices",))]
    before = stored(both)
    relocation = relocate(before, apart)
    assert relocation.names == {"main": "main", "out_b": "out_b"}
    assert numbers(relocation.identity) == numbers(before)
    assert moved(relocation) == {"main": True, "out_b": True}
    assert [one.origins for one in relocation.queries.values()] == [("main",), ("main",)]
    # nothing of the other part is left, neither state nor a sink that could be mistaken for it
    assert all(entry.shape.name not in ("b", "out_b") for entry in relocation.identity.query("main").entries)
    assert relocation.identity.query("out_b").live()["out_b"].home == "main"
    again = relocate(relocation.identity, [both])
    assert (numbers(again.identity), again.gone) == (numbers(before), ("out_b",))
    assert not any(entry.home for entry in again.identity.query("main").entries)
    # a start accepts each of them
    assert identify(relocation.identity, apart)[0].queries and identify(again.identity, [both])[0].queries


def test_what_the_job_no_longer_has() -> None:
    before = stored(query(A, B, OUT_A, OUT_B))
    same = relocate(before, [query(A, OUT_A)])
    assert moved(same) == {"main": False}
    assert {entry.shape.name for entry in same.identity.query("main").entries if entry.retired} == {"b", "out_b"}
    # where stores are written anew, an operator that is gone leaves nothing in them; a sink is remembered
    deeper = relocate(before, [query(A, replace(C, level=2), OUT_A)])
    assert {entry.shape.name for entry in deeper.identity.query("main").entries if entry.retired} == {"out_b"}


def test_sources_and_clocks() -> None:
    before = stored(query(A, OUT_A))
    for now in (query(A, OUT_A, sources=("more", "rows")), query(A, OUT_A, clock="event")):
        relocation = relocate(before, [now])
        assert (moved(relocation), numbers(relocation.identity)) == ({"main": True}, numbers(before))


LOOKUP_OF_BOTH = Shape("rates", LOOKUP)


def test_a_lookup_of_two_queries() -> None:
    both = [query(A, LOOKUP_OF_BOTH, OUT_A), query(B, LOOKUP_OF_BOTH, OUT_B, name="out_b")]
    before = stored(*both)
    relocation = relocate(before, both)
    assert (relocation.identity, moved(relocation)) == (before, {"main": False, "out_b": False})


def test_a_new_query_does_not_take_the_place_of_another() -> None:
    before = stored(query(A, OUT_A))
    relocation = relocate(before, [query(C, name="new"), query(A, OUT_A)])
    assert (relocation.names, moved(relocation)) == ({"new": "new", "main": "main"}, {"new": False, "main": False})
    assert relocation.queries["new"].before is None


def test_the_query_with_most_parts_of_another_continues_it() -> None:
    before = stored(query(A, B, OUT_A, OUT_B))
    relocation = relocate(before, [query(B, name="one"), query(A, OUT_A, OUT_B, name="two")])
    assert relocation.names == {"one": "one", "two": "main"}


def test_a_query_that_is_left_out_loses_its_state_and_is_known() -> None:
    both = [query(A, OUT_A), query(B, OUT_B, name="out_b", sources=("prices",))]
    without = relocate(stored(*both), both[:1])
    assert [(entry.shape.name, entry.retired) for entry in without.identity.query("out_b").entries] == [
        ("b", True),
        ("out_b", False),
        (DEAD_LETTERS, False),
    ]
    again = relocate(without.identity, both)
    assert again.names == {"main": "main", "out_b": "out_b"}
    assert numbers(again.identity)["b"] > numbers(stored(*both))["b"]


def test_a_sink_that_comes_back_in_another_query_keeps_its_place() -> None:
    apart = [query(A, OUT_A), query(B, OUT_B, name="out_b", sources=("prices",))]
    merged = relocate(stored(*apart), [query(A, B, OUT_A, sources=("prices", "rows"))])
    back = relocate(merged.identity, [query(A, B, OUT_A, OUT_B, sources=("prices", "rows"))])
    assert back.identity.query("main").live()["out_b"].home == "out_b"
    # it was left out with its query, and comes back in the other
    left = relocate(stored(*apart), apart[:1])
    joined = relocate(left.identity, [query(A, OUT_A, OUT_B, sources=("prices", "rows"))])
    assert joined.queries["main"].origins == ("main", "out_b")
    assert joined.identity.query("main").live()["out_b"].home == "out_b"


def test_timers_that_go_with_the_event_time_of_a_query() -> None:
    timed = replace(A, kind="program", clock="event")
    before = stored(query(timed, OUT_A, clock="event"))
    relocation = relocate(before, [query(replace(timed, clock="none"), OUT_A)])
    assert relocation.errors["a"].message == (
        "a no longer has timers, and no other part of its query uses event time, but the checkpoint holds state of the earlier version"
    )
    assert not relocate(before, [query(replace(timed, clock="none"), OUT_A, clock="event")]).errors


def test_a_new_query_beside_the_old_one() -> None:
    before = stored(query(A, OUT_A))
    relocation = relocate(before, [query(A, OUT_A), query(B, OUT_B, name="out_b", sources=("prices",))])
    new = relocation.queries["out_b"]
    assert (new.before, new.origins, new.moved, moved(relocation)["main"]) == (None, (), False, False)
