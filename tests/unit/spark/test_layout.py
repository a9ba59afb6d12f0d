"""Layouts: cells keep their ids, and ids are never used again."""

from __future__ import annotations

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
