"""The meaning of texts of expressions, by Spark's parser: no name is resolved, no type is known and nothing is run.

Spelling makes no difference. Many texts are read in one call, and the results are cached.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.jvm.frames import java_session
from headrace.jvm.session import jvm, session


@dataclass(frozen=True)
class Now:
    """The current time."""


@dataclass(frozen=True)
class Path:
    """A column, or a field of one, by its path."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class End:
    """The field `start` or `end` of a value."""

    name: str
    of: Value


@dataclass(frozen=True)
class Window:
    """A struct of a start and an end, as Spark's `window()` gives it."""

    start: Value
    end: Value


@dataclass(frozen=True)
class Before:
    """A microsecond before a time, as Spark's `window_time()` gives it."""

    of: Value


@dataclass(frozen=True)
class Either:
    """The first of several values that is not null."""

    of: tuple[Value, ...]


Value = Now | Path | End | Window | Before | Either
"""The ways in which a value carries a time and nothing else."""


@dataclass(frozen=True)
class Difference:
    """The bounds of `column` less `other` in microseconds; None: there is no such bound."""

    column: str
    other: str
    least_us: int | None
    most_us: int | None


@dataclass(frozen=True)
class Reading:
    """The meaning of a text.

    `conjuncts`: the parts of a condition that must all be true, as they were written, without comments around them; the text itself if
    there is only one. `value`: how it carries a time. `differences`: what it means as a condition on the time between two columns, each
    alone or moved by an interval. If it counts a day or more, or subtracts one time from another, both bounds are a day wider: a day of a
    time zone may be longer or shorter than 24 hours, and Spark counts in such days. `upper_bound`: the column that it bounds from above as
    a comparison, and the largest whole number the column can be. `ranking`: `row_number`, `rank` or `dense_rank`, if it is that over a
    window. `extreme`: whether it is an aggregate whose value for a group is the one that some of its rows alone give, such as `max`.
    """

    conjuncts: tuple[str, ...]
    value: Value | None = None
    differences: tuple[Difference, ...] = ()
    upper_bound: tuple[str, int] | None = None
    ranking: str | None = None
    extreme: bool = False


_readings: dict[str, Reading] = {}
_KEPT = 8192


def reading(text: str) -> Reading:
    """Read a text. Starts the session, unless the text has been read before.

    >>> reading("ts <= opened + INTERVAL 1 SECOND").differences
    (Difference(column='ts', other='opened', least_us=None, most_us=1000000),)
    >>> reading("a BETWEEN 1 AND 2 AND (b = 'it''s' OR c) -- a note").conjuncts
    ('a BETWEEN 1 AND 2', "(b = 'it''s' OR c)")
    >>> reading("4 > n").upper_bound, reading("rank() OVER (ORDER BY n)").ranking, reading("NOW( )").value
    (('n', 3), 'rank', Now())
    """
    return readings([text])[text]


def readings(texts: Iterable[str]) -> Mapping[str, Reading]:
    """Read texts, and the parts of conditions among them; one call reads those not read before."""
    answer: dict[str, Reading] = {}
    unread: list[str] = []
    for text in dict.fromkeys(texts):
        parts = {text: _readings.get(text)}
        if (whole := parts[text]) is not None:
            parts |= {part: _readings.get(part) for part in whole.conjuncts}
        known = {part: reading for part, reading in parts.items() if reading is not None}
        if len(known) == len(parts):
            answer |= known
        else:
            unread.append(text)
    if unread:
        answer |= _read(unread)
    return answer


def _read(texts: list[str]) -> dict[str, Reading]:
    spark = session()
    answer = json.loads(jvm(spark).headrace.text.Texts.read(java_session(spark), json.dumps(texts)))
    # A text that no JVM can hold, with half a character in it, has no meaning.
    read = {text: Reading((text,)) for text in texts} | {text: _reading(facts) for text, facts in answer.items()}
    _readings.update(read)
    while len(_readings) > _KEPT:
        _readings.pop(next(iter(_readings)), None)
    return read


def _reading(facts: Mapping[str, Any]) -> Reading:
    return Reading(
        tuple(facts["conjuncts"]),
        _value(facts["value"]) if "value" in facts else None,
        tuple(Difference(*one) for one in facts.get("differences", ())),
        tuple(facts["bound"]) if "bound" in facts else None,
        facts.get("ranking"),
        facts.get("extreme", False),
    )


def _value(parts: list[Any]) -> Value:
    match parts:
        case ["now"]:
            return Now()
        case ["column", *names]:
            return Path(tuple(names))
        case ["field", name, of]:
            return End(name, _value(of))
        case ["window", start, end]:
            return Window(_value(start), _value(end))
        case ["before", of]:
            return Before(_value(of))
        case ["either", *of]:
            return Either(tuple(map(_value, of)))
    raise ValueError(f"a value of no known kind: {parts}")
