"""List: a cell that keeps values in the order in which they came."""

from __future__ import annotations

import datetime as dt
from typing import Any

from headrace.errors import here
from headrace.expr import Column
from headrace.program.entries import Entries
from headrace.program.statement import Append, Set
from headrace.program.whole import refuse_fraction
from headrace.schema.ddl import type_text


class List(Entries):
    """Any number of values of a Spark type per key, in the order of `append`.

    >>> import headrace as hr
    >>> class LastTen(hr.Program):
    ...     amounts = hr.List("decimal(10,2)")
    ...
    ...     def on_event(self, e):
    ...         self.amounts.append(e.amount)
    ...         with hr.when(self.amounts.size() == 10):
    ...             hr.emit(card=self.key.card, amounts=self.amounts.get())
    ...             self.amounts.clear()

    It is read in pages: `append`, `size` and a loop (`with hr.each(self.amounts) as it`) do not read a long list as a whole; `get` does.
    `was` is the name the cell had in an older version of the job: its state is taken over.
    """

    kind = "list"
    needs = ()
    entries = True
    projected = False
    write_with = ".append(...)"

    @staticmethod
    def _keeps(type: str, key: str | None, sql: str | None) -> str:
        return f"a list of {type}"

    def __init__(self, type: Any, *, expires: str | dt.timedelta | None = None, clock: str = "event", was: str | None = None) -> None:
        super().__init__(type_text(type), expires=expires, clock=clock, was=was)

    def __contains__(self, value: object) -> bool:
        raise self._refusal("look into it with `in`", "write hr.f.array_contains({}.get(), value)")

    def get(self) -> Column:
        """All values as one array, empty if there are none."""
        recording, name = self._recording()
        return recording.read(name)

    def set(self, values: Any) -> None:
        """Replaces all values by those of an array; null clears the list."""
        recording, name = self._recording()
        recording.record(Set(name, recording.text(values), site=here()))

    def append(self, value: Any) -> None:
        """Puts a value at the end. A Python value is a literal; null is kept as null."""
        recording, name = self._recording()
        refuse_fraction(f"`{name}`", self.type, value)
        recording.record(Append(name, recording.text(value), site=here()))
