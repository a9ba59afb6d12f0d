"""Map: a cell that keeps values by key, in the order of the keys."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from headrace.errors import ProgramError, here
from headrace.expr import Column
from headrace.program.entries import Entries
from headrace.program.opaque import Opaque
from headrace.program.statement import Clear, Set
from headrace.program.whole import refuse_fraction
from headrace.schema.ddl import type_text


class Map(Entries):
    """Values of a Spark type by keys of another type, for each key of the program.

    Entries are ordered by key, as Spark orders the type. Keys of a type that Spark does not order (map, variant) have an unspecified but
    stable order, which `first`, `last` and `range` follow too. Keys are equal where GROUP BY treats them as equal. A key is never null: a
    row that sets a null key goes to the dead letters.

    A map is stored in pages: access to one key reads one path of a tree, not the other entries.

    Args:
        key: The type of a key, as DDL such as `"string"` or as a type of `pyspark.sql.types`.
        value: The type of a value.
        expires: A duration such as `"30 days"`. Each entry expires by itself, counted from its last `set` or `it.set`
            ([expiry](../cells.md#expiry)). Default: never.
        clock: The clock of `expires`. `"event"`: the time of the row or timer being handled. `"processing"`: the time at which the epoch
            began.
        was: The cell's name in an older version of the job, whose state it takes over.

    Raises:
        SchemaError: `BAD_TYPE` for an invalid type, `BAD_DURATION` for an invalid `expires`.
        ProgramError: `BAD_CLOCK` for an unknown clock, `BAD_WAS` if `was` is not a name.

    Examples:
        >>> import headrace as hr
        >>> class Shops(hr.Program):
        ...     spent = hr.Map("string", "int")
        ...
        ...     def on_event(self, e):
        ...         with hr.when(e.shop == "*"):
        ...             self.spent.clear()
        ...         with hr.elsewhen(e.amount.is_null()):
        ...             self.spent.remove(e.shop)
        ...         with hr.otherwise():
        ...             first = ~self.spent.has(e.shop)
        ...             self.spent.set(e.shop, hr.f.coalesce(self.spent.get(e.shop), 0) + e.amount)
        ...             hr.emit(shop=e.shop, first=first, spent=self.spent.get(e.shop), shops=self.spent.size())
        >>> charges = hr.read.memory([("a", "x", 7), ("a", "x", 2)], "card string, shop string, amount int", name="charges")
        >>> sorted(hr.collect(charges.key_by("card").process(Shops, order="arrival")).rows())
        [('x', False, 9, 1), ('x', True, 2, 1)]

        An order book, in which an ask takes the bids at its price or above:

        >>> class Book(hr.Program):
        ...     bids = hr.Map("int", "bigint")
        ...
        ...     def on_event(self, e):
        ...         with hr.when(e.side == "bid"):
        ...             self.bids.set(e.price, e.id)
        ...         with hr.elsewhen(self.bids.exists()):
        ...             lowest, highest = self.bids.first().key, self.bids.last().key
        ...             with hr.each(self.bids.range(e.price, None)) as it:
        ...                 hr.emit(ask=e.id, bid=it.value, price=it.key, lowest=lowest, highest=highest)
        ...                 it.remove()
        >>> rows = [("x", 1, "bid", 70), ("x", 2, "bid", 75), ("x", 3, "ask", 72)]
        >>> orders = hr.read.memory(rows, "symbol string, id bigint, side string, price int", name="orders")
        >>> hr.collect(orders.key_by("symbol").process(Book, order="arrival")).rows()
        [(3, 2, 75, 70, 75)]
    """

    kind = "map"
    needs = ("key",)
    entries = True
    projected = False
    read_with = ".get(key)"
    write_with = ".set(key, ...)"

    @staticmethod
    def _keeps(type: str, key: str | None, sql: str | None) -> str:
        return f"a map of {type} by {key}"

    def __init__(
        self, key: Any, value: Any, *, expires: str | dt.timedelta | None = None, clock: str = "event", was: str | None = None
    ) -> None:
        super().__init__(type_text(value), key=type_text(key), expires=expires, clock=clock, was=was)

    def __contains__(self, key: object) -> bool:
        raise self._refusal("search it with `in`", "write {}.has(key)")

    def get(self, key: Any) -> Column:
        """Returns the value of a key, null if there is none.

        Args:
            key: A column of the handler, or a Python value, which is a literal. For a null key the result is null.

        Raises:
            ProgramError: `NULL_KEY` for None.
        """
        recording, name = self._recording()
        return recording.read(name, "get", key=_checked_key(key))

    def has(self, key: Any) -> Column:
        """Returns whether a key has a value.

        Args:
            key: A column of the handler, or a Python value, which is a literal. For a null key the result is false.
        """
        recording, name = self._recording()
        return recording.read(name, "has", key=_checked_key(key))

    def set(self, key: Any, value: Any) -> None:
        """Replaces the value of a key.

        Args:
            key: A column of the handler, or a Python value, which is a literal. A row whose key is null goes to the dead letters.
            value: A column of the handler, or a Python value, which is a literal. Null and None remove the key. Types as for `Value.set`.

        Raises:
            ProgramError: `NULL_KEY` for None as key; `LOOP_CHANGES` in a loop over the map.
        """
        recording, name = self._recording()
        refuse_fraction(f"the key of `{name}`", str(self.key), key)
        refuse_fraction(f"`{name}`", self.type, value)
        of, text = recording.text(_checked_key(key)), recording.text(value)
        recording.record(Set(name, text, of, site=here()))

    def remove(self, key: Any) -> None:
        """Removes a key and its value, if there is one.

        Args:
            key: A column of the handler, or a Python value, which is a literal.

        Raises:
            ProgramError: `NULL_KEY` for None; `LOOP_CHANGES` in a loop over the map.
        """
        recording, name = self._recording()
        recording.record(Clear(name, recording.text(_checked_key(key)), site=here()))

    def first(self) -> Column:
        """Returns the entry with the smallest key as a struct with the fields `key` and `value`; null if the map is empty."""
        recording, name = self._recording()
        return recording.read(name, "first")

    def last(self) -> Column:
        """Returns the entry with the largest key as a struct with the fields `key` and `value`; null if the map is empty."""
        recording, name = self._recording()
        return recording.read(name, "last")

    def range(self, low: Any = None, high: Any = None) -> Range:
        """Returns the entries from one key up to another, for `hr.each`.

        Args:
            low: The smallest key, included: a column of the handler or a Python value. None: no limit.
            high: The upper end, excluded. None: no limit.
        """
        return Range(self, low, high)


@dataclass(frozen=True, eq=False)
class Range(Opaque):
    """A range of a map's entries, for `hr.each`."""

    map: Map
    low: Any
    high: Any

    def _refusal(self, done: str) -> ProgramError:
        return ProgramError(
            "CELL_OPERATOR",
            f"a range of a map is not its entries, so Python cannot {done}",
            hint="loop over it: with hr.each(self.spent.range(low, high)) as it: ...",
            site=here(),
        )


def _checked_key(key: Any) -> Any:
    """Returns the key, and refuses None."""
    if key is None:
        raise ProgramError("NULL_KEY", "a map key cannot be None", hint="pass a value or a column", site=here())
    return key
