"""Python values as Spark SQL literals."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

from headrace.errors import PlanError, here
from headrace.expr.pyspark_column import refuse_pyspark

INT = 2**31
LONG = 2**63
_DAY = 86_400_000_000


def literal(value: Any) -> str:
    """Returns the Spark SQL text of a Python value.

    >>> literal(1), literal(1.5), literal("it's"), literal(None), literal(dt.timedelta(minutes=1))
    ('1', '1.5D', "'it\\\\'s'", 'NULL', "INTERVAL '0 00:01:00' DAY TO SECOND")
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case int():
            return _integer(value)
        case float():
            return _double(value)
        case Decimal():
            if not value.is_finite():
                raise PlanError(
                    "BAD_LITERAL", f"{value!r} cannot be a SQL literal", hint="a decimal column holds finite numbers only", site=here()
                )
            return f"{value:f}BD"
        case str():
            return text_literal(value)
        case dt.datetime():
            return f"TIMESTAMP '{_timestamp(value)}'"
        case dt.date():
            return f"DATE '{value.isoformat()}'"
        case dt.timedelta():
            return _interval(value)
        case bytes() | bytearray():
            return f"X'{bytes(value).hex().upper()}'"
        case list():
            return f"array({', '.join(literal(item) for item in value)})"
        case dict():
            return f"map({', '.join(literal(part) for pair in value.items() for part in pair)})"
    refuse_pyspark(value)
    if hasattr(value, "_has_no_literal"):  # cells and rows of state programs have their own hints
        raise value._has_no_literal()
    if hasattr(value, "dtype") and hasattr(value, "item"):  # a numpy scalar: the Python value it holds
        return literal(value.item())
    hint = "use int, float, Decimal, str, bool, bytes, date, datetime, timedelta, list, dict or None"
    if callable(value):
        raise PlanError(
            "BAD_LITERAL",
            "a Python function cannot be a SQL literal",
            hint='pass a column or a SQL string: hr.col("amount") * 2, or hr.expr("amount * 2")',
            site=here(),
        )
    if isinstance(value, tuple):
        hint = "for an array use a list; for a struct, hr.struct(name=value, ...)"
    raise PlanError("BAD_LITERAL", f"a Python {type(value).__name__} cannot be a SQL literal", hint=hint, site=here())


def text_literal(text: str) -> str:
    """Returns a text in quotes, with quotes and backslashes escaped."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _integer(value: int) -> str:
    if -INT <= value < INT:
        return str(value)
    if -LONG < value < LONG:
        return f"{value}L"
    if len(str(abs(value))) > 38:
        raise PlanError(
            "BAD_LITERAL", "an integer literal cannot have more than 38 digits", hint="Spark's decimals have at most 38 digits", site=here()
        )
    return f"{value}BD"


def _double(value: float) -> str:
    if math.isnan(value):
        return "double('NaN')"
    if math.isinf(value):
        return "double('Infinity')" if value > 0 else "double('-Infinity')"
    return f"{value!r}D"


def _timestamp(value: dt.datetime) -> str:
    """Returns the text of a time. Spark reads a naive one in the job's time zone; an aware one is written in UTC."""
    if value.tzinfo is None:
        return value.isoformat(sep=" ")
    return value.astimezone(dt.UTC).replace(tzinfo=None).isoformat(sep=" ") + "+00:00"


def _interval(value: dt.timedelta) -> str:
    micros = value // dt.timedelta(microseconds=1)
    sign = "-" if micros < 0 else ""
    days, rest = divmod(abs(micros), _DAY)
    seconds, fraction = divmod(rest, 1_000_000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}" + (f".{fraction:06}" if fraction else "")
    return f"INTERVAL '{sign}{days} {clock}' DAY TO SECOND"
