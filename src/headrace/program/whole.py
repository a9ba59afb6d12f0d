"""Refuses Python values that a declared type cannot hold, or would truncate."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

from headrace.errors import PlanError, here

_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_KINDS: tuple[tuple[type | tuple[type, ...], str, tuple[str, ...]], ...] = (
    (bool, "a boolean", ("boolean",)),
    ((int, float, Decimal), "a number", _NUMBERS),
    (str, "a string", ("string", "char", "varchar")),
    ((dt.date, dt.time, dt.timedelta), "a time", ("date", "timestamp", "time", "interval")),
)
_WHOLE = ("tinyint", "smallint", "int", "bigint")


def refuse_fraction(what: str, type: str, value: Any) -> None:
    """Refuses a number with a fraction for a whole-number type. Spark checks columns.

    >>> refuse_fraction("the cell `n`", "int", 2.0), refuse_fraction("the cell `n`", "double", 2.5)
    (None, None)
    """
    if type in _WHOLE and isinstance(value, float | Decimal) and math.isfinite(value) and value != math.trunc(value):
        raise PlanError(
            "WRONG_TYPE",
            f"{what} holds {type}, so {value} would be truncated to {math.trunc(value)}",
            hint=f"use a whole number, or double or decimal(10,2) instead of {type}",
            site=here(),
        )


def refuse_other_kind(what: str, type: str, value: Any) -> None:
    """Refuses a Python value of another kind than a type holds, which would fail for each row. Spark checks columns.

    >>> refuse_other_kind("the cell", "decimal(10,2)", 0), refuse_other_kind("the cell", "array<int>", [1])
    (None, None)
    """
    kind, holders = next(((kind, holders) for python, kind, holders in _KINDS if isinstance(value, python)), ("", ()))
    if kind and not type.startswith(holders):
        raise PlanError(
            "WRONG_TYPE",
            f"{what} holds {type}, but {value!r} is {kind}",
            hint=f"pass a value of type {type}, or change the cell's type; hr.expr(...) reads a string as SQL",
            site=here(),
        )
