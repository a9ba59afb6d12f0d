"""Rows with weights, as given to sinks that take changes: the weight is the last value of a row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headrace.ports.sink import SinkContext, Staged
from headrace.schema.values import rows_from_internal, zone

Row = tuple[Any, ...]

WEIGHT = "_weight"
"""The name of the weight's column in a query document."""


def changes_of(staged: Staged, context: SinkContext) -> list[tuple[Row, int]]:
    """The net changes that an epoch staged, as rows of Python values with their weights."""
    internal_rows = staged.rows()
    if context.mode == "append":
        return [(row, 1) for row in rows_from_internal(internal_rows, context.schema, zone(context.time_zone))]
    rows = rows_from_internal([row[:-1] for row in internal_rows], context.schema, zone(context.time_zone))
    return net(zip(rows, (row[-1] for row in internal_rows), strict=True))


def net(changes: Iterable[tuple[Row, int]]) -> list[tuple[Row, int]]:
    """The changes with equal rows merged and their weights added up, without those whose sum is 0.

    >>> net([(("a", 1), 1), (("b", 5), 1), (("a", 1), -1)])
    [(('b', 5), 1)]
    """
    sums: dict[Any, list[Any]] = {}
    for row, weight in changes:
        sums.setdefault(_hashable(row), [row, 0])[1] += weight
    return [(row, weight) for row, weight in sums.values() if weight]


def by_key(changes: Iterable[tuple[Row, int]], places: Sequence[int]) -> list[Row]:
    """The rows that remain when each replaces the one with the same values at the given places.

    >>> by_key([(("a", 1), 1), (("b", 5), 1), (("a", 2), 1), (("b", 5), -1)], [0])
    [('a', 2)]
    """
    latest_rows: dict[Any, Row] = {}
    for row, weight in changes:
        key = _hashable(tuple(row[place] for place in places))
        if weight > 0:
            latest_rows.pop(key, None)
            latest_rows[key] = row
        elif key in latest_rows and _hashable(latest_rows[key]) == _hashable(row):
            del latest_rows[key]
    return list(latest_rows.values())


def _hashable(value: Any) -> Any:
    """A dict key for a value: NaN equals itself, 0.0 and -0.0 differ, and so do 1, True and 1.0."""
    if isinstance(value, tuple | list):
        return (type(value), *map(_hashable, value))
    if isinstance(value, dict):
        return (dict, frozenset((_hashable(key), _hashable(item)) for key, item in value.items()))
    return type(value), repr(value) if isinstance(value, float) else value
