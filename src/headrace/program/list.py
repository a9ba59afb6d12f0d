"""List: a cell that keeps values in the order in which they were appended."""

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
    """Any number of values of a Spark type for each key, in the order of `append`.

    A list is stored in pages. `append`, `size` and `exists` read few of them, a loop (`with hr.each(self.amounts) as it`) reads them one
    after the other, and `get` reads the whole list.

    Args:
        type: The type of a value, as DDL such as `"decimal(10,2)"` or as a type of `pyspark.sql.types`.
        expires: A duration such as `"30 days"`. Each value expires by itself, counted from its `append`, `set` or `it.set`
            ([expiry](../cells.md#expiry)). Default: never.
        clock: The clock of `expires`. `"event"`: the time of the row or timer being handled. `"processing"`: the time at which the epoch
            began.
        was: The cell's name in an older version of the job, whose state it takes over.

    Raises:
        SchemaError: `BAD_TYPE` for an invalid type, `BAD_DURATION` for an invalid `expires`.
        ProgramError: `BAD_CLOCK` for an unknown clock, `BAD_WAS` if `was` is not a name.

    Examples:
        >>> import headrace as hr
        >>> class Basket(hr.Program):
        ...     items = hr.List("string")
        ...
        ...     def on_event(self, e):
        ...         with hr.when(e.what == "add"):
        ...             self.items.append(e.item)
        ...         with hr.elsewhen(e.what == "sort"):
        ...             self.items.set(hr.f.sort_array(self.items.get()))
        ...         with hr.elsewhen(self.items.exists()):
        ...             hr.emit(basket=self.key.basket, n=self.items.size(), items=self.items.get())
        ...             self.items.clear()
        >>> rows = [(1, "add", "tea"), (1, "add", "jam"), (1, "buy", None), (1, "sort", None)]
        >>> clicks = hr.read.memory(rows, "basket int, what string, item string", name="clicks")
        >>> hr.collect(clicks.key_by("basket").process(Basket)).rows()
        [(1, 2, ['jam', 'tea'])]
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
        raise self._refusal("search it with `in`", "write hr.f.array_contains({}.get(), value)")

    def get(self) -> Column:
        """Returns all values as one array, empty for an empty list. The whole list is read."""
        recording, name = self._recording()
        return recording.read(name)

    def set(self, values: Any) -> None:
        """Replaces all values.

        Args:
            values: An array column, whose elements become the values in their order. Null clears the list.

        Raises:
            ProgramError: `LOOP_CHANGES` in a loop over the list.
        """
        recording, name = self._recording()
        recording.record(Set(name, recording.text(values), site=here()))

    def append(self, value: Any) -> None:
        """Adds a value at the end.

        Args:
            value: A column of the handler, or a Python value, which is a literal. A null is stored. Types as for `Value.set`.

        Raises:
            ProgramError: `LOOP_CHANGES` in a loop over the list.
        """
        recording, name = self._recording()
        refuse_fraction(f"`{name}`", self.type, value)
        recording.record(Append(name, recording.text(value), site=here()))
