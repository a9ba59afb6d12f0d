"""The order of a result: a stream has none, but a table that is printed once can have the one that its query asks for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from headrace.engine.table import Table
from headrace.syntax import plain_name

Row = tuple[Any, ...]


def ordered(table: Table, order: Sequence[tuple[str, str, str]]) -> Table | None:
    """A table in an order by its columns or their numbers; None where the order is by something that the rows do not show.

    >>> from headrace.schema import parse_schema
    >>> table = Table([("a", 1), ("b", None), ("c", 3)], parse_schema("card string, n int"))
    >>> ordered(table, [("N", "desc", "last")]).rows()
    [('c', 3), ('a', 1), ('b', None)]
    >>> ordered(table, [("n + 1", "asc", "first")]) is None
    True
    """
    rows = table.rows()
    names = [name.lower() for name in table.schema.names]
    # The last part of the order first: a later sort keeps what an earlier one did to equal rows.
    for text, direction, nulls in reversed(order):
        at = _place(text, names)
        if at is None:
            return None
        there = [row for row in rows if row[at] is not None]
        missing = [row for row in rows if row[at] is None]
        try:
            there.sort(key=lambda row: _key(row[at]), reverse=direction == "desc")
        except TypeError:
            return None  # what Spark can compare and Python cannot, such as structs with nulls in them
        rows = [*missing, *there] if nulls == "first" else [*there, *missing]
    return Table(rows, table.schema)


def _place(text: str, names: Sequence[str]) -> int | None:
    """Which column a part of an order means."""
    if text.isdigit():
        return int(text) - 1 if 0 < int(text) <= len(names) else None
    name = plain_name(text)
    return names.index(name.lower()) if name is not None and names.count(name.lower()) == 1 else None


def _key(value: Any) -> Any:
    """What to compare: to Spark NaN is the largest number."""
    return (1, 0.0) if isinstance(value, float) and math.isnan(value) else (0, value) if isinstance(value, float) else value
