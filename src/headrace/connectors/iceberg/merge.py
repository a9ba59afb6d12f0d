"""The net rows of an epoch, replacing those with their keys."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.ports.weights import WEIGHT

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.table import Transaction


def merge(transaction: Transaction, rows: Any, key: Sequence[str], snapshot_properties: dict[str, str], *, whole: bool = False) -> None:
    """Delete the rows with the keys of these, or all of them, and add the inserted ones."""
    import pyarrow.compute as pc

    if whole:
        empty(transaction, snapshot_properties)
    else:
        transaction.delete(_with_keys(rows.select(list(key)).to_pylist(), key), snapshot_properties=snapshot_properties)
    comes = rows.filter(pc.greater(rows[WEIGHT], 0)).drop_columns([WEIGHT])
    if comes.num_rows:
        transaction.append(comes, snapshot_properties=snapshot_properties)


def empty(transaction: Transaction, snapshot_properties: dict[str, str]) -> None:
    """Delete all rows."""
    from pyiceberg.expressions import AlwaysTrue

    transaction.delete(AlwaysTrue(), snapshot_properties=snapshot_properties)


def _with_keys(keys: list[dict[str, Any]], names: Sequence[str]) -> BooleanExpression:
    from pyiceberg.expressions import And, Or

    if len(names) == 1:
        (name,) = names
        plain = {row[name] for row in keys if not _special(row[name])}
        odd = [_is(name, row[name]) for row in keys if _special(row[name])]
        parts = ([_expression("In", name, plain)] if plain else []) + odd
    else:
        parts = [And(*(_is(name, row[name]) for name in names)) for row in keys]
    return parts[0] if len(parts) == 1 else Or(*parts)


def _is(name: str, value: Any) -> BooleanExpression:
    from pyiceberg.expressions import And

    if value is None:
        return _expression("IsNull", name)
    fits = _expression("IsNaN", name) if isinstance(value, float) and math.isnan(value) else _expression("EqualTo", name, value)
    # The delete keeps the rows for which this is false. For a null, equality is neither true nor false, and the row would be lost.
    return And(_expression("NotNull", name), fits)


def _expression(kind: str, *arguments: Any) -> BooleanExpression:
    from pyiceberg import expressions

    # The classes accept the names of columns, which their type annotations do not show.
    expression: BooleanExpression = getattr(expressions, kind)(*arguments)
    return expression


def _special(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))
