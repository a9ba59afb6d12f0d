"""Joins of rows whose times lie near each other: between which rows, and how long one may still meet another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass

from headrace.jvm.texts import Difference, Reading, readings
from headrace.ops.join import Join
from headrace.syntax import plain_name, words

Pair = tuple[str, str]
Bounds = tuple[int | None, int | None]

WAITING: Mapping[str, tuple[int, ...]] = {"left": (0,), "anti": (0,), "existence": (0,), "full": (0, 1)}
"""The sides, left 0 and right 1, of whose rows a kind of join says that they meet none."""


@dataclass(frozen=True)
class Delay:
    """How long after the time in a column a row with it may still come, and whether one that comes later is to be looked for."""

    us: int
    judged: bool


@dataclass(frozen=True)
class Interval:
    """The rows of a join meet where the left time less the right one is at least `lower_us` and at the most `upper_us`, if that is said.

    `times` are a column of the left side and one of the right, `delays` what holds of them.
    """

    times: Pair
    lower_us: int | None
    upper_us: int | None
    delays: tuple[Delay, Delay]

    @property
    def kept_us(self) -> Bounds:
        """How long behind its time the watermark has to be for a row of each side to be forgotten; None: it never is.

        Until then it may meet a row that comes, or be taken away itself: what comes later is late.
        """
        left, right = self.delays
        return (
            None if self.lower_us is None else max(left.us, right.us - self.lower_us),
            None if self.upper_us is None else max(right.us, left.us + self.upper_us),
        )

    @property
    def judged(self) -> tuple[bool, bool]:
        return (self.delays[0].judged, self.delays[1].judged)


def interval(node: Join, left: Mapping[str, Delay], right: Mapping[str, Delay]) -> Interval | None:
    """The interval of a join between columns of event time, given by their names in lower case; of several the one that bounds most.

    >>> import headrace as hr
    >>> bids = hr.read.memory([], "auction int, ts timestamp", name="bids")
    >>> auctions = hr.read.memory([], "id int, opened timestamp", name="auctions")
    >>> near = bids.join(auctions, on="auction = id AND ts BETWEEN opened AND opened + INTERVAL 1 SECOND")
    >>> interval(near._node, {"ts": Delay(0, True)}, {"opened": Delay(0, True)}).kept_us
    (0, 1000000)
    """
    if not left or not right:
        return None
    found = bounds(node, left.keys(), right.keys())
    if not found:
        return None
    pair = max(found, key=lambda one: sum(end is not None for end in found[one]))
    return Interval(pair, *found[pair], (left[pair[0]], right[pair[1]]))


def bounds(node: Join, left: Set[str] | None = None, right: Set[str] | None = None) -> Mapping[Pair, Bounds]:
    """The least and the most that columns of the left side are later than those of the right, in microseconds, as the condition says.

    Given some columns of a side, by their names in lower case, only of those. Spark is asked of texts that name one of either side.
    """
    mine = {name.lower() for name in node.left.columns} if left is None else left
    theirs = {name.lower() for name in node.right.columns} if right is None else right
    texts = [f"({one}) = ({other})" for i, (one, other) in enumerate(node.keys) if i not in node.null_safe]
    texts += [node.condition] if node.condition is not None else []
    texts = [text for text in texts if (named := words(text)) is None or (named & mine and named & theirs)]
    equal = {f"({one}) = ({other})": _equal(one, other) for one, other in node.keys}
    read = readings(text for text in texts if equal.get(text) is None)
    found: dict[Pair, Bounds] = {}
    for said in (one for text in texts for one in equal.get(text) or _differences(text, read)):
        if said.column in mine and said.other in theirs:
            pair, ends = (said.column, said.other), (said.least_us, said.most_us)
        elif said.column in theirs and said.other in mine:
            pair, ends = (said.other, said.column), (_negative(said.most_us), _negative(said.least_us))
        else:
            continue
        lower, upper = found.get(pair, (None, None))
        found[pair] = (_tighter(lower, ends[0], max), _tighter(upper, ends[1], min))
    return found


def _equal(one: str, other: str) -> tuple[Difference, ...] | None:
    """What the equality of two columns says; None where a side is more than a name."""
    mine, theirs = plain_name(one), plain_name(other)
    return None if mine is None or theirs is None else (Difference(mine.lower(), theirs.lower(), 0, 0),)


def _differences(text: str, read: Mapping[str, Reading]) -> tuple[Difference, ...]:
    return tuple(one for part in read[text].conjuncts for one in read[part].differences)


def _negative(micros: int | None) -> int | None:
    return None if micros is None else -micros


def _tighter(one: int | None, other: int | None, choose: Callable[[int, int], int]) -> int | None:
    return other if one is None else one if other is None else choose(one, other)
