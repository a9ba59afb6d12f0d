"""Names of types and sizes of decimals, which connectors map to types of their own."""

from __future__ import annotations

import re

from headrace.schema.types import Type

_DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)")
_ALIKE = {"char": "string", "varchar": "string", "timestamp_ltz": "timestamp"}


def plain_type(type: Type) -> str:
    """Returns the name of an atomic type without sizes, collation or interval units.

    >>> from headrace.schema import parse_type
    >>> plain_type(parse_type("varchar(10)")), plain_type(parse_type("decimal(10,2)")), plain_type(parse_type("interval day to second"))
    ('string', 'decimal', 'interval')
    """
    word = re.split(r"[ (]", str(type), maxsplit=1)[0].lower()
    return _ALIKE.get(word, word)


def digits(type: Type) -> tuple[int, int]:
    """Returns the precision and the scale of a decimal.

    >>> from headrace.schema import parse_type
    >>> digits(parse_type("decimal(12,2)")), digits(parse_type("decimal"))
    ((12, 2), (10, 0))
    """
    match = _DECIMAL.fullmatch(str(type).lower())
    return (int(match[1]), int(match[2])) if match else (10, 0)
