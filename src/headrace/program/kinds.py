"""The kinds of cells, by name: facts that the class of a cell declares and other stages need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class CellKind:
    """The facts of one kind of cell.

    `needs`: the fields that a cell must have besides its type. `keeps`: describes what a cell keeps, from its type, key and SQL.
    `entries`: it keeps any number of entries, which expire separately. `projected`: its type can be widened, because a stored
    value is cast when it is read; other kinds keep pages, a buffer of Spark's or times. `computable`: without a key it keeps one value,
    from which others can be computed. `fires`: it has a handler of its own.
    """

    needs: tuple[str, ...]
    keeps: Callable[[str, str | None, str | None], str]
    entries: bool
    projected: bool
    computable: bool
    fires: bool


KINDS: dict[str, CellKind] = {}
