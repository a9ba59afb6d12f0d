"""Layouts: cells keep their ids, and ids are never used again."""

from __future__ import annotations

import re

import pytest

from headrace.spark.layout import Cell, Unreadable, first, follow, widens

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
    with pytest.raises(Unreadable, match="two cells say that they were one"):
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
    ("old", "new", "said"),
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
def test_what_lies_in_pages_or_buffers_stays_as_it_is(old: Cell, new: Cell, said: str) -> None:
    with pytest.raises(Unreadable, match=re.escape(f"the cell c {said}")):
        follow((first([old]),), [new])
    assert len(follow((first([old]),), [old])) == 1


def test_a_duration_may_change() -> None:
    short, long = Cell("c", "list", "int", expires_ms=1), Cell("c", "list", "int", expires_ms=2)
    assert follow((first([short]),), [long])[-1].cells[0].id == 1
