"""The current rows of a running stream, and the changes of its last epoch."""

from __future__ import annotations

import tempfile
import threading
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from headrace import ports
from headrace.analysis.boundedness import sources
from headrace.engine.loading import refuse_while_loading
from headrace.engine.lost import loss_text, lost
from headrace.errors import here
from headrace.interrupts import interruptible
from headrace.ops.facts.keys import known_keys
from headrace.ops.facts.kind import kind_of
from headrace.ops.sink import sink
from headrace.ops.stream import Stream
from headrace.plan import Plan
from headrace.plan.meaning import meaning
from headrace.ports.weights import changes_of
from headrace.spark.compile.job import compile
from headrace.spark.run.run import Run
from headrace.spark.run.signals import Signals
from headrace.spark.run.start import start
from headrace.spark.run.summary import Summary

Row = tuple[Any, ...]

KEPT = 10_000
"""The number of rows that stay on the board if a stream only adds rows: the newest."""


@dataclass(frozen=True)
class Line:
    """A row on the board: `times` is how often it is there, `epoch` the last one that changed it, `mark` is "+" for a new row, else "~"."""

    row: Row
    times: int
    epoch: int
    mark: str


class Board(ports.Sink):
    """A sink that keeps the current rows of a stream in this process, each in its place.

    With a known unique key, a row that replaces another takes its place.
    """

    connector: ClassVar[str] = "live"

    def __init__(self, key: tuple[int, ...] | None, on_changes: Callable[[list[tuple[Row, int]]], None] | None = None) -> None:
        self._key = key
        self._on_changes = on_changes
        self._lock = threading.Lock()
        self._lines: dict[Any, Line] = {}
        self._context: ports.SinkContext | None = None
        self.epoch = -1
        self.rows = 0

    @property
    def traits(self) -> ports.SinkTraits:
        return ports.SinkTraits("plain", "it is shown, not kept", ("append", "changes"))

    def options(self) -> dict[str, Any]:
        return {}

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Board:
        return cls(None)

    def open(self, context: ports.SinkContext) -> None:
        self._context = context

    def stage(self) -> dict[str, Any]:
        return {"kind": "rows"}

    def commit(self, epoch: int, staged: ports.Staged) -> None:
        assert self._context is not None  # a sink is opened before it is written
        changes = changes_of(staged, self._context) if staged.count else []
        with self._lock:
            self.epoch = epoch
            self._change(sorted(changes, key=lambda change: change[1] > 0))
            self.rows += sum(weight for _, weight in changes)
            if self._context.mode == "append":
                for place in list(self._lines)[: max(len(self._lines) - KEPT, 0)]:
                    del self._lines[place]
        if changes and self._on_changes is not None:
            self._on_changes(changes)

    def lines(self) -> list[Line]:
        """Return the current rows, in the order of their places."""
        with self._lock:
            return list(self._lines.values())

    def _change(self, changes: list[tuple[Row, int]]) -> None:
        """Apply deletions, then insertions; a place in both stays where it is, empty in between."""
        empty: dict[Any, Line] = {}
        for row, weight in changes:
            place = self._place(row)
            line = self._lines.get(place)
            if weight < 0 and line is not None:
                left = replace(line, times=line.times + weight, epoch=self.epoch, mark="~")
                self._lines[place] = left
                if left.times <= 0:
                    empty[place] = line
            elif weight > 0:
                times = weight + (line.times if line is not None and place not in empty else 0)
                self._lines[place] = Line(row, times, self.epoch, "+" if line is None else "~")
                empty.pop(place, None)
        for place in empty:
            del self._lines[place]

    def _place(self, row: Row) -> str:
        return repr(row if self._key is None else tuple(row[i] for i in self._key))


def endless(stream: Stream) -> bool:
    """Return whether a source of the stream is unbounded."""
    return any(not source.connect().traits.bounded for source in sources(stream._node))


def follow(
    stream: Stream, look: Callable[[Board, Run, Signals], None], on_changes: Callable[[list[tuple[Row, int]]], None] | None = None
) -> Summary:
    """Run a stream on a temporary checkpoint, until it ends or is stopped.

    `look` is called ten times a second, in the thread of the caller; adding one to `stop_requests` of its signals stops the run as Ctrl-C
    does.
    `on_changes` is called with the changes of each epoch that has any.
    """
    refuse_while_loading("a stream")
    key = next(iter(sorted(known_keys(stream._node), key=len)), None)
    with interruptible():
        columns = [name.lower() for name in stream.columns]
        board = Board(None if key is None else tuple(sorted(columns.index(name) for name in key)), on_changes)
        plan = Plan.of("live", [sink(stream._node, board, None, None)], meaning())
        compiled = compile(plan)
    with tempfile.TemporaryDirectory(prefix="headrace-") as folder, Signals() as signals:
        checkpoint = Path(folder, "checkpoint")
        run = start(compiled, checkpoint)
        summary = run.watch(lambda: look(board, run, signals), signals)
        assert summary is not None  # without a timeout `watch` ends with the run
        look(board, run, signals)
        if letters := lost(summary, checkpoint):
            where = "a job of this stream keeps them, and headrace letters show lists them"
            file, line = (site.file, site.line) if (site := here()) else ("headrace", 0)
            warnings.warn_explicit(loss_text(letters, where), RuntimeWarning, file, line)
    return summary


def shows_changes(stream: Stream) -> bool:
    """Return whether the stream also retracts rows."""
    return kind_of(stream._node) == "changes"
