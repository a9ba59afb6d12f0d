"""Internal values as JSON, for sinks that write rows as JSON or text."""

from __future__ import annotations

import base64
import datetime as dt
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from headrace.schema import Array, Atomic, Map, Struct, Type
from headrace.schema.values import from_internal

Write = Callable[[Any], Any]


def writers(schema: Struct, time_zone: dt.tzinfo) -> list[Write]:
    """For each column the function from a value that is not null to what `json.dumps` takes: numbers, texts, lists and dicts.

    Decimals, dates and timestamps become texts, so that nothing of them is lost; so do NaN and infinity, and binaries, in base 64.

    >>> from headrace.schema import parse_schema
    >>> at, price = writers(parse_schema("at timestamp, price decimal(5,2)"), dt.UTC)
    >>> at(1), price(Decimal("1.50"))
    ('1970-01-01T00:00:00.000001+00:00', '1.50')
    """
    return [_written(field.type, time_zone) for field in schema.fields]


def _written(kind: Type, time_zone: dt.tzinfo) -> Write:
    if isinstance(kind, Struct):
        parts = [(field.name, _maybe(_written(field.type, time_zone))) for field in kind.fields]
        return lambda row: {name: write(value) for (name, write), value in zip(parts, row, strict=True)}
    if isinstance(kind, Array):
        item = _maybe(_written(kind.element, time_zone))
        return lambda values: [item(value) for value in values]
    if isinstance(kind, Map):
        first, second = _written(kind.key, time_zone), _maybe(_written(kind.value, time_zone))
        return lambda values: {str(first(name)): second(value) for name, value in values.items()}
    name = kind.name if isinstance(kind, Atomic) else kind.text
    if name in ("int", "bigint", "smallint", "tinyint", "boolean") or name.startswith(("string", "char", "varchar")):
        return _same
    if name in ("float", "double"):
        return lambda value: value if math.isfinite(value) else "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if name == "binary":
        return lambda value: base64.b64encode(value).decode()
    read = from_internal(kind, time_zone)
    return lambda value: _text(read(value))


def _same(value: Any) -> Any:
    return value


def _maybe(write: Write) -> Write:
    return lambda value: None if value is None else write(value)


def _text(value: Any) -> str:
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    return str(value)
