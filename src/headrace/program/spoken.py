"""How people wrote what a traced text calls by a name of its own: `n__1` is what `self.n.get()` gave."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from headrace.errors import HeadraceError
from headrace.program.statement import Each, Let, Read, Statement, every
from headrace.program.traced import Traced

_ENTRY = re.compile(r"`(it__\d+\.(?:key|value|index))`")
_LOCAL = re.compile(r"(?<![\w.])\w+__\d+(?!\w)")
_CAST = re.compile(r"CAST\(((?:self|it|local)\.[^ ]+) AS ([A-Z]+)\)")


class Spoken:
    """The texts of a program as its author would know them again.

    >>> said = Spoken([Read("n__1", "n"), Read("seen__1", "seen", "has", "e.shop")])
    >>> said("`n__1 + 1` is no BOOLEAN, and seen__1 is one"), said("e.n__1")
    ('`self.n.get() + 1` is no BOOLEAN, and self.seen.has(e.shop) is one', 'e.n__1')
    """

    def __init__(self, statements: Iterable[Statement], timers: Collection[str] = (), cells: Collection[str] = ()) -> None:
        self._cells = cells
        self._names: dict[str, str] = {}
        for statement in statements:
            if (pair := _named(statement, timers)) is not None:
                name, said = pair
                # Each handler counts for itself: of two that read otherwise under one name only the cell is sure.
                self._names[name] = said if self._names.get(name, said) == said else f"self.{name.rpartition('__')[0]}"

    @classmethod
    def of(cls, program: Traced) -> Spoken:
        """Those of a whole program."""
        statements = (one for handler in program.handlers for one in every(handler.body))
        return cls(statements, [cell.name for cell in program.cells if cell.kind == "timer"])

    def __call__(self, text: str) -> str:
        plain = _ENTRY.sub(r"\1", text)
        said = _LOCAL.sub(lambda found: self._said(found[0]), plain)
        return text if said == plain else _CAST.sub(lambda cast: f'{cast[1]}.cast("{cast[2].lower()}")', said)

    def _said(self, name: str) -> str:
        if name in self._names:
            return self(self._names[name])
        # What another handler read is known by its cell alone.
        cell = name.rpartition("__")[0]
        return f"self.{cell}" if cell in self._cells else name

    def error(self, error: HeadraceError) -> HeadraceError:
        """The same error in these words."""
        error.message = self(error.message)
        error.hint = error.hint and self(error.hint)
        error.args = (error.code, error.message)
        return error


def _named(statement: Statement, timers: Collection[str]) -> tuple[str, str] | None:
    """The name that a statement gives, and how it was written."""
    match statement:
        case Read():
            what = ("at" if statement.cell in timers else "get") if statement.what in ("value", "get") else statement.what
            return statement.local, f"self.{statement.cell}.{what}({statement.key or ''})"
        case Each():
            return statement.it, "it"
        case Let():
            return statement.local, "local.get()"
    return None
