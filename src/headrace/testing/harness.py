"""Harness: programs and pipelines on local Spark, on rows that a test gives, epoch by epoch."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from headrace.errors import HeadraceError, here
from headrace.jvm.session import jvm, session
from headrace.ops.facts.kind import kind_of
from headrace.ops.ledger import ledger
from headrace.ops.sink import Sink
from headrace.ops.source import Source
from headrace.ops.source import watermark as with_watermark
from headrace.ops.stream import Stream
from headrace.plan import Plan
from headrace.plan.naming import valid_name
from headrace.schema import milliseconds, schema_of
from headrace.schema.values import zone
from headrace.spark.compile.job import SparkJob, compile
from headrace.spark.run.failures import failure
from headrace.spark.run.query import RunningQuery
from headrace.spark.run.start import Started, begin
from headrace.spark.run.summary import counts_of, expectations_of, lookups_of, prove, source_counts
from headrace.spelling import suggestion
from headrace.testing.board import BoardSource
from headrace.testing.collected import Collected, CollectingSink

Change = tuple[str, Any]


class Harness:
    """Runs streams on rows that a test commits, one epoch after the other. All harnesses of a process share one Spark session.

    >>> import headrace as hr
    >>> from headrace.testing import Harness
    >>> with Harness() as h:
    ...     t = h.source("t", "k string, v int")
    ...     out = h.collect(t.filter("v > 1"))
    ...     _ = h.commit({"t": [("+", ("a", 1)), ("+", ("b", 2))]})
    ...     out.rows()
    [('b', 2)]
    """

    def __init__(self, *, partitions: int = 2, timezone: str = "UTC") -> None:
        zone(timezone)
        self._partitions = partitions
        self._time_zone = timezone
        self._folder = Path(tempfile.mkdtemp(prefix="headrace-harness-"))
        self._board = f"harness-{uuid.uuid4().hex}"
        self._sources: dict[str, BoardSource] = {}
        self._sinks: list[Sink] = []
        self._commits = 0
        self._clock = self._began = 0.0
        self._job: SparkJob | None = None
        self._started: Started | None = None
        self._finished = False
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Stop, and remove the folder in which the checkpoint was."""
        if self._closed:
            return
        self._closed = True
        self._stop()
        if self._job is not None:
            jvm(session()).headrace.source.Board.drop(self._board)
        shutil.rmtree(self._folder, ignore_errors=True)

    def source(
        self, name: str, schema: Any, *, watermark: tuple[str, str | timedelta] | None = None, changes: bool = False, trusted: bool = False
    ) -> Stream:
        """A source that `commit` feeds by its name; `watermark` is its column and delay.

        With `changes` rows can also be taken away. A ledger then judges whether they were there; with `trusted` there is none.
        """
        self._before_the_first_commit("source")
        if name in self._sources:
            raise HeadraceError("NAME_CLASH", f"the harness has a source `{name}` already", hint="give it another name", site=here())
        made = BoardSource(self._board, valid_name(name), schema_of(schema), changes=changes, checked=changes and not trusted)
        self._sources[name] = made
        node = Source(made.connector, made.options(), made.schema.ddl, live=made, name=name, site=here())
        if watermark is not None:
            node = with_watermark(node, *watermark)
        return Stream(ledger(node) if made.checked else node)

    def collect(self, stream: Stream) -> Collected:
        """Keep what a stream gives; before the first commit, for any number of streams."""
        self._before_the_first_commit("collect")
        sink = CollectingSink(lambda: self._commits)
        name = f"collected {len(self._sinks) + 1}"
        self._sinks.append(Sink(stream._node, sink.connector, {}, kind_of(stream._node), live=sink, name=name, site=here()))
        return Collected(sink, self._must_be_open)

    def commit(self, rows: Mapping[str, Iterable[Change]] | None = None) -> int:
        """One epoch: rows by source, as ("+", row), and ("-", row) to take one away from a source of changes; a source left out has none.
        Returns its number when all that it makes due is done.

        A row is a tuple or a dict; texts are accepted for timestamps and decimals. An epoch may add and take away the same row.
        """
        self._must_be_open()
        if self._finished:
            raise HeadraceError(
                "HARNESS_USE", "the harness was finished, so time has ended for it", hint="commit before finish()", site=here()
            )
        # all are looked at before any is added: a commit that is refused leaves nothing behind
        given = {name: self._changed(name, changes) for name, changes in (rows or {}).items()}
        self._begin()
        spark = session()
        for name, (changed, weights) in given.items():
            if changed:
                self._sources[name].pin(spark, changed, weights)
        self._commits += 1
        jvm(spark).headrace.source.Board.publish(self._board)
        self._settle()
        return self._commits

    def restart(self) -> None:
        """Stop between two epochs and start again from the checkpoint."""
        self._must_be_open()
        if self._started is not None:
            self._stop()
            self._start()

    def finish(self) -> int:
        """End the input: everything held is handled and every timer due fires. Counts as one commit more."""
        self._must_be_open()
        if not self._finished:
            self._begin()
            self._commits += 1
            self._finished = True
            for query in self._queries():
                query.flush()
            self._settle()
        return self._commits

    def advance(self, duration: str | timedelta) -> None:
        """Move processing time forward; it stands still otherwise. What this makes due is done when it returns.

        Sources that have been silent for longer than the `idle` of their watermark let the others go on.
        """
        self._must_be_open()
        self._begin()
        millis = milliseconds(duration, "the duration")
        assert self._job is not None  # made by _begin
        if not self._job.at.schemas.timed and all(query.query.clock != "processing" and not _may_idle(query) for query in self._queries()):
            raise HeadraceError("HARNESS_USE", "nothing here goes by processing time", hint="event time moves with the rows", site=here())
        self._clock += millis / 1000
        for query in self._queries():
            query.handle.advance(millis)
        self._settle()

    def metrics(self) -> dict[str, Any]:
        """Counts so far: `sources` (read, malformed, skipped, tombstones, broken), `inputs` (filtered, in, handled, late, dead, held),
        `expectations` (passed, violated, by stream and name), `lookups` (hits, asked, requests, missed, seconds), `dead_letters`,
        `epochs`."""
        self._must_be_open()
        sources: dict[str, dict[str, int]] = {}
        inputs: dict[str, dict[str, dict[str, int]]] = {}
        expectations: dict[str, dict[str, dict[str, int]]] = {}
        lookups: dict[str, dict[str, Any]] = {}
        dead = epochs = 0
        for query in self._queries():
            totals = query.totals
            epochs += totals.epoch + 1
            dead += totals.rows.get("#dead_letters", 0)
            for source in query.query.sources:
                name = str(source.name)
                sources[name] = {metric: n for metric, n in source_counts(totals, name).to_json().items() if metric != "name"}
            for kept in expectations_of(totals, query.query.sinks):
                expectations.setdefault(kept.stream, {})[kept.name] = {"passed": kept.passed, "violated": kept.violated}
            lookups |= {one.name: one.to_json() for one in lookups_of(totals, query.lookups())}
            found = counts_of(totals, query.programs())
            prove(found)
            for one in found:
                inputs.setdefault(one.program, {})[one.input] = one.to_json()
        counts = {"sources": sources, "inputs": inputs, "expectations": expectations, "lookups": lookups}
        return {**counts, "dead_letters": dead, "epochs": epochs}

    def _queries(self) -> list[RunningQuery]:
        return self._started.queries if self._started is not None else []

    def _changed(self, name: str, changes: Iterable[Change]) -> tuple[list[tuple[Any, ...]], list[int]]:
        """Rows as a source takes them, and how often each is added."""
        if name not in self._sources:
            has = ", ".join(self._sources) or "none"
            hint = suggestion(name, self._sources, f"it has: {has}")
            raise HeadraceError("HARNESS_USE", f"the harness has no source `{name}`", hint=hint, site=here())
        rows, weights = [], []
        for change in changes:
            if not (isinstance(change, tuple | list) and len(change) == 2 and change[0] in ("+", "-")):
                raise HeadraceError("HARNESS_USE", f"{change!r} is no change", hint='write ("+", row) for each row', site=here())
            if change[0] == "-" and not self._sources[name].changes:
                hint = f'make it a source of changes: h.source("{name}", ..., changes=True)'
                raise HeadraceError("HARNESS_USE", f"to the source `{name}` rows can only be added", hint=hint, site=here())
            rows.append(change[1])
            weights.append(1 if change[0] == "+" else -1)
        return self._sources[name].converted(rows, self._time_zone), weights

    def _begin(self) -> None:
        if self._started is not None:
            return
        if not self._sinks:
            raise HeadraceError(
                "HARNESS_USE", "the harness collects no stream", hint="out = h.collect(stream) before the first commit", site=here()
            )
        settings = {"spark.sql.session.timeZone": self._time_zone}
        self._job = compile(Plan.of("harness", self._sinks, settings))
        jvm(session()).headrace.source.Board.create(self._board)
        self._start()

    def _start(self) -> None:
        assert self._job is not None  # made by _begin
        self._started = begin(self._job, self._folder / "checkpoint", partitions=self._partitions, clock=lambda: self._clock)
        self._began = self._clock
        for query in self._started.queries:
            query.restore()

    def _stop(self) -> None:
        started, self._started = self._started, None
        if started is None:
            return
        for query in started.queries:
            query.handle.stop()
        started.close()

    def _settle(self) -> None:
        """Wait until every query has done all that it can do now."""
        for query in self._queries():
            query.handle.processAllAvailable()
            if _may_idle(query) and not self._finished:
                query.advance_idle(self._began)
                query.handle.processAllAvailable()
        for query in self._queries():
            report = query.handle.exception()
            if report:
                raise failure(report, self._folder / "checkpoint" / "errors.log", query.committer.failed, query.committer.failed_sink)

    def _before_the_first_commit(self, what: str) -> None:
        self._must_be_open()
        if self._started is not None:
            raise HeadraceError("HARNESS_USE", f"{what} comes after the first commit", hint=f"call {what} before it", site=here())

    def _must_be_open(self) -> None:
        if self._closed:
            raise HeadraceError("HARNESS_USE", "the harness is closed", hint="use it inside its `with` block", site=here())


def _may_idle(query: RunningQuery) -> bool:
    """Whether a source of it lets the others go on when it is silent."""
    return any(source.watermark is not None and source.watermark.idle_ms is not None for source in query.timed)
