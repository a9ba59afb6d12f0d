"""Joins of rows whose times are close: which rows match, and how long one may still match another."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from headrace.jvm.texts import Difference, readings
from headrace.syntax import plain_name, words

Pair = tuple[str, str]
Bounds = tuple[int | None, int | None]


@dataclass(frozen=True)
class Delay:
    """How long after the time in a column a row with it may still come, and whether one that comes later must be detected."""

    us: int
    judged: bool


@dataclass(frozen=True)
class Interval:
    """The bounds of a join: rows match if the left time less the right one is at least `lower_us` and at most `upper_us`; None: no bound.

    `times` are a column of the left side and one of the right, `delays` their delays. `emit`: when a row without a match is sent.
    """

    times: Pair
    lower_us: int | None
    upper_us: int | None
    delays: tuple[Delay, Delay]
    emit: str = "changes"

    @property
    def kept_us(self) -> Bounds:
        """How far the watermark is past a row's time when the row is forgotten, for each side; None: it never is.

        Until then it may match a row that comes, or be retracted; later rows are late.
        """
        left, right = self.delays
        return (
            None if self.lower_us is None else max(left.us, right.us - self.lower_us),
            None if self.upper_us is None else max(right.us, left.us + self.upper_us),
        )

    @property
    def judged(self) -> tuple[bool, bool]:
        return (self.delays[0].judged, self.delays[1].judged)


def interval(pairs: Mapping[Pair, Bounds], left: Mapping[str, Delay], right: Mapping[str, Delay], emit: str) -> Interval | None:
    """Return the interval between columns of event time, given by their names in lower case; of several pairs, the one with most bounds.

    >>> condition = "ts BETWEEN opened AND opened + INTERVAL 1 SECOND"
    >>> pairs = bounds([("auction", "id")], condition, {"auction", "ts"}, {"id", "opened"})
    >>> interval(pairs, {"ts": Delay(0, True)}, {"opened": Delay(0, True)}, "changes").kept_us
    (0, 1000000)
    """
    usable = {pair: ends for pair, ends in pairs.items() if pair[0] in left and pair[1] in right}
    if not usable:
        return None
    pair = max(usable, key=lambda one: sum(end is not None for end in usable[one]))
    return Interval(pair, *usable[pair], (left[pair[0]], right[pair[1]]), emit)


def bounds(keys: Sequence[Pair], condition: str | None, mine: Collection[str], theirs: Collection[str]) -> Mapping[Pair, Bounds]:
    """Return the least and the most that columns of the left side are later than those of the right, in microseconds.

    `keys` are the equal expressions of both sides, `condition` is the rest. The columns of a side are given by their names in lower case.
    Spark parses expressions that are more than names and use columns of both sides.
    """
    equal = [_equal(one, other) for one, other in keys]
    texts = [f"({one}) = ({other})" for (one, other), difference in zip(keys, equal, strict=True) if difference is None]
    texts += [condition] if condition is not None else []
    both = [text for text in texts if (used := words(text)) is None or not (used.isdisjoint(mine) or used.isdisjoint(theirs))]
    read = readings(both)
    parts = [part for text in both for part in read[text].conjuncts]
    bounds_of: dict[Pair, Bounds] = {}
    for difference in (*(one for one in equal if one is not None), *(one for part in parts for one in read[part].differences)):
        if difference.column in mine and difference.other in theirs:
            pair, ends = (difference.column, difference.other), (difference.least_us, difference.most_us)
        elif difference.column in theirs and difference.other in mine:
            pair, ends = (difference.other, difference.column), (_negative(difference.most_us), _negative(difference.least_us))
        else:
            continue
        lower, upper = bounds_of.get(pair, (None, None))
        bounds_of[pair] = (_tighter(lower, ends[0], max), _tighter(upper, ends[1], min))
    return bounds_of


def _equal(one: str, other: str) -> Difference | None:
    """Return the equality of two columns; None if a side is more than a name."""
    mine, theirs = plain_name(one), plain_name(other)
    return None if mine is None or theirs is None else Difference(mine.lower(), theirs.lower(), 0, 0)


def _negative(micros: int | None) -> int | None:
    return None if micros is None else -micros


def _tighter(one: int | None, other: int | None, choose: Callable[[int, int], int]) -> int | None:
    return other if one is None else one if other is None else choose(one, other)
