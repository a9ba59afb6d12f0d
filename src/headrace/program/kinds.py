"""The kinds of cells: what others ask about a cell by the name of its kind. Each is declared by the class of the cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class CellKind:
    """`needs` is what has to be said of a cell besides its type; `keeps` says in words what it keeps, of its type, key and SQL.

    `entries`: it keeps any number of entries, each of which may expire by itself. `projected`: what is stored in a narrower type is cast
    when it is read; the others lie in pages, are a buffer of Spark's own, or times. `computable`: without a key it keeps one value, which
    others can be computed from. `fires`: it has a handler of its own.
    """

    needs: tuple[str, ...]
    keeps: Callable[[str, str | None, str | None], str]
    entries: bool
    projected: bool
    computable: bool
    fires: bool


KINDS: dict[str, CellKind] = {}
