"""Translates the locals of traced texts into what the user wrote: `n__1` into `self.n.get()`."""

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
    """Rewrites texts of a program in the words of its author.

    >>> said = Spoken([Read("n__1", "n"), Read("seen__1", "seen", "has", "e.shop")])
    >>> said("`n__1 + 1` is no BOOLEAN, and seen__1 is one"), said("e.n__1")
    ('`self.n.get() + 1` is no BOOLEAN, and self.seen.has(e.shop) is one', 'e.n__1')
    """

    def __init__(self, statements: Iterable[Statement], timers: Collection[str] = (), cells: Collection[str] = ()) -> None:
        self._cells = cells
        self._names: dict[str, str] = {}
        for statement in statements:
            if (pair := _named(statement, timers)) is not None:
                name, text = pair
                # Handlers number their locals separately, so one name may be two different reads. Only the cell is certain then.
                self._names[name] = text if self._names.get(name, text) == text else f"self.{name.rpartition('__')[0]}"

    @classmethod
    def of(cls, program: Traced) -> Spoken:
        """Returns the translation for a whole program."""
        statements = (one for handler in program.handlers for one in every(handler.body))
        return cls(statements, [cell.name for cell in program.cells if cell.kind == "timer"])

    def __call__(self, text: str) -> str:
        plain = _ENTRY.sub(r"\1", text)
        readable = _LOCAL.sub(lambda local: self._readable(local[0]), plain)
        return text if readable == plain else _CAST.sub(lambda cast: f'{cast[1]}.cast("{cast[2].lower()}")', readable)

    def _readable(self, name: str) -> str:
        if name in self._names:
            return self(self._names[name])
        # A local of another handler is known only by its cell.
        cell = name.rpartition("__")[0]
        return f"self.{cell}" if cell in self._cells else name

    def error(self, error: HeadraceError) -> HeadraceError:
        """Rewrites the message and hint of an error."""
        error.message = self(error.message)
        error.hint = error.hint and self(error.hint)
        error.args = (error.code, error.message)
        return error


def _named(statement: Statement, timers: Collection[str]) -> tuple[str, str] | None:
    """Returns the local that a statement makes, and what the user wrote for it."""
    match statement:
        case Read():
            what = ("at" if statement.cell in timers else "get") if statement.what in ("value", "get") else statement.what
            return statement.local, f"self.{statement.cell}.{what}({statement.key or ''})"
        case Each():
            return statement.it, "it"
        case Let():
            return statement.local, "local.get()"
    return None
