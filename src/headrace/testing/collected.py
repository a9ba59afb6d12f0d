"""Collected: the rows of a stream in a test, epoch by epoch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cmp_to_key
from typing import Any, ClassVar

from headrace import ports
from headrace.ports.weights import changes_of, net

Row = tuple[Any, ...]


class Collected:
    """The output of a stream so far, returned by `Harness.collect`.

    Timestamps are timezone-aware datetimes, in the time zone of the harness. A struct is a tuple.

    Examples:
        >>> from headrace.testing import Harness
        >>> with Harness(partitions=1) as h:
        ...     t = h.source("t", "k string, v int", changes=True)
        ...     out = h.collect(t.group_by("k").agg(total="sum(v)"))
        ...     _ = h.commit({"t": [("+", ("a", 1)), ("+", ("a", 2))]})
        ...     _ = h.commit({"t": [("-", ("a", 1))]})
        ...     out.rows(), out.changes()
        ([('a', 2)], [(1, '+', ('a', 3)), (2, '-', ('a', 3)), (2, '+', ('a', 2))])
    """

    def __init__(self, sink: CollectingSink, started: Callable[[], None]) -> None:
        self._sink = sink
        self._started = started

    def rows(self) -> list[Row]:
        """Returns the current rows, sorted, with None first.

        Raises:
            ConfigError: `HARNESS_USE` after the harness was closed.
        """
        self._started()
        totals = net(change for _, changes in sorted(self._sink.epochs.items()) for change in changes)
        return in_order([row for row, weight in totals for _ in range(weight)])

    def changes(self) -> list[tuple[int, str, Row]]:
        """Returns the net changes of each commit as `(commit, "+" or "-", row)`, sorted, retractions first. Commits count from 1.

        Raises:
            ConfigError: `HARNESS_USE` after the harness was closed.
        """
        self._started()
        by_commit: dict[int, list[tuple[Row, int]]] = {}
        for (commit, _), changes in self._sink.epochs.items():
            by_commit.setdefault(commit, []).extend(changes)
        return [
            (commit, sign, row)
            for commit, changes in sorted(by_commit.items())
            for sign, times in (("-", -1), ("+", 1))
            for row in in_order([row for row, weight in net(changes) for _ in range(times * weight)])
        ]


class CollectingSink(ports.Sink):
    """Keeps rows by the commit of the harness and the epoch of the query."""

    connector: ClassVar[str] = "memory"

    def __init__(self, commit: Callable[[], int]) -> None:
        self.epochs: dict[tuple[int, int], list[tuple[Row, int]]] = {}
        self._commit = commit
        self._context: ports.SinkContext | None = None

    @property
    def traits(self) -> ports.SinkTraits:
        return ports.SinkTraits("idempotent", "an epoch that comes again takes the place of its rows", ("append", "changes"))

    def options(self) -> dict[str, Any]:
        return {}

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> CollectingSink:
        raise TypeError("the sink of a harness exists in its test only")

    def open(self, context: ports.SinkContext) -> None:
        self._context = context

    def stage(self) -> dict[str, Any]:
        return {"kind": "rows"}

    def commit(self, epoch: int, staged: ports.Staged) -> None:
        assert self._context is not None  # sinks are opened before the query starts
        # An epoch repeated after a restart belongs to the commit that first had it.
        commit = next((commit for commit, seen in self.epochs if seen == epoch), self._commit())
        if staged.count:
            self.epochs[commit, epoch] = changes_of(staged, self._context)


def in_order(rows: list[Row]) -> list[Row]:
    """Sorts rows: None first, then by value; values that cannot be compared are sorted by their repr.

    >>> in_order([("b", 1), ("a", None), ("a", 2), (None, 3)])
    [(None, 3), ('a', None), ('a', 2), ('b', 1)]
    """
    return sorted(rows, key=cmp_to_key(_compare))


def _compare(a: Any, b: Any) -> int:
    if a is None or b is None:
        return (a is not None) - (b is not None)
    if isinstance(a, tuple) and isinstance(b, tuple):
        for left, right in zip(a, b, strict=False):
            order = _compare(left, right)
            if order:
                return order
        return (len(a) > len(b)) - (len(a) < len(b))
    try:
        if a < b:
            return -1
        if b < a:
            return 1
        if a == b:
            return 0
    except TypeError:
        pass
    # NaN is neither less nor greater, and dicts cannot be compared
    return (repr(a) > repr(b)) - (repr(a) < repr(b))
