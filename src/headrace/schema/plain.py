"""Rows as JSON: a struct is an object, a time its ISO text, a decimal its digits, bytes Base64."""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
from collections.abc import Mapping
from typing import Any

from headrace.schema.types import Array, Map, Struct, Type


def plain(row: tuple[Any, ...], schema: Struct) -> dict[str, Any]:
    """Returns a row of Python values as an object that `json.dumps` takes.

    >>> from decimal import Decimal
    >>> from headrace.schema import parse_schema
    >>> plain(("a", Decimal("1.50")), parse_schema("card string, amount decimal(10,2)"))
    {'card': 'a', 'amount': '1.50'}
    """
    return {field.name: _json(value, field.type) for field, value in zip(schema.fields, row, strict=True)}


def row_text(row: Mapping[str, Any]) -> str:
    """Returns such an object as a line; values that JSON does not have as their texts.

    >>> row_text({"card": "a", "amount": None})
    'card="a", amount=null'
    """
    return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False, default=str)}" for name, value in row.items())


def _json(value: Any, kind: Type) -> Any:
    match value, kind:
        case None | bool() | int() | str(), _:
            return value
        case float(), _:
            return value if math.isfinite(value) else "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case tuple(), Struct():
            return plain(value, kind)
        case list(), Array(element):
            return [_json(part, element) for part in value]
        case dict(), Map(key, part):
            return {str(_json(name, key)): _json(inner, part) for name, inner in value.items()}
        case bytes(), _:
            return base64.b64encode(value).decode()
        case dt.date() | dt.time(), _:
            return value.isoformat()
    return str(value)
