"""Columns that close: a value of the column no longer occurs once the clock has reached a time that the value carries.

The clock is the watermark, or processing time for times from `current_timestamp()`.

An operator with such a column among the keys of its groups releases a group's state when the group closes. A join whose condition bounds
the distance between two of them releases each row when it can match no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

from headrace.ops.facts.carried import CHANGES, CLOSE, EVENT, Closes, Columns, carried
from headrace.ops.facts.contract import contract, contracts
from headrace.ops.facts.interval import Delay, Interval
from headrace.plan import Node, order
from headrace.syntax import quote


@dataclass(frozen=True)
class Group:
    """How the groups of an operator close: `keys` are the numbers of the key columns that close, each with how it closes.

    The earliest counts. `judged` tells for each input whether its rows may be late; `emit` is when a result is sent, and `early_ms` the
    interval at which changes are sent before that.
    """

    keys: tuple[tuple[int, Closes], ...]
    judged: tuple[bool, ...]
    emit: str
    early_ms: int = 0

    @property
    def final(self) -> bool:
        """Whether its result is sent once and never retracted."""
        return self.emit == CLOSE and not self.early_ms

    @property
    def clocks(self) -> frozenset[str]:
        """The clocks of its closing keys; an operator can have only one."""
        return frozenset(closes.clock for _, closes in self.keys)

    def text(self, names: Sequence[str], *, late: bool = True) -> str:
        """Return the time at which a group closes, as SQL over key columns of these names; without `late`, the end of its window."""
        times = []
        for number, closes in self.keys:
            time = closes.at.of(quote(names[number]))
            times.append(f"timestampadd(MILLISECOND, {closes.lateness_ms}L, {time})" if late and closes.lateness_ms else time)
        return times[0] if len(times) == 1 else f"least({', '.join(times)})"


class Wait(Enum):
    """Where a result waits that is sent when a window closes: at this operator, downstream, or nowhere."""

    HERE = auto()
    BEHIND = auto()
    NOWHERE = auto()


def closing(ends: Iterable[Node]) -> dict[Node, Columns]:
    """Return the columns that close, of each node that the given ones need.

    >>> import headrace as hr
    >>> charges = hr.read.memory([], "card string, ts timestamp", name="charges").watermark("ts", "5 minutes")
    >>> totals = charges.window(hr.tumble("ts", "1 hour")).group_by("card", "window_end").agg(n="count(*)").rename({"window_end": "until"})
    >>> {name: closes.at.of(name) for name, closes in closing([totals._node])[totals._node].items()}
    {'until': 'until'}
    """
    known = _Closing()
    return {node: known[node] for node in order(ends)}


class _Closing(dict[Node, Columns]):
    """The columns that close, of each node on demand: expressions of other nodes are not read."""

    def __missing__(self, node: Node) -> Columns:
        for before in (node,) if all(before in self for before in node.inputs) else order([node]):
            if before not in self:
                self[before] = contract(before).closing_after(self)
        return self[node]


def groups(ends: Iterable[Node]) -> dict[Node, Group]:
    """Return the operators whose groups close, and how."""
    known = _Closing()
    return {node: group for node in contracts(ends) if (group := node.group(known)) is not None}


def intervals(ends: Iterable[Node]) -> dict[Node, Interval]:
    """Return the joins whose rows end one by one, and when."""
    known = _Closing()
    return {node: near for node in contracts(ends) if (near := node.interval(known)) is not None}


def named(items: Iterable[tuple[str, str]], columns: Columns) -> Columns:
    """Return how these names close, by their expressions over rows with these closing columns."""
    return {name.lower(): closes for name, text in items if name and (closes := carried(text, columns)) is not None}


def result(columns: Columns) -> Columns:
    """Return the closing columns of an operator's result: its rows do not come directly from a source."""
    # Early results are not held again by downstream operators.
    return {
        name: replace(closes, straight=False, emit=CHANGES if closes.early_ms else closes.emit, early_ms=0)
        for name, closes in columns.items()
    }


def group_by_texts(texts: Sequence[str], columns: Columns) -> Group | None:
    """Return how groups of equal expressions over one input close."""
    keys = tuple((number, closes) for number, text in enumerate(texts) if (closes := carried(text, columns)) is not None)
    return group_by_keys(keys, (any(closes.straight for _, closes in keys),))


def group_by_keys(keys: tuple[tuple[int, Closes], ...], judged: tuple[bool, ...]) -> Group | None:
    """Return how groups with these closing keys close; None without any."""
    if not keys:
        return None
    if any(closes.emit != CLOSE for _, closes in keys):
        return Group(keys, judged, CHANGES)
    return Group(keys, judged, CLOSE, min((closes.early_ms for _, closes in keys if closes.early_ms), default=0))


def delays(columns: Columns) -> Mapping[str, Delay]:
    """Return, for the columns that close by event time, how far the watermark is past a value when it closes."""
    return {name: Delay(us, closes.straight) for name, closes in columns.items() if (us := _delay(closes)) is not None}


def _delay(closes: Closes) -> int | None:
    """Return how far the watermark is past a column's time when the column closes, in microseconds; None for a field or another clock."""
    if closes.at.field or closes.clock != EVENT:
        return None
    return closes.at.later_us + closes.lateness_ms * 1000
