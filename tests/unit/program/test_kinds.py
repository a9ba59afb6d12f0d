"""Each kind of cell says how it is kept, and one that leaves out a part of it cannot be declared."""

from __future__ import annotations

import pytest

import headrace as hr
from headrace.program import KINDS, Cell

CELLS: tuple[type[Cell], ...] = (hr.Value, hr.Timer, hr.List, hr.Map, hr.Broadcast, hr.Aggregate)


def test_facts_of_each_kind_of_cell() -> None:
    assert {kind: (of.needs, of.entries, of.projected, of.computable, of.fires) for kind, of in KINDS.items()} == {
        "value": ((), False, True, True, False),
        "timer": (("clock",), False, False, True, True),
        "list": ((), True, False, False, False),
        "map": (("key",), True, False, False, False),
        "broadcast": (("key",), True, False, False, False),
        "aggregate": (("sql",), False, False, False, False),
    }
    assert set(KINDS) == {cell.kind for cell in CELLS}
    assert [KINDS[kind].keeps("int", "string", "max(x)") for kind in sorted(KINDS)] == [
        "max(x) over int",
        "a map of int by string for all keys",
        "a list of int",
        "a map of int by string",
        "a timer by string",
        "int",
    ]


def test_a_kind_that_leaves_something_out_cannot_be_declared() -> None:
    with pytest.raises(TypeError, match=r"^Silent does not define: needs, entries, projected, _keeps$"):
        type("Silent", (Cell,), {"kind": "silent"})
    with pytest.raises(TypeError, match=r"^Quiet does not define: entries$"):
        type("Quiet", (Cell,), {"kind": "quiet", "needs": (), "projected": True, "_keeps": staticmethod(lambda *arguments: "")})
    assert not {"silent", "quiet"} & set(KINDS)
