"""Value: a cell that keeps one value per key."""

from __future__ import annotations

import datetime as dt
from typing import Any

from headrace.errors import here
from headrace.expr import Column, f, of_value
from headrace.program.cell import Cell
from headrace.program.statement import Clear, Set
from headrace.program.whole import refuse_fraction, refuse_other_kind
from headrace.schema.ddl import type_text


class Value(Cell):
    """One value of a Spark type per key; it starts as null, or is `default` as long as there is none.

    >>> import headrace as hr
    >>> class Count(hr.Program):
    ...     n = hr.Value("bigint", default=0)
    ...
    ...     def on_event(self, e):
    ...         n = self.n.get() + 1
    ...         self.n.set(n)
    ...         hr.emit(card=self.key.card, n=n)

    `default` is a Python value or a constant column; it is not stored, so `exists` is about values that were set.
    `was` is the name the cell had in an older version of the job: its state is taken over. Or it is an expression over the cells of the
    version before, which gives a new cell its first value for the keys that have state:

    >>> class Sums(hr.Program):
    ...     total = hr.Value("bigint", was=hr.col("small") + hr.col("large"))      # instead of two cells
    ...
    ...     def on_event(self, e):
    ...         self.total.set(hr.f.coalesce(self.total.get(), 0) + e.amount)
    ...         hr.emit(card=self.key.card, total=self.total.get())

    The expression is evaluated when a key is next worked on, and only for what an older version stored; so it may stay in the source.
    """

    kind = "value"
    needs = ()
    entries = False
    projected = True
    computable = True

    @staticmethod
    def _keeps(type: str, key: str | None, sql: str | None) -> str:
        return type

    def __init__(
        self,
        type: Any,
        *,
        default: Any = None,
        expires: str | dt.timedelta | None = None,
        clock: str = "event",
        was: str | Column | None = None,
    ) -> None:
        super().__init__(type_text(type), expires=expires, clock=clock, was=was)
        refuse_other_kind("the cell", self.type, default)
        refuse_fraction("the cell", self.type, default)
        self._default = None if default is None else of_value(default).cast(self.type)

    def get(self) -> Column:
        """The value at this place of the handler; `default`, or null, if there is none. A later `set` does not change what was read."""
        recording, name = self._recording()
        found = recording.read(name)
        return found if self._default is None else f.coalesce(found, self._default)

    def exists(self) -> Column:
        """True if the cell has a value at this place of the handler."""
        recording, name = self._recording()
        return recording.read(name).is_not_null()

    def set(self, value: Any) -> None:
        """Replaces the value. A Python value is a literal; None clears the cell.

        A column of another type is stored as INSERT would store it: of a double an int keeps what stands before the point.
        """
        recording, name = self._recording()
        refuse_fraction(f"`{name}`", self.type, value)
        text = recording.text(value)
        recording.record(Set(name, text, site=here()))

    def clear(self) -> None:
        """Takes the value away."""
        recording, name = self._recording()
        recording.record(Clear(name, site=here()))
