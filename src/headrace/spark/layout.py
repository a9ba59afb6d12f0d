"""Layouts of a program's state: which cell lies where in a stored row, from version to version.

A stored state row carries the number of its layout. Cells have ids that are never used again; a changed set of cells makes a new
layout, and the rows of the older ones are projected to it as they are read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.schema import parse_type


@dataclass(frozen=True)
class Cell:
    """A cell as the program declares it; `id` is 0 until a layout gives one. `key` is the type of a map's keys, `sql` an aggregate's."""

    name: str
    kind: str
    type: str
    was: str | None = None
    id: int = 0
    key: str | None = None
    sql: str | None = None
    expires_ms: int | None = None

    @property
    def said(self) -> str:
        """What it keeps, in words."""
        values = {
            "timer": "a timer" if self.key is None else f"a timer by {self.key}",
            "list": f"a list of {self.type}",
            "map": f"a map of {self.type} by {self.key}",
            "broadcast": f"a map of {self.type} by {self.key} for all keys",
            "aggregate": f"{self.sql} over {self.type}",
        }
        expires = "" if self.expires_ms is None or self.kind not in ENTRIES else " that expire"
        return values.get(self.kind, self.type) + expires

    def to_json(self) -> dict[str, Any]:
        told = {"id": self.id, "name": self.name, "kind": self.kind, "type": self.type}
        optional = {"key": self.key, "sql": self.sql, "expires_ms": self.expires_ms}
        return told | {field: given for field, given in optional.items() if given is not None}


@dataclass(frozen=True)
class Layout:
    number: int
    cells: tuple[Cell, ...]

    def to_json(self) -> dict[str, Any]:
        return {"number": self.number, "cells": [cell.to_json() for cell in self.cells]}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Layout:
        return cls(
            value["number"],
            tuple(
                Cell(c["name"], c["kind"], c["type"], id=c["id"], key=c.get("key"), sql=c.get("sql"), expires_ms=c.get("expires_ms"))
                for c in value["cells"]
            ),
        )


ENTRIES = ("list", "map")
"""The kinds of cells with entries, each of which may expire."""

FIXED = ("list", "map", "broadcast", "aggregate", "timer")
"""The kinds of cells whose values are not projected when they are read: they lie in pages, are a buffer of Spark's own, or times."""


class Unreadable(Exception):
    """What is stored in a cell cannot be read as it is declared now."""


def first(cells: Sequence[Cell]) -> Layout:
    return Layout(1, tuple(numbered(cell, i) for i, cell in enumerate(cells, 1)))


def numbered(cell: Cell, number: int) -> Cell:
    """A cell with its id, as a layout keeps it."""
    return replace(cell, was=None, id=number)


def follow(layouts: Sequence[Layout], cells: Sequence[Cell], *, offline: bool = False) -> tuple[Layout, ...]:
    """The layouts of a program whose cells are now `cells`: the same ones, or one more. `offline`: entries may be rewritten.

    >>> old = (first([Cell("n", "value", "int"), Cell("x", "value", "date")]),)
    >>> new = follow(old, [Cell("n", "value", "bigint"), Cell("y", "value", "string")])
    >>> [(c.id, c.name, c.type) for c in new[-1].cells]
    [(1, 'n', 'bigint'), (3, 'y', 'string')]
    """
    last = layouts[-1]
    used = max((cell.id for layout in layouts for cell in layout.cells), default=0)
    stored = {cell.name: cell for cell in last.cells}
    now: list[Cell] = []
    for cell in cells:
        # a name that is stored already wins over `was`: the rename happened in an earlier version
        old = stored.get(cell.name) or (stored.get(cell.was) if cell.was else None)
        if old is None:
            used += 1
            now.append(numbered(cell, used))
            continue
        if old.kind != cell.kind:
            raise Unreadable(f"the cell {cell.name} was a {old.kind} and is now a {cell.kind}")
        fits = old.said == cell.said if cell.kind in FIXED else widens(old.type, cell.type)
        if not (fits or (offline and rewritable(old, cell))):
            raise Unreadable(f"the cell {cell.name} was {old.said} and is now {cell.said}")
        now.append(numbered(cell, old.id))
    taken = [cell.id for cell in now]
    if len(set(taken)) < len(taken):
        twice = next(cell for cell in now if taken.count(cell.id) > 1)
        raise Unreadable(f"two cells say that they were one: {twice.name} among them")
    if tuple(now) == last.cells:
        return tuple(layouts)
    return (*layouts, Layout(last.number + 1, tuple(now)))


def rewritable(old: Cell, new: Cell) -> bool:
    """Whether what a cell keeps in pages can be rewritten offline: its values and keys are wider, entries expire or no longer do.

    >>> rewritable(Cell("x", "map", "int", key="int"), Cell("x", "map", "bigint", key="bigint", expires_ms=1))
    True
    """
    keyed = old.kind in (*ENTRIES, "broadcast") or (old.kind == "timer" and old.key is not None)
    keys = (old.key is None) == (new.key is None) and (old.key is None or finds(old.key, str(new.key)))
    return old.kind == new.kind and keyed and keys and widens(old.type, new.type)


def finds(old: str, new: str) -> bool:
    """Whether a key of the type `old` is found by the same value in the type `new`: 0.1 as float is another double than 0.1.

    >>> finds("int", "bigint"), finds("float", "double")
    (True, False)
    """
    return widens(old, new) and (str(parse_type(old)) != "float" or str(parse_type(new)) == "float")


_WHOLE = ("tinyint", "smallint", "int", "bigint")
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}


def _decimal(text: str) -> tuple[int, int] | None:
    found = re.fullmatch(r"decimal(?:\((\d+)(?:,(\d+))?\))?", text)
    return None if found is None else (int(found[1] or 10), int(found[2] or 0))


def widens(old: str, new: str) -> bool:
    """Whether every stored value of `old` is a value of `new`.

    >>> widens("int", "bigint"), widens("bigint", "int"), widens("date", "timestamp"), widens("decimal(8,2)", "decimal(10,3)")
    (True, False, True, True)
    """
    old, new = str(parse_type(old)), str(parse_type(new))
    if old == new:
        return True
    if old in _WHOLE and new in _WHOLE:
        return _WHOLE.index(old) < _WHOLE.index(new)
    to = _decimal(new)
    if to is not None:
        of = (_DIGITS[old], 0) if old in _WHOLE else _decimal(old)
        return of is not None and to[1] >= of[1] and to[0] - to[1] >= of[0] - of[1]
    exact = {"tinyint": ("float", "double"), "smallint": ("float", "double"), "int": ("double",), "float": ("double",)}
    times = {"date": ("timestamp", "timestamp_ntz")}
    return new in exact.get(old, ()) or new in times.get(old, ())
