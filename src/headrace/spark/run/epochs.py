"""Epochs in the driver: once Spark has staged one, sinks commit it, then the record adds it up."""

from __future__ import annotations

import json
import pickle
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.jvm import preparing
from headrace.masking import masked
from headrace.points import calls, point
from headrace.ports import Sink, SinkContext, Staged
from headrace.ports.aside import put_aside_by_tasks, refused_of
from headrace.spark.checkpoint.history import History
from headrace.spark.checkpoint.record import Record, Written, place_of


@dataclass(frozen=True)
class OpenSink:
    """A sink that is open for a run, and its context; `op` is its number in the query. A quiet sink is not called for epochs without rows
    for it. `form`: the form of its rows at its place, including those already there. `whole`: the epoch whose rows are all that it holds
    afterwards, if one of this run is.
    """

    op: int
    name: str
    sink: Sink
    schema: str
    context: SinkContext
    quiet: bool = False
    form: Mapping[str, Any] = field(default_factory=dict)
    whole: int | None = None


class Committer:
    """Commits the epochs of one query. The JVM calls it once per epoch, and again for an epoch whose end Spark did not see.

    Sinks come first and the record last: an epoch that a crash interrupted is committed again by the sinks, which all can do, and counted
    once. `held` raises if another process works on the checkpoint by now: a process that was asleep for a while writes nothing more.
    `keep` is called with each epoch that is recorded. `clock` gives seconds, to measure for how long a source has been silent.
    """

    def __init__(
        self,
        sinks: Mapping[int, OpenSink],
        record: Record,
        history: History,
        held: Callable[[], None],
        keep: Callable[[int], None] = lambda epoch: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.sinks = sinks
        self.history = history
        self.held = held
        self.keep = keep
        self.clock = clock
        self.record = record
        self.failed: BaseException | None = None
        self.failed_sink: str | None = None
        self.last_rows: dict[str, float] = {}
        self._lock = threading.Lock()
        self._begun: tuple[int, str] = (-1, "")

    @property
    def begun(self) -> int:
        """The epoch that began last in this run, -1 before the first."""
        return self._begun[0]

    def commit(self, epoch: int, staged: Any) -> str | None:
        """Called by the JVM: None once everything is committed, else the text that ends the query."""
        return self._problem_of(lambda: self._commit(int(epoch), staged))

    def still(self) -> str | None:
        """Called by the JVM before an epoch is logged: None while this process may continue."""
        return self._problem_of(self.held)

    def begin(self, epoch: int) -> str:
        """Called by the JVM before the tasks of an epoch begin: "=" and its identity while this process may continue."""
        problem = self._problem_of(lambda: self._begin(int(epoch)))
        return f"={self._begun[1]}" if problem is None else problem

    def _begin(self, epoch: int) -> None:
        self.held()
        self._begun = (epoch, self.history.begin(epoch))

    def _problem_of(self, work: Callable[[], object]) -> str | None:
        try:
            with self._lock:
                work()
        except BaseException as problem:
            # An exception that left this method would become a Java trace; the run raises the one kept here.
            self.failed = problem
            return masked(f"{type(problem).__name__}: {problem}")
        return None

    def _commit(self, epoch: int, staged: Any) -> None:
        document = json.loads(staged.json())
        identity = self._identity_of(epoch)
        rows: dict[str, int] = {}
        written: dict[str, Written] = {}
        for text, part in document["sinks"].items():
            one = self.sinks[int(text)]
            rows[one.name] = 0
            if one.quiet and not part["rows"]:
                continue
            self.held()
            self.failed_sink = one.name
            point("before sink commit", one.name)
            whole = one.whole == epoch
            staged_part = Staged(part["rows"], tuple(part["files"]), _rows(staged, one.op), tuple(part["parts"]), identity, whole)
            # Rejected rows come before the others: once those are written, the epoch may count as done.
            put_aside_by_tasks(one.context, epoch, staged_part)
            with calls(one.name):
                one.sink.commit(epoch, staged_part)
            point("after sink commit", one.name)
            rows[one.name] = max(part["rows"] - refused_of(one.context, epoch), 0)
            if part["rows"] or whole:
                written[one.name] = Written(epoch, identity, place_of(one.sink), one.form)
        self.failed_sink = None
        self.held()
        now = self.clock()
        for source, _, _, metric, n in document["counts"]:
            if source and metric == "read" and n:
                self.last_rows[source] = now
        point("before the record", self.record.query)
        self.record.add(epoch, document["counts"], rows, written)
        point("after the record", self.record.query)
        self.keep(epoch)
        preparing.later()

    def _identity_of(self, epoch: int) -> str:
        begun, identity = self._begun
        if begun != epoch:
            raise RuntimeError(f"epoch {epoch} is to be committed, and the one that has begun is {begun}")
        return identity

    class Java:
        # py4j's declaration of the interface through which the JVM calls this object
        implements = ("headrace.sink.Committer",)


def _rows(staged: Any, op: int) -> Callable[[], list[tuple[Any, ...]]]:
    def read() -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = pickle.loads(bytes(staged.rows(op)))
        return rows

    return read
