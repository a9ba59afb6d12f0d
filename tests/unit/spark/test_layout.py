"""Layouts: cells keep their ids, and ids are never used again."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from headrace.spark.compile.layout import Cell, Layout, Unreadable, first, follow, widens

N, X = Cell("n", "value", "int"), Cell("x", "value", "string")


def test_the_same_cells_are_the_same_layout() -> None:
    layouts = (first([N, X]),)
    assert follow(layouts, [N, X]) == layouts


def test_ids_of_removed_cells_are_not_used_again() -> None:
    gone = follow((first([N, X]),), [N])
    back = follow(gone, [N, X])
    assert [[cell.id for cell in layout.cells] for layout in back] == [[1, 2], [1], [1, 3]]


def test_a_renamed_cell_keeps_its_id_and_may_keep_saying_what_it_was() -> None:
    renamed = follow((first([N]),), [Cell("count", "value", "int", was="n")])
    assert [(cell.id, cell.name) for cell in renamed[-1].cells] == [(1, "count")]
    assert follow(renamed, [Cell("count", "value", "int", was="n")]) == renamed


def test_a_swap_of_names_is_followed() -> None:
    a, b = Cell("a", "value", "int"), Cell("b", "value", "int")
    # `a` is still there by name, so it stays what it is
    assert [cell.id for cell in follow((first([a, b]),), [Cell("a", "value", "int", was="b"), b])[-1].cells] == [1, 2]


def test_two_cells_cannot_have_been_one() -> None:
    with pytest.raises(Unreadable, match="two cells continue the same earlier cell"):
        follow((first([N]),), [Cell("a", "value", "int", was="n"), Cell("b", "value", "int", was="n")])


@pytest.mark.parametrize(
    ("old", "new", "fits"),
    [
        ("int", "INTEGER", True),
        ("tinyint", "smallint", True),
        ("bigint", "decimal(19,0)", True),
        ("bigint", "decimal(18,0)", False),
        ("bigint", "double", False),
        ("int", "double", True),
        ("float", "double", True),
        ("double", "float", False),
        ("decimal(10,2)", "decimal(12,4)", True),
        ("decimal(10,2)", "decimal(11,4)", False),
        ("date", "timestamp", True),
        ("timestamp", "date", False),
        ("int", "string", False),
        ("array<int>", "array<int>", True),
        ("array<int>", "array<bigint>", False),
    ],
)
def test_what_widens(old: str, new: str, fits: bool) -> None:
    assert widens(old, new) is fits


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (Cell("c", "list", "int"), Cell("c", "list", "bigint"), "was a list of int and is now a list of bigint"),
        (Cell("c", "list", "int"), Cell("c", "list", "int", expires_ms=1), "was a list of int and is now a list of int that expire"),
        (
            Cell("c", "map", "int", key="int"),
            Cell("c", "map", "int", key="bigint"),
            "was a map of int by int and is now a map of int by bigint",
        ),
        (Cell("c", "timer", "timestamp"), Cell("c", "timer", "timestamp", key="int"), "was a timer and is now a timer by int"),
        (
            Cell("c", "timer", "timestamp", key="int"),
            Cell("c", "timer", "timestamp", key="string"),
            "was a timer by int and is now a timer by string",
        ),
        (
            Cell("c", "broadcast", "int", key="int"),
            Cell("c", "broadcast", "date", key="int"),
            "was a map of int by int for all keys and is now a map of date by int for all keys",
        ),
        (
            Cell("c", "aggregate", "x int", sql="sum(x)"),
            Cell("c", "aggregate", "x int", sql="max(x)"),
            "was sum(x) over x int and is now max(x) over x int",
        ),
    ],
)
def test_what_lies_in_pages_or_buffers_stays_as_it_is(old: Cell, new: Cell, reason: str) -> None:
    with pytest.raises(Unreadable, match=re.escape(f"the cell c {reason}")):
        follow((first([old]),), [new])
    assert len(follow((first([old]),), [old])) == 1


@pytest.mark.parametrize(
    ("old", "new", "cure"),
    [
        (
            Cell("n", "value", "bigint"),
            Cell("n", "value", "int"),
            '`was=` computes it from what was kept: n = hr.Value("int", was=hr.expr("CAST(n AS int)"))',
        ),
        (
            Cell("due", "value", "string"),
            Cell("due", "timer", "timestamp"),
            '`was=` computes it from what was kept: due = hr.Timer(was=hr.expr("CAST(due AS timestamp)"))',
        ),
        (
            Cell("xs", "list", "int"),
            Cell("xs", "value", "int"),
            "`was=` computes it from values and timers without keys, and xs was a list of int",
        ),
        (Cell("xs", "list", "int"), Cell("xs", "list", "date"), None),
    ],
)
def test_what_a_changed_cell_can_say(old: Cell, new: Cell, cure: str | None) -> None:
    with pytest.raises(Unreadable) as raised:
        follow((first([old]),), [new])
    assert raised.value.cure == cure


def test_a_duration_may_change() -> None:
    short, long = Cell("c", "list", "int", expires_ms=1), Cell("c", "list", "int", expires_ms=2)
    assert follow((first([short]),), [long])[-1].cells[0].id == 1


def computed(layouts: tuple[Layout, ...]) -> list[dict[int, str | None]]:
    return [{cell.id: cell.computed for cell in layout.cells} for layout in layouts]


def through_json(layouts: tuple[Layout, ...]) -> tuple[Layout, ...]:
    return tuple(Layout.from_json(json.loads(json.dumps(layout.to_json()))) for layout in layouts)


def test_a_computed_cell_is_computed_once() -> None:
    begun = follow((first([N, replace(X, computed="of nothing")]),), [N, replace(X, computed="of nothing")])
    assert computed(begun) == [{1: None, 2: None}]
    twice = Cell("twice", "value", "int", computed="n * 2")
    then = through_json(follow(begun, [N, twice]))
    assert computed(then) == [{1: None, 2: None}, {1: None, 3: "n * 2"}]
    assert follow(then, [N, twice]) == then
    # without it, the text stays for the keys that are still stored as they were
    assert follow(then, [N, replace(twice, computed=None)]) == then
    assert computed(follow(then, [twice])) == [{1: None, 2: None}, {1: None, 3: "n * 2"}, {3: None}]


def test_a_corrected_text_takes_the_place_of_the_one_before() -> None:
    twice = Cell("twice", "value", "int", computed="n * 2")
    then = follow((first([N]),), [N, twice])
    mended = follow(then, [N, replace(twice, computed="try_multiply(n, 2)")])
    assert computed(mended) == [{1: None}, {1: None, 2: "try_multiply(n, 2)"}]
    later = follow(then, [N, X, Cell("two", "value", "bigint", was="twice", computed=None)])
    assert computed(follow(later, [N, X, Cell("two", "value", "bigint", computed="n")])) == [
        {1: None},
        {1: None, 2: "n"},
        {1: None, 3: None, 2: None},
    ]


def test_another_type_or_kind_with_an_expression_is_a_new_cell() -> None:
    begun = (first([N, X]),)
    text = Cell("n", "value", "string", computed="hex(n)")
    then = follow(begun, [text, Cell("x", "timer", "timestamp", computed="CAST(x AS timestamp)")])
    assert [(cell.id, cell.name, cell.computed) for cell in then[-1].cells] == [(3, "n", "hex(n)"), (4, "x", "CAST(x AS timestamp)")]
    # and wider is what it was
    assert computed(follow(begun, [Cell("n", "value", "bigint", computed="hex(n)"), X]))[-1] == {1: None, 2: None}
