"""How far apart two columns of time can be, by the text of a condition."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

from headrace.syntax.names import parsed

_MICROS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 604_800_000_000,
}
_DAY = _MICROS["DAY"]
_SPAN = ("DAY", "HOUR", "MINUTE", "SECOND")


@dataclass(frozen=True)
class Difference:
    """`column` less `other` is at least so much and at the most so much, in microseconds; None: it is not said."""

    column: str
    other: str
    least_us: int | None
    most_us: int | None


@lru_cache(maxsize=1024)
def differences(text: str) -> tuple[Difference, ...]:
    """What a condition says of the time between two columns, each alone or moved by an interval.

    Where it counts a day or more, or takes one time from another, both ends are a day further out: a day of a time zone may be longer or
    shorter than 24 hours, and that is what Spark counts in.

    >>> differences("ts <= opened + INTERVAL 1 SECOND")
    (Difference(column='ts', other='opened', least_us=None, most_us=1000000),)
    >>> differences("ts > amount + 1 OR ts < opened")
    ()
    """
    tree = parsed(text)
    if tree is None:
        return ()
    return tuple(found for sign, one, other in _comparisons(tree.expressions[0].unnest()) if (found := _difference(sign, one, other)))


def _comparisons(tree: Any) -> Iterable[tuple[str, Any, Any]]:
    from sqlglot import exp

    signs = {exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.EQ: "="}
    opposite = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
    if isinstance(tree, exp.Between) and not tree.args.get("symmetric"):
        yield ">=", tree.this, tree.args["low"]
        yield "<=", tree.this, tree.args["high"]
    elif isinstance(tree, exp.Not):
        inner = tree.this.unnest()
        if type(inner) in signs and signs[type(inner)] in opposite:
            yield opposite[signs[type(inner)]], inner.this, inner.expression
    elif type(tree) in signs:
        yield signs[type(tree)], tree.this, tree.expression


def _difference(sign: str, one: Any, other: Any) -> Difference | None:
    sides = _sum(one), _sum(other)
    if sides[0] is None or sides[1] is None:
        return None
    found = sides[0].plus(sides[1], -1)
    ends = {by: name for name, by in found.columns.items() if by}
    if len(ends) != 2 or set(ends) != {1, -1}:
        return None
    # column - other + micros stands to 0 as the sign says.
    at = -found.micros
    least = {">=": at, ">": at + 1, "=": at}.get(sign)
    most = {"<=": at, "<": at - 1, "=": at}.get(sign)
    loose = _DAY if found.zoned or abs(at) >= _DAY else 0
    return Difference(ends[1], ends[-1], None if least is None else least - loose, None if most is None else most + loose)


@dataclass(frozen=True)
class _Sum:
    """Columns, each so many times, and micros; `zoned`: it was computed by days or hours of the time zone."""

    columns: dict[str, int]
    micros: int
    zoned: bool = False

    def plus(self, other: _Sum, sign: int) -> _Sum:
        columns = dict(self.columns)
        for name, by in other.columns.items():
            columns[name] = columns.get(name, 0) + sign * by
        return _Sum(columns, self.micros + sign * other.micros, self.zoned or other.zoned)


def _sum(tree: Any) -> _Sum | None:
    """What an expression adds up to; None where it is anything else than times and intervals."""
    from sqlglot import exp

    tree = tree.unnest()
    if isinstance(tree, exp.Column):
        return _Sum({tree.name.lower(): 1}, 0) if len(tree.parts) == 1 else None
    if isinstance(tree, exp.Interval):
        return _constant(_interval(tree))
    if isinstance(tree, exp.Neg):
        inner = _sum(tree.this)
        return None if inner is None else _Sum({}, 0).plus(inner, -1)
    if isinstance(tree, exp.Add | exp.Sub):
        one, other = _sum(tree.this), _sum(tree.expression)
        if one is None or other is None:
            return None
        found = one.plus(other, 1 if isinstance(tree, exp.Add) else -1)
        return _Sum(found.columns, found.micros, found.zoned or bool(one.columns and other.columns))
    if isinstance(tree, exp.TimestampAdd):
        moved, many = _sum(tree.this), _whole(tree.expression)
        unit = _unit(tree.args.get("unit"))
        step = None if moved is None or many is None or unit is None else _constant(many * _MICROS[unit])
        return None if moved is None or step is None else moved.plus(step, 1)
    if isinstance(tree, exp.Cast) and _keeps(tree.to):
        return _sum(tree.this)
    return None


def _constant(micros: int | None) -> _Sum | None:
    return None if micros is None else _Sum({}, micros, abs(micros) >= _DAY)


def _keeps(kind: Any) -> bool:
    """Whether a cast to a type leaves a timestamp, or an interval of days and time, as it is."""
    text = kind.sql(dialect="spark").upper()
    return text in ("TIMESTAMP", "TIMESTAMP_LTZ") or bool(re.fullmatch(r"INTERVAL DAY TO SECOND", text))


def _whole(tree: Any) -> int | None:
    """The value of a whole number, which sqlglot has as a cast where it has a suffix, `5L`."""
    from sqlglot import exp

    tree = tree.unnest()
    if isinstance(tree, exp.Neg):
        value = _whole(tree.this)
        return None if value is None else -value
    if isinstance(tree, exp.Cast):
        return _whole(tree.this)
    return int(tree.this) if isinstance(tree, exp.Literal) and tree.is_int and not tree.is_string else None


def _unit(tree: Any) -> str | None:
    name = "" if tree is None else str(tree.name).upper().removesuffix("S")
    return name if name in _MICROS else None


def _interval(tree: Any) -> int | None:
    """The microseconds of a literal of days and time; None where months or years are in it, or it is no literal."""
    from sqlglot import exp

    if not isinstance(tree.this, exp.Literal):
        return None
    text, unit = str(tree.this.this).strip(), tree.args.get("unit")
    if isinstance(unit, exp.IntervalSpan):
        return _span(text, _unit(unit.this), _unit(unit.expression))
    if unit is not None:
        return _micros(text, _unit(unit))
    parts = [_micros(number, _unit(exp.var(name))) for number, name in re.findall(r"([-+]?[\d.]+)\s*([A-Za-z]+)", text)]
    said = re.fullmatch(r"(?i)(?:interval\s+)?(?:[-+]?[\d.]+\s*[a-z]+\s*)+", text)
    return sum(part for part in parts if part is not None) if said and None not in parts else None


def _micros(number: str, unit: str | None) -> int | None:
    if unit is None or not re.fullmatch(r"[-+]?\s*(?:\d+(?:\.\d*)?|\.\d+)", number):
        return None
    return int(Decimal(number.replace(" ", "")) * _MICROS[unit])


def _span(text: str, first: str | None, last: str | None) -> int | None:
    """`1 02:03:04.5` as DAY TO SECOND."""
    if first not in _SPAN or last not in _SPAN:
        return None
    units = _SPAN[_SPAN.index(first) : _SPAN.index(last) + 1]
    sign, numbers = (-1 if text.startswith("-") else 1), re.split(r"[ :]", text.lstrip("+-"))
    parts = [_micros(number, unit) for number, unit in zip(numbers, units, strict=False)]
    return sign * sum(part for part in parts if part is not None) if len(numbers) == len(units) and None not in parts else None
