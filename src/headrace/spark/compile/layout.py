"""Layouts of a program's state: the place of each cell in a stored row, from version to version.

A stored state row has the number of its layout. Cells have ids that are never reused. A changed set of cells makes a new layout, and rows
of older ones are projected when they are read, from each layout to the next.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.plan.codec import typed
from headrace.program import KINDS
from headrace.schema import parse_type


@dataclass(frozen=True)
class Cell:
    """A cell as the program declares it; `id` is 0 until a layout assigns one. `key`: the type of a map's keys. `sql`: the expression of an
    aggregate. `computed`: the text of its first value over the cells of the previous layout; a layout has it only for a new cell.
    """

    name: str
    kind: str
    type: str
    was: str | None = None
    id: int = 0
    key: str | None = None
    sql: str | None = None
    expires_ms: int | None = None
    computed: str | None = None

    @property
    def description(self) -> str:
        """A description of what it keeps."""
        of = KINDS[self.kind]
        expires = " that expire" if self.expires_ms is not None and of.entries else ""
        return of.keeps(self.type, self.key, self.sql) + expires

    @property
    def projected(self) -> bool:
        """Whether a value that is stored in a narrower type is cast when it is read."""
        return KINDS[self.kind].projected

    @property
    def paged(self) -> bool:
        """Whether it keeps entries, or times by keys."""
        return KINDS[self.kind].entries or (KINDS[self.kind].fires and self.key is not None)

    @property
    def computable(self) -> bool:
        """Whether it keeps one value per key, from which others can be computed."""
        return KINDS[self.kind].computable and self.key is None

    def to_json(self) -> dict[str, Any]:
        document = {"id": self.id, "name": self.name, "kind": self.kind, "type": self.type}
        optional = {"key": self.key, "sql": self.sql, "expires_ms": self.expires_ms, "computed": self.computed}
        return document | {field: value for field, value in optional.items() if value is not None}


@dataclass(frozen=True)
class Layout:
    number: int
    cells: tuple[Cell, ...]

    def to_json(self) -> dict[str, Any]:
        return {"number": self.number, "cells": [cell.to_json() for cell in self.cells]}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Layout:
        return cls(typed(value["number"], int), tuple(_cell(cell) for cell in value["cells"]))


def _cell(document: dict[str, Any]) -> Cell:
    optional: dict[str, Any] = {name: typed(document.get(name), str | None) for name in ("key", "sql", "computed")}
    name, kind, type = (typed(document[field], str) for field in ("name", "kind", "type"))
    return Cell(name, kind, type, id=typed(document["id"], int), expires_ms=typed(document.get("expires_ms"), int | None), **optional)


class Unreadable(Exception):
    """A stored cell that cannot be read as it is now declared; `cure` is what its declaration can add."""

    def __init__(self, message: str, cure: str | None = None) -> None:
        super().__init__(message)
        self.cure = cure


def first(cells: Sequence[Cell]) -> Layout:
    return Layout(1, tuple(numbered(cell, i) for i, cell in enumerate(cells, 1)))


def numbered(cell: Cell, number: int) -> Cell:
    """Return a cell with its id, as a layout has it if the cell existed before."""
    return replace(cell, was=None, id=number, computed=None)


def follow(layouts: Sequence[Layout], cells: Sequence[Cell], *, offline: bool = False) -> tuple[Layout, ...]:
    """Return the layouts of a program whose cells are now `cells`: the same ones, or one more. `offline`: entries may be rewritten.

    >>> old = (first([Cell("n", "value", "int"), Cell("x", "value", "date")]),)
    >>> new = follow(old, [Cell("n", "value", "bigint"), Cell("y", "value", "string", computed="hex(n)")])
    >>> [(c.id, c.name, c.type, c.computed) for c in new[-1].cells]
    [(1, 'n', 'bigint', None), (3, 'y', 'string', 'hex(n)')]
    """
    last = layouts[-1]
    used = max((cell.id for layout in layouts for cell in layout.cells), default=0)
    stored = {cell.name: cell for cell in last.cells}
    now: list[Cell] = []
    texts: dict[int, str] = {}
    for cell in cells:
        # a stored name takes precedence over `was`: the rename happened in an earlier version
        old = stored.get(cell.name) or (stored.get(cell.was) if cell.was else None)
        unread = None if old is None or (offline and rewritable(old, cell)) else _unread(old, cell)
        if old is None or (unread is not None and cell.computed is not None):
            used += 1
            now.append(replace(cell, was=None, id=used))
        elif unread is not None:
            raise Unreadable(unread, _computed_anew(old, cell))
        else:
            now.append(numbered(cell, old.id))
            if cell.computed is not None:
                texts[old.id] = cell.computed
    taken = [cell.id for cell in now]
    if len(set(taken)) < len(taken):
        twice = next(cell for cell in now if taken.count(cell.id) > 1)
        raise Unreadable(f"two cells continue the same earlier cell: {twice.name} is one of them")
    known = tuple(_corrected(layout, texts) for layout in layouts)
    if tuple(now) == tuple(replace(cell, computed=None) for cell in last.cells):
        return known
    return (*known, Layout(last.number + 1, tuple(now)))


def _unread(old: Cell, new: Cell) -> str | None:
    """Return why a stored cell cannot be read as it is now declared, or None."""
    if old.kind != new.kind:
        return f"the cell {new.name} was a {old.kind} and is now a {new.kind}"
    if not (widens(old.type, new.type) if new.projected else old.description == new.description):
        return f"the cell {new.name} was {old.description} and is now {new.description}"
    return None


def _computed_anew(old: Cell, new: Cell) -> str | None:
    """Describe how a cell with one value per key gets its first value from what was kept; None if it cannot."""
    if not new.computable:
        return None
    if not old.computable:
        return f"`was=` computes it from values and timers without keys, and {old.name} was {old.description}"
    type_argument = f'"{new.type}", ' if new.kind == "value" else ""
    cast = f"CAST({old.name} AS {new.type})"
    return f'`was=` computes it from what was kept: {new.name} = hr.{new.kind.capitalize()}({type_argument}was=hr.expr("{cast}"))'


def _corrected(layout: Layout, texts: Mapping[int, str]) -> Layout:
    """Return a layout whose computed cells have the program's current texts.

    Keys that are still stored in an earlier layout are computed by the new text. Otherwise a text that fails for one of them could never be
    corrected, and the job could not continue.
    """
    cells = tuple(cell if cell.computed is None else replace(cell, computed=texts.get(cell.id, cell.computed)) for cell in layout.cells)
    return replace(layout, cells=cells)


def rewritable(old: Cell, new: Cell) -> bool:
    """Return whether the pages of a cell can be rewritten offline: its values and keys are wider, entries expire or no longer do.

    >>> rewritable(Cell("x", "map", "int", key="int"), Cell("x", "map", "bigint", key="bigint", expires_ms=1))
    True
    """
    keys = (old.key is None) == (new.key is None) and (old.key is None or finds(old.key, str(new.key)))
    return old.kind == new.kind and old.paged and keys and widens(old.type, new.type)


def finds(old: str, new: str) -> bool:
    """Return whether a key of the type `old` is found by the same value in the type `new`: 0.1 as float is another double than 0.1.

    >>> finds("int", "bigint"), finds("float", "double")
    (True, False)
    """
    return widens(old, new) and (str(parse_type(old)) != "float" or str(parse_type(new)) == "float")


_WHOLE = ("tinyint", "smallint", "int", "bigint")
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}


def _decimal(text: str) -> tuple[int, int] | None:
    match = re.fullmatch(r"decimal(?:\((\d+)(?:,(\d+))?\))?", text)
    return None if match is None else (int(match[1] or 10), int(match[2] or 0))


def widens(old: str, new: str) -> bool:
    """Return whether every stored value of `old` is a value of `new`.

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
