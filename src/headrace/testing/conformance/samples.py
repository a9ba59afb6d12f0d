"""Rows of all kinds of types, with values that connectors often mishandle."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from headrace.schema import Struct, parse_schema
from headrace.schema.types import Array, Map, Type
from headrace.schema.types import Struct as StructType

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Sample:
    """Rows with columns of one kind, and a unique `id`."""

    name: str
    ddl: str
    rows: tuple[Row, ...]

    @property
    def schema(self) -> Struct:
        return parse_schema(self.ddl)


def _of(name: str, columns: str, *values: Sequence[Any]) -> Sample:
    """Make a sample from values, with a row of nulls at the end."""
    width = len(parse_schema(columns).fields)
    rows = [(id, *row) for id, row in enumerate([*values, (None,) * width])]
    return Sample(name, f"id bigint, {columns}", tuple(rows))


UTC = dt.UTC

SAMPLES = (
    _of(
        "whole numbers",
        "tiny tinyint, small smallint, medium int, large bigint, truth boolean",
        (127, 32767, 2**31 - 1, 2**63 - 1, True),
        (-128, -32768, -(2**31), -(2**63), False),
        (0, 0, 0, 0, True),
    ),
    _of("floating numbers", "single float, double double", (1.5, 0.1), (-0.25, -1e300), (0.0, 5e-324), (float("inf"), float("nan"))),
    _of(
        "decimals",
        "money decimal(10,2), exact decimal(38,18), whole decimal(20,0)",
        (Decimal("0.10"), Decimal("0.000000000000000001"), Decimal(10**19)),
        (Decimal("-99999999.99"), Decimal("-12345678901234567890.5"), Decimal(-1)),
        (Decimal("0.00"), Decimal("99999999999999999999.999999999999999999"), Decimal(0)),
    ),
    _of(
        "texts",
        "text string, other string",
        ("", " "),
        ("a,b;c\td", "say \"yes\" or 'no'"),
        ("two\nlines", "back\\slash \\n \\N NULL null"),
        ("Zoë 漢字 🦉 \u200b", "e\u0301"),
        ("{} [] <> & % _ $1 :x ?", "--'; DROP TABLE x"),
        ("x" * 5000, "\r\n"),
    ),
    _of(
        "dates",
        "day date",
        (dt.date(2026, 2, 28),),
        (dt.date(1970, 1, 1),),
        (dt.date(1969, 12, 31),),
        (dt.date(1900, 2, 28),),
        (dt.date(1600, 2, 29),),
    ),
    _of(
        "times",
        "at timestamp, clock timestamp_ntz",
        (dt.datetime(2026, 3, 29, 1, 30, 0, 1, tzinfo=UTC), dt.datetime(2026, 3, 29, 2, 30, 0, 999_999)),
        (dt.datetime(1970, 1, 1, tzinfo=UTC), dt.datetime(1970, 1, 1)),
        (dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), dt.datetime(1969, 12, 31, 23, 59, 59, 1)),
        (dt.datetime(1900, 1, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=30))), dt.datetime(1900, 1, 1)),
    ),
    _of("bytes", "raw binary", (b"",), (b"\x00\xff\n,\"'",), (bytes(range(256)),)),
    _of(
        "arrays",
        "numbers array<int>, texts array<string>",
        ([1, None, 3], ["a,b", None, ""]),
        ([], []),
    ),
    _of(
        "structs",
        "place struct<city: string, at: struct<x: double, y: decimal(5,1)>>, many array<struct<n: int, t: string>>",
        (("Lund", (0.5, Decimal("1.5"))), [(1, "a"), None, (None, "b")]),
        ((None, None), []),
    ),
    _of("maps", "counts map<string, bigint>, named map<string, struct<n: int>>", ({"a": 1, "": None}, {"x": (1,)}), ({}, {})),
)
"""The samples that every connector accepts or refuses, each kind separately."""


ELSEWHERE = "America/New_York"
"""The time zone of a second job with times: it exposes a connector that confuses the job's zone with the session's."""


def simple(first: int, count: int) -> list[Row]:
    """Return rows of `SIMPLE`, numbered from `first`."""
    return [(id, f"name {id % 5}", id * 7 % 1000) for id in range(first, first + count)]


SIMPLE = "id bigint, name string, amount int"


def plain(rows: Iterable[Sequence[Any]], schema: Struct) -> list[str]:
    """Return rows as sorted texts, the same for equal values of whatever Python type."""
    convert = [_plain(field.type) for field in schema.fields]
    return sorted(repr(tuple(one(value) for one, value in zip(convert, row, strict=True))) for row in rows)


def _plain(kind: Type) -> Callable[[Any], Any]:
    present = _present(kind)
    return lambda value: None if value is None else present(value)


def _present(kind: Type) -> Callable[[Any], Any]:
    if isinstance(kind, Array):
        element = _plain(kind.element)
        return lambda value: [element(item) for item in value]
    if isinstance(kind, Map):
        key, item = _plain(kind.key), _plain(kind.value)
        return lambda value: sorted((key(k), item(v)) for k, v in (value.items() if isinstance(value, Mapping) else value))
    if isinstance(kind, StructType):
        parts = [(field.name, _plain(field.type)) for field in kind.fields]

        def fields(value: Any) -> Any:
            inside = [value[name] for name, _ in parts] if isinstance(value, Mapping) else list(value)
            return tuple(part(item) for (_, part), item in zip(parts, inside, strict=True))

        return fields
    return _ATOMIC.get(kind.text.partition("(")[0], str)


def _instant(value: Any) -> str:
    # a time without a zone is in this machine's zone, as Spark collects it
    return str(value.astimezone(UTC))


_ATOMIC: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), int),
    "boolean": bool,
    "float": float,
    "double": float,
    "decimal": lambda value: format(Decimal(value).normalize(), "f"),
    "string": str,
    "binary": bytes,
    "date": lambda value: str(value.date() if isinstance(value, dt.datetime) else value),
    "timestamp": _instant,
    "timestamp_ltz": _instant,
    "timestamp_ntz": lambda value: str(value.replace(tzinfo=None)),
}
