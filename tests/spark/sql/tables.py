"""Four small tables with columns of every type that Spark keeps in rows, and random rows for them.

Values come from small pools, so that keys meet, ties are common and whole rows repeat. Doubles are multiples of a quarter (but for the
special ones), so that sums are exact in any order, as Spark's own must be to be compared with.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from headrace.schema import parse_schema

Row = tuple[Any, ...]
Draw = Callable[[random.Random], Any]

SCHEMAS = {
    "sales": "id int, shop string, n int, big bigint, amount decimal(12,2), d double, f double, flag boolean, at timestamp, day date, "
    "tags array<string>, m map<string, int>, s struct<x: int, y: string>, took interval day to second, raw binary",
    "shops": "shop string, region string, n bigint, size int, d double, opened date, active boolean, j string, local timestamp_ntz, "
    "codes array<int>, term interval year to month",
    "prices": "tag string, low int, high int, since date, until date, price decimal(20,4), ratio float, "
    "parts array<struct<k: string, v: int>>",
    "people": "id smallint, boss smallint, name string, alias string collate UTF8_LCASE, shop string, age tinyint, wage decimal(38,10)",
}

NULLS = 0.12
"""How often a value is null, in every column."""

NAN, INFINITY = float("nan"), float("inf")
NAMES = ("Ann", "ann", "ANN", "Bob", "bob", "Zoë", "ZOË", "Ödön", "Ann  ", "")
TEXTS = (
    '{"a": 1, "b": [1, 2]}',
    '{"a": 2, "b": []}',
    '{"a": null}',
    '{"a": 1, "c": {"e": "x"}}',
    '{"b": [3, 4, 5]}',
    "[1, 2]",
    '"text"',
    "not json",
    "",
)


def _of(*values: Any) -> Draw:
    return lambda chance: chance.choice(values)


def _between(least: int, most: int) -> Draw:
    return lambda chance: chance.randint(least, most)


def _list(item: Draw, most: int) -> Draw:
    return lambda chance: [_or_null(item)(chance) for _ in range(chance.randint(0, most))]


def _or_null(draw: Draw) -> Draw:
    return lambda chance: None if chance.random() < NULLS else draw(chance)


def _quarters(most: int) -> Draw:
    return lambda chance: chance.randint(-most, most) / 4


def _decimal(most: int, step: str) -> Draw:
    return lambda chance: chance.randint(-most, most) * Decimal(step)


def _moment(zone: dt.tzinfo | None) -> Draw:
    start = dt.datetime(2026, 1, 1, tzinfo=zone)
    odd = (dt.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=zone), dt.datetime(2026, 1, 3, tzinfo=zone))

    def draw(chance: random.Random) -> dt.datetime:
        return chance.choice(odd) if chance.random() < 0.2 else start + dt.timedelta(minutes=20 * chance.randint(0, 40))

    return draw


def _day(chance: random.Random) -> dt.date:
    return dt.date(2026, 1, 1) + dt.timedelta(days=chance.randint(0, 8))


def _map(chance: random.Random) -> dict[str, int | None]:
    return {key: chance.choice((None, 1, 2)) for key in ("x", "y", "z") if chance.random() < 0.4}


def _pair(first: Draw, second: Draw) -> Draw:
    return lambda chance: (_or_null(first)(chance), _or_null(second)(chance))


SHOP = _of("a", "a", "b", "b", "c", "d", "E", "e", "7", "")
DOUBLE = _of(0.0, -0.0, NAN, INFINITY, -INFINITY, 1.5, -2.25, 3.0, 1e10)

DRAWS: Mapping[str, Sequence[Draw]] = {
    "sales": (
        _between(1, 14),
        SHOP,
        _between(-3, 5),
        _of(-1, 0, 1, 2, 10**6, -(10**6), 10**9),
        _decimal(30, "0.25"),
        DOUBLE,
        _quarters(20),
        _of(True, False),
        _moment(dt.UTC),
        _day,
        _list(_of("x", "y", "z"), 3),
        _map,
        _pair(_between(1, 2), _of("a", "b")),
        _of(dt.timedelta(hours=1), dt.timedelta(hours=-2, microseconds=4), dt.timedelta(days=3), dt.timedelta(0), dt.timedelta(minutes=90)),
        _of(b"", b"\x00\xff", b"abc", b"abd", b"\x00"),
    ),
    "shops": (
        SHOP,
        _of("north", "south", "west"),
        _between(-3, 5),
        _between(0, 5),
        DOUBLE,
        _day,
        _of(True, False),
        _of(*TEXTS),
        _moment(None),
        _list(_between(-2, 4), 4),
        _of(0, 1, 6, 13, -5),
    ),
    "prices": (
        _of("x", "y", "z"),
        _between(-3, 3),
        _between(0, 6),
        _day,
        _day,
        _decimal(60, "0.1250"),
        _of(0.5, -0.0, 0.25, 2.0, 0.0, 0.100000001490116119384765625, -1.75),
        _list(_pair(_of("p", "q"), _between(1, 3)), 2),
    ),
    "people": (
        _between(1, 9),
        _between(1, 9),
        _of(*NAMES),
        _of(*NAMES),
        SHOP,
        _between(18, 70),
        _decimal(10**12, "0.0000000001"),
    ),
}


def random_row(name: str, chance: random.Random) -> Row:
    return tuple(_or_null(draw)(chance) for draw in DRAWS[name])


def changed_row(name: str, row: Row, chance: random.Random) -> Row:
    """The row with one to three of its values drawn anew."""
    values = list(row)
    for place in chance.sample(range(len(row)), chance.randint(1, 3)):
        values[place] = _or_null(DRAWS[name][place])(chance)
    return tuple(values)


def columns(name: str) -> tuple[str, ...]:
    return parse_schema(SCHEMAS[name]).names


def _hour(number: int) -> dt.datetime:
    return dt.datetime(2026, 1, 1, number)


UNTIED: Mapping[str, list[Row]] = {
    "sales": [
        (
            *(number, str(number), (1, 2, 3, -1)[number - 1], 10 * number, Decimal(number), number / 2, -number / 4, number % 2 == 0),
            *(_hour(5 * number).replace(tzinfo=dt.UTC), dt.date(2026, 1, number), ["x", "y", str(number)], {"x": number}),
            *((number, "a"), dt.timedelta(hours=number), bytes([number])),
        )
        for number in (1, 2, 3, 4)
    ],
    "shops": [
        (*(str(number), f"r{number}", number, number, number / 2), *(dt.date(2026, 1, number), True, TEXTS[0], _hour(number), [number], 1))
        for number in (1, 2, 3)
    ],
    "prices": [],
    "people": [(number, None, f"p{number}", f"q{number}", str(number), 20 + number, Decimal(number)) for number in (1, 2, 3)],
}
"""Rows among which no order that a query asks for has ties, and no group has two, so that nothing is left open."""
