"""The record of a query: the counts of its epochs, added up and kept in the checkpoint.

Spark replays an epoch whose end it did not see. The record has the last epoch that it added, so a replayed one adds nothing.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from dataclasses import replace as replaced
from pathlib import Path
from typing import Any

from headrace.durable.atomic import replace
from headrace.durable.sums import read, text_of, unreadable
from headrace.plan.codec import typed
from headrace.ports import Mark, Sink

FORMAT = 3
TIME = "max_time"


@dataclass(frozen=True)
class Written:
    """The last epoch with rows for a sink, its identity, the sink's place at that time, and the form of its rows there (`forms`)."""

    epoch: int
    identity: str
    place: str
    form: Mapping[str, Any] = field(default_factory=dict)

    @property
    def mark(self) -> Mark:
        return Mark(self.epoch, self.identity)

    def to_json(self) -> list[Any]:
        return [self.epoch, self.identity, self.place, *([dict(self.form)] if self.form else [])]


def place_of(sink: Sink) -> str:
    """Return the place where a sink writes, as the record names it."""
    return sink.owns or sink.describe()


Conditions = Mapping[str, Mapping[str, str]]
"""The expectations of rows: the condition of each, by node and name."""

# source name ("" after the first level), op id, side, metric
Key = tuple[str, int, int, str]


@dataclass(frozen=True)
class Totals:
    """The counts of a query up to and including `epoch`. Immutable, since a run reads them in other threads than the
    one that adds to them.

    >>> totals = Totals().with_epoch(0, [["charges", 0, 0, "read", 3], ["charges", 0, 0, "max_time", 70]], {"alerts": 1})
    >>> totals.with_epoch(0, [["charges", 0, 0, "read", 3]], {"alerts": 1}) is totals      # the same epoch again
    True
    >>> totals.of_source("charges", "read"), totals.times(), totals.rows
    (3, {'charges': 70}, {'alerts': 1})
    """

    epoch: int = -1
    counts: Mapping[Key, int] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    written: Mapping[str, Written] = field(default_factory=dict)
    conditions: Conditions | None = None
    """The conditions under which the expectations were counted; None from an earlier version, which did not store them."""

    def expecting(self, conditions: Conditions) -> Totals:
        """Return the totals for other conditions: counts under different ones are dropped."""
        gone = {(node, f"{outcome} {name}") for node, name in self.changed(conditions) for outcome in ("passed", "violated")}
        counts = {key: n for key, n in self.counts.items() if (key[0], key[3]) not in gone}
        return replaced(self, counts=counts, conditions=conditions)

    def changed(self, conditions: Conditions) -> list[tuple[str, str]]:
        """Return the node and name of each expectation that was counted under another condition.

        >>> Totals(3, conditions={"rows": {"positive": "n > 0"}}).changed({"rows": {"positive": "n >= 0"}})
        [('rows', 'positive')]
        """
        if self.conditions is None or self.epoch < 0:
            return []
        now = [(node, name, text) for node, texts in conditions.items() for name, text in texts.items()]
        return [(node, name) for node, name, text in now if self.conditions.get(node, {}).get(name) != text]

    def with_epoch(
        self, epoch: int, counts: Iterable[list[Any]], rows: Mapping[str, int], written: Mapping[str, Written] | None = None
    ) -> Totals:
        """Return the totals with one more epoch; unchanged if they include it already."""
        if epoch <= self.epoch:
            return self
        sums = dict(self.counts)
        for source, op, side, metric, n in counts:
            key = (str(source or ""), int(op), int(side), str(metric))
            if metric == TIME:
                sums[key] = max(sums.get(key, int(n)), int(n))
            else:
                sums[key] = sums.get(key, 0) + int(n)
        sent = {**self.rows, **{sink: self.rows.get(sink, 0) + n for sink, n in rows.items()}}
        return Totals(epoch, sums, sent, {**self.written, **(written or {})}, self.conditions)

    def of_source(self, source: str, metric: str) -> int:
        return sum(n for (name, _, _, kind), n in self.counts.items() if name == source and kind == metric)

    def of_input(self, op: int, side: int, metric: str) -> int:
        return sum(n for (_, number, at, kind), n in self.counts.items() if number == op and at == side and kind == metric)

    def of_operators(self, ops: Container[int], metric: str) -> int:
        return sum(n for (_, op, _, kind), n in self.counts.items() if kind == metric and op in ops)

    def times(self) -> dict[str, int]:
        """Return the latest event time of each source, in microseconds."""
        return {name: n for (name, _, _, metric), n in self.counts.items() if metric == TIME}

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "epoch": self.epoch,
            "counts": [[*key, n] for key, n in sorted(self.counts.items())],
            "rows": dict(self.rows),
            "written": {sink: one.to_json() for sink, one in sorted(self.written.items())},
            **({} if self.conditions is None else {"conditions": {node: dict(texts) for node, texts in sorted(self.conditions.items())}}),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Totals:
        counts = {(source, op, side, metric): n for source, op, side, metric, n in value["counts"]}
        # records of format 1 do not have the sinks that were written
        written = {sink: Written(*one) for sink, one in value.get("written", {}).items()}
        # records of earlier versions do not have their conditions
        stored = value.get("conditions")
        conditions = None if stored is None else {str(node): _texts(texts) for node, texts in typed(stored, Mapping).items()}
        return cls(value["epoch"], counts, dict(value["rows"]), written, conditions)


