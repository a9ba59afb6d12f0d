"""Value: a cell that keeps one value per key."""

from __future__ import annotations

from typing import Any

from headrace.errors import here
from headrace.expr import Column
from headrace.program.cell import Cell
from headrace.program.statement import Clear, Set
from headrace.schema.ddl import type_text


class Value(Cell):
    """One value of a Spark type per key; it starts as null.

    >>> import headrace as hr
    >>> class Count(hr.Program):
    ...     n = hr.Value("bigint")
    ...
    ...     def on_event(self, e):
    ...         n = hr.f.coalesce(self.n.get(), 0) + 1
    ...         self.n.set(n)
    ...         hr.emit(card=self.key.card, n=n)

    `was` is the name the cell had in an older version of the job: its state is taken over.
    """

    kind = "value"

    def __init__(self, type: Any, *, was: str | None = None) -> None:
        super().__init__(type_text(type), was=was)

    def get(self) -> Column:
        """The value at this place of the handler, null if there is none. A later `set` does not change what was read."""
        recording, name = self._recording()
        return recording.read(name)

    def exists(self) -> Column:
        """True if the cell has a value at this place of the handler."""
        recording, name = self._recording()
        return recording.read(name).is_not_null()

    def set(self, value: Any) -> None:
        """Replaces the value. A Python value is a literal; None clears the cell."""
        recording, name = self._recording()
        text = recording.text(value)
        recording.record(Set(name, text, site=here()))

    def clear(self) -> None:
        """Takes the value away."""
        recording, name = self._recording()
        recording.record(Clear(name, site=here()))
