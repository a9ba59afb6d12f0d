"""Durations: "5 minutes" or a timedelta, in milliseconds."""

from __future__ import annotations

import datetime as dt
import re
from typing import NoReturn

from headrace.errors import SchemaError, here

_MILLIS = {"millisecond": 1, "second": 1_000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000, "week": 604_800_000}
_LONGEST = 100_000 * 365 * _MILLIS["day"]
"""The longest duration that fits into Spark's timestamps."""
_SHORT = {"ms": "millisecond", "s": "second", "sec": "second", "m": "minute", "min": "minute", "h": "hour", "hr": "hour", "d": "day"}
_PART = re.compile(r"\s*(?:and\s+|,\s*)?([+-]?\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")


def milliseconds(value: str | dt.timedelta, what: str) -> int:
    """Returns a duration in milliseconds; `what` names it in an error.

    >>> milliseconds("1 hour 30 minutes", "the delay"), milliseconds(dt.timedelta(seconds=5), "the delay")
    (5400000, 5000)
    """
    if isinstance(value, dt.timedelta):
        millis, rest = divmod(value, dt.timedelta(milliseconds=1))
        if rest:
            raise _wrong(value, what, "it has microseconds, but durations are whole milliseconds")
        if millis < 0:
            raise _wrong(value, what, "it is negative")
        return millis if millis <= _LONGEST else _too_long(value, what)
    if not isinstance(value, str):
        raise _wrong(value, what, "it is neither a string with units nor a timedelta")
    text = re.sub(r"(?i)^\s*interval\s", "", value)
    total, at = 0.0, 0
    while at < len(text):
        part = _PART.match(text, at)
        if part is None:
            raise _wrong(value, what, "it has no unit" if re.fullmatch(r"[\d.\s]+", text) else "it is not a duration")
        unit = part[2].lower()
        unit = _SHORT.get(unit, unit.removesuffix("s"))
        if unit in ("month", "year", "quarter"):
            raise _wrong(value, what, f"a {unit} has no fixed length")
        if unit not in _MILLIS:
            raise _wrong(value, what, f"`{part[2]}` is not a unit")
        if part[1].startswith("-"):
            raise _wrong(value, what, "it is negative")
        total += float(part[1]) * _MILLIS[unit]
        at = part.end()
    if not text.strip():
        raise _wrong(value, what, "it is empty")
    if total != int(total):
        raise _wrong(value, what, "durations are whole milliseconds")
    return int(total) if total <= _LONGEST else _too_long(value, what)


def shown(millis: int) -> str:
    """Returns a duration as text.

    >>> shown(300000), shown(5400000), shown(1500), shown(0)
    ('5 minutes', '1 hour 30 minutes', '1 second 500 milliseconds', '0 seconds')
    """
    parts = []
    for unit in ("day", "hour", "minute", "second", "millisecond"):
        count, millis = divmod(millis, _MILLIS[unit])
        if count:
            parts.append(f"{count} {unit}{'' if count == 1 else 's'}")
    return " ".join(parts) or "0 seconds"


def seconds(count: float) -> dt.timedelta:
    """Returns a duration of `count` seconds, for expressions and for every parameter that is a duration.

    Args:
        count: The number, which may be a fraction. A parameter takes whole milliseconds, else it raises `BAD_DURATION`.

    Examples:
        >>> import headrace as hr
        >>> hr.seconds(30)
        datetime.timedelta(seconds=30)
        >>> hr.col("ts") + hr.seconds(30)
        <Column ts + INTERVAL '0 00:00:30' DAY TO SECOND>
    """
    return dt.timedelta(seconds=count)


def minutes(count: float) -> dt.timedelta:
    """Returns a duration of `count` minutes.

    Args:
        count: The number, which may be a fraction.

    Examples:
        >>> import headrace as hr
        >>> hr.minutes(1)
        datetime.timedelta(seconds=60)
    """
    return dt.timedelta(minutes=count)


def hours(count: float) -> dt.timedelta:
    """Returns a duration of `count` hours.

    Args:
        count: The number, which may be a fraction.

    Examples:
        >>> import headrace as hr
        >>> hr.hours(1)
        datetime.timedelta(seconds=3600)
    """
    return dt.timedelta(hours=count)


def days(count: float) -> dt.timedelta:
    """Returns a duration of `count` days of 24 hours.

    Args:
        count: The number, which may be a fraction.

    Examples:
        >>> import headrace as hr
        >>> hr.days(7)
        datetime.timedelta(days=7)
    """
    return dt.timedelta(days=count)


def _too_long(value: object, what: str) -> NoReturn:
    raise _wrong(value, what, "it is longer than 100,000 years")


def _wrong(value: object, what: str, why: str) -> SchemaError:
    return SchemaError(
        "BAD_DURATION",
        f"{what} cannot be {value!r}: {why}",
        hint='write "5 minutes", "1 hour 30 minutes" or datetime.timedelta(minutes=5); '
        "units are milliseconds, seconds, minutes, hours, days and weeks",
        site=here(),
    )
