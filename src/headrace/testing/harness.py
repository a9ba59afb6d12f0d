"""Harness: runs programs and plans on a local Spark with rows from a test, epoch by epoch."""

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
from headrace.spark.run.start import begin
from headrace.spark.run.started import Started
from headrace.spark.run.summary import counts_of, expectations_of, lookups_of, prove, source_counts
from headrace.spelling import suggestion
from headrace.testing.board import BoardSource
from headrace.testing.collected import Collected, CollectingSink

Change = tuple[str, Any]


class Harness:
    """Runs streams on rows that a test commits, one epoch after the other.

    It is a context manager: the end of its block closes it. All harnesses of a process share one Spark session.

    Args:
        partitions: The number of tasks of each [level](../../concepts/levels.md).
        timezone: The session's time zone during the test.

    Raises:
        SchemaError: `UNKNOWN_TIME_ZONE` if there is no time zone of this name.

    Examples:
        >>> import headrace as hr
        >>> from headrace.testing import Harness
        >>> class Quiet(hr.Program):
        ...     timer = hr.Timer(clock="processing")
        ...
        ...     def on_event(self, e):
        ...         self.timer.set(hr.now() + hr.minutes(5))
        ...         hr.emit(k=self.key.k, what="row")
        ...
        ...     def on_timer(self, at):
        ...         hr.emit(k=self.key.k, what="quiet")
        >>> with Harness(partitions=1) as h:
        ...     t = h.source("t", "k string, v int")
        ...     out = h.collect(t.key_by("k").process(Quiet))
        ...     _ = h.commit({"t": [("+", ("a", 1))]})
        ...     h.restart()
        ...     h.advance("5 minutes 1 second")
        ...     print(out.rows(), h.metrics()["sources"]["t"]["read"])
        ...     _ = h.finish()
        ...     h.close()                                  # the end of the block does that too
        [('a', 'quiet'), ('a', 'row')] 1
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
        """Stops the streams and deletes the temporary checkpoint. The end of a `with` block calls it."""
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
        """Creates a source that `commit` feeds by its name.

        Args:
            name: The name of the source.
            schema: The columns, as DDL such as `"k string, v int"` or a pyspark StructType.
            watermark: The event time column and the delay of the watermark: `("ts", "5 seconds")`. Default: no event time. For `idle`, use
                `h.source(…).watermark("ts", "5 seconds", idle="1 minute")`.
            changes: Accepts retractions too. The retraction of a row that is not present becomes a dead letter.
            trusted: Turns off this check.

        Returns:
            The stream of its rows.

        Raises:
            ConfigError: `HARNESS_USE` after the first commit or after `close`.
            PlanError: `NAME_CLASH` for a second source of this name; `BAD_NAME` for an invalid name; `UNKNOWN_COLUMN` if the watermark's
                column does not exist, `WATERMARK_TYPE` if it is no timestamp.
            SchemaError: `BAD_TYPE` for an invalid schema, `BAD_DURATION` if the delay is not a duration.
        """
        self._before_the_first_commit("source")
        if name in self._sources:
            raise HeadraceError("NAME_CLASH", f"the harness already has a source `{name}`", hint="give it another name", site=here())
        connected = BoardSource(self._board, valid_name(name), schema_of(schema), changes=changes, checked=changes and not trusted)
        self._sources[name] = connected
        node = Source(connected.connector, connected.options(), connected.schema.ddl, live=connected, name=name, site=here())
        if watermark is not None:
            node = with_watermark(node, *watermark)
        return Stream(ledger(node) if connected.checked else node)

    def collect(self, stream: Stream) -> Collected:
        """Records the output of a stream. Call it before the first commit, for any number of streams.

        Args:
            stream: The stream.

        Raises:
            ConfigError: `HARNESS_USE` after the first commit or after `close`.
        """
        self._before_the_first_commit("collect")
        sink = CollectingSink(lambda: self._commits)
        name = f"collected {len(self._sinks) + 1}"
        self._sinks.append(Sink(stream._node, sink.connector, {}, kind_of(stream._node), live=sink, name=name, site=here()))
        return Collected(sink, self._must_be_open)

    def commit(self, rows: Mapping[str, Iterable[Change]] | None = None) -> int:
        """Runs one epoch over all sources, then the empty epochs that become due.

        Args:
            rows: The changes by source: `("+", row)` inserts a row, `("-", row)` retracts one from a `source(…, changes=True)`. A row is a
                tuple or a dict; timestamps and decimals may be texts. A source that is left out has no rows.

        Returns:
            The number of the commit, from 1.

        Raises:
            ConfigError: `HARNESS_USE` for an unknown source or an invalid change, after `finish` or `close`, or if no stream is collected.
            SchemaError: `BAD_VALUE` for a value that does not fit its column.
            HeadraceError: The error of a failed epoch.
        """
        self._must_be_open()
        if self._finished:
            raise HeadraceError("HARNESS_USE", "the harness is finished and takes no more rows", hint="commit before finish()", site=here())
        # all rows are checked before any is added, so that a refused commit leaves nothing behind
        rows_of = {name: self._changed(name, changes) for name, changes in (rows or {}).items()}
        self._begin()
        spark = session()
        for name, (changed, weights) in rows_of.items():
            if changed:
                self._sources[name].pin(spark, changed, weights)
        self._commits += 1
        jvm(spark).headrace.source.Board.publish(self._board)
        self._settle()
        return self._commits

    def restart(self) -> None:
        """Stops the streams between two epochs and starts them again from the checkpoint.

        Raises:
            ConfigError: `HARNESS_USE` after `close`.
            HeadraceError: The error of a start that is refused.
        """
        self._must_be_open()
        if self._started is not None:
            self._stop()
            self._start()

    def finish(self) -> int:
        """Ends the input: all held rows are handled, all timers fire and all windows close.

        Returns:
            The number of this commit.

        Raises:
            ConfigError: `HARNESS_USE` after `close`, or if no stream is collected.
            HeadraceError: The error of a failed epoch.
        """
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
        """Advances processing time, which moves only by this call, and runs the epochs that become due.

        A source that is silent for longer than the `idle` of its watermark no longer holds back the others.

        Args:
            duration: A duration such as `"5 minutes"`.

        Raises:
            ConfigError: `HARNESS_USE` if nothing uses processing time, after `close`, or if no stream is collected.
            SchemaError: `BAD_DURATION` for an invalid duration.
            HeadraceError: The error of a failed epoch.
        """
        self._must_be_open()
        self._begin()
        millis = milliseconds(duration, "the duration")
        assert self._job is not None  # made by _begin
        if not self._job.at.schemas.timed and all(query.query.clock != "processing" and not _may_idle(query) for query in self._queries()):
            raise HeadraceError(
                "HARNESS_USE", "nothing in the harness uses processing time", hint="event time advances with the rows", site=here()
            )
        self._clock += millis / 1000
        for query in self._queries():
            query.handle.advance(millis)
        self._settle()

    def metrics(self) -> dict[str, Any]:
        """Returns the counts so far.

        Returns:
            `sources` (read, malformed, skipped, tombstones, broken), `inputs` of programs (filtered, in, handled, late, dead, held),
            `expectations` by stream and name (passed, violated), `lookups` (hits, asked, requests, missed, seconds), `dead_letters`,
            `epochs`. [`Summary`](jobs.md#Summary) explains them.

        Raises:
            RunError: `ROWS_UNACCOUNTED` if input rows of a program are missing, which is a bug in headrace.
            ConfigError: `HARNESS_USE` after `close`.
        """
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
            programs = counts_of(totals, query.programs())
            prove(programs)
            for one in programs:
                inputs.setdefault(one.program, {})[one.input] = one.to_json()
        counts = {"sources": sources, "inputs": inputs, "expectations": expectations, "lookups": lookups}
        return {**counts, "dead_letters": dead, "epochs": epochs}

    def _queries(self) -> list[RunningQuery]:
        return self._started.queries if self._started is not None else []

    def _changed(self, name: str, changes: Iterable[Change]) -> tuple[list[tuple[Any, ...]], list[int]]:
        """Returns rows as a source takes them, and their weights."""
        if name not in self._sources:
            has = ", ".join(self._sources) or "none"
            hint = suggestion(name, self._sources, f"it has: {has}")
            raise HeadraceError("HARNESS_USE", f"the harness has no source `{name}`", hint=hint, site=here())
        rows, weights = [], []
        for change in changes:
            if not (isinstance(change, tuple | list) and len(change) == 2 and change[0] in ("+", "-")):
                hint = 'write ("+", row) for an insertion, ("-", row) for a retraction'
                raise HeadraceError("HARNESS_USE", f"expected a change, got {change!r}", hint=hint, site=here())
            if change[0] == "-" and not self._sources[name].changes:
                hint = f'make it a source with retractions: h.source("{name}", ..., changes=True)'
                raise HeadraceError("HARNESS_USE", f"the source `{name}` is insert-only", hint=hint, site=here())
            rows.append(change[1])
            weights.append(1 if change[0] == "+" else -1)
        return self._sources[name].converted(rows, self._time_zone), weights

    def _begin(self) -> None:
        if self._started is not None:
            return
        if not self._sinks:
            raise HeadraceError(
                "HARNESS_USE", "no stream is collected", hint="before the first commit, call out = h.collect(stream)", site=here()
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
        """Waits until every query has processed all that is available."""
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
            raise HeadraceError("HARNESS_USE", f"{what} was called after the first commit", hint=f"call {what} before it", site=here())

    def _must_be_open(self) -> None:
        if self._closed:
            raise HeadraceError("HARNESS_USE", "the harness is closed", hint="use it inside its `with` block", site=here())


def _may_idle(query: RunningQuery) -> bool:
    """Returns whether a source of the query has an `idle` time, after which the others advance without it."""
    return any(source.watermark is not None and source.watermark.idle_ms is not None for source in query.timed)