def _texts(value: Any) -> dict[str, str]:
    return {str(name): typed(text, str) for name, text in typed(value, Mapping).items()}


class Record:
    """The totals of one query on disk: `<checkpoint>/record/<query>.<term>.json`.

    Each term has its own file and continues from the newest one before it. A process that was asleep while another took over writes a file
    that nobody reads.
    """

    def __init__(self, folder: Path, query: str, term: int) -> None:
        self.folder = folder
        self.query = query
        self.term = term
        self._before = newest(folder, query)
        self.totals = recorded(folder, query)

    def expect(self, conditions: Conditions) -> None:
        """Count under these conditions from now on. They are stored with the next epoch."""
        self.totals = self.totals.expecting(conditions)

    @property
    def path(self) -> Path:
        return self.folder / f"{self.query}.{self.term}.json"

    def add(self, epoch: int, counts: Iterable[list[Any]], rows: Mapping[str, int], written: Mapping[str, Written] | None = None) -> bool:
        """Add an epoch and store the sum; False if it was added before."""
        totals = self.totals.with_epoch(epoch, counts, rows, written)
        if totals is self.totals:
            return False
        self.store(totals)
        if self._before not in (None, self.path):
            self._before.unlink(missing_ok=True)
            self._before = None
        return True

    def store(self, totals: Totals) -> None:
        """Replace the stored counts."""
        self.folder.mkdir(parents=True, exist_ok=True)
        replace(self.path, text_of(totals.to_json()))
        self.totals = totals


def recorded(folder: Path, query: str) -> Totals:
    """Read the counts of a query's epochs. Raises CHECKPOINT_UNREADABLE."""
    file = newest(folder, query)
    if file is None:
        return Totals()
    try:
        return Totals.from_json(read(file) or {})
    except (KeyError, TypeError, ValueError) as problem:
        raise unreadable(file, f"it is not a record: {problem!r}") from None


def newest(folder: Path, query: str) -> Path | None:
    """Return the record of a query in its newest term; versions before terms had one without a number."""
    terms = {path: int(path.name[len(query) + 1 : -5] or -1) for path in folder.glob("*.json") if of_query(path.name, query)}
    return max(terms, key=lambda path: terms[path], default=None)


def of_query(name: str, query: str) -> bool:
    """Return whether a file with a name is a record of a query."""
    return re.fullmatch(re.escape(query) + r"(\.\d+)?\.json", name) is not None
