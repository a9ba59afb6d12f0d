"""The order of a result. A stream has none, but a table that is printed once can be sorted by the ORDER BY of its query."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from headrace.engine.table import Table
from headrace.syntax import plain_name

Row = tuple[Any, ...]


def ordered(table: Table, order: Sequence[tuple[str, str, str]]) -> Table | None:
    """Sort a table by its columns or their numbers; return None if the order uses anything else.

    >>> from headrace.schema import parse_schema
    >>> table = Table([("a", 1), ("b", None), ("c", 3)], parse_schema("card string, n int"))
    >>> ordered(table, [("N", "desc", "last")]).rows()
    [('c', 3), ('a', 1), ('b', None)]
    >>> ordered(table, [("n + 1", "asc", "first")]) is None
    True
    """
    rows = table.rows()
    names = [name.lower() for name in table.schema.names]
    # Sorting is stable, so the last item of the order is applied first.
    for text, direction, nulls in reversed(order):
        at = _place(text, names)
        if at is None:
            return None
        there = [row for row in rows if row[at] is not None]
        missing = [row for row in rows if row[at] is None]
        try:
            there.sort(key=lambda row: _key(row[at]), reverse=direction == "desc")
        except TypeError:
            return None  # values that Spark can compare and Python cannot, such as structs with nulls
        rows = [*missing, *there] if nulls == "first" else [*there, *missing]
    return Table(rows, table.schema)


def _place(text: str, names: Sequence[str]) -> int | None:
    """Return the place of the column that an item of an order names or numbers."""
    if text.isdigit():
        return int(text) - 1 if 0 < int(text) <= len(names) else None
    name = plain_name(text)
    return names.index(name.lower()) if name is not None and names.count(name.lower()) == 1 else None


def _key(value: Any) -> Any:
    """Return a value's sort key: in Spark NaN is the largest number."""
    return (1, 0.0) if isinstance(value, float) and math.isnan(value) else (0, value) if isinstance(value, float) else value
