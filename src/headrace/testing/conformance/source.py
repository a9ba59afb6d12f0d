"""check_source: checks that a source returns each row once, repeats epochs exactly, and resumes at its position."""

from __future__ import annotations

import itertools
import json
import tempfile
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from headrace import ports
from headrace.certify.contents import Contents
from headrace.jvm.session import session
from headrace.ops.facts.kind import kind_of
from headrace.ops.sink import Sink
from headrace.ops.sink import sink as sink_of
from headrace.ops.source import source as source_of
from headrace.plan import Plan
from headrace.plan.meaning import meaning, meant
from headrace.points import POINTS
from headrace.schema import Struct, parse_schema
from headrace.spark.compile.job import compile
from headrace.testing.collected import CollectingSink
from headrace.testing.conformance.kills import killed
from headrace.testing.conformance.report import NotTried, Report
from headrace.testing.conformance.samples import ELSEWHERE, SAMPLES, SIMPLE, Row, Sample, plain, simple
from headrace.testing.conformance.workbench import SINK, forget_last, read_all


class Feed(Protocol):
    """The input of a source, to which a test adds rows. An optional method `spoil` adds input that is no row."""

    def source(self) -> ports.Source:
        """Return a new instance of the source."""

    def add(self, rows: Sequence[Row]) -> None:
        """Add rows after the existing ones."""


MANY = 100_000
Factory = Callable[[ports.Elsewhere, Struct], Feed]


def check_source(
    factory: Factory,
    *,
    rows: int = MANY,
    points: Iterable[str] = tuple(POINTS),
    only: Iterable[str] = (),
    server: str | None = None,
) -> Report:
    """Check in the engine all that a source's traits promise. Return a report with a line per check; raise `NotConforming` if one failed.

    * `factory(place, schema)` makes the feed of a source of that schema, another one for each check. A feed that does not support a type
      raises a `HeadraceError`.
    * `rows` is the number of rows of the large epoch; 0 omits it.
    * `points` are the points at which a reading process is killed; `()` omits kills. Each takes some seconds and needs an entry point for
      the connector.
    * `only` has words in the names of the checks to run. `server` is passed on in the places.

        class Lines:
            def __init__(self, place, schema): ...
            def source(self): return mine.Source(self.path, schema=self.schema)
            def add(self, rows): ...

        def test_my_source():
            check_source(Lines)
    """
    return _Checks(factory, server).all(rows, tuple(points), tuple(only)).require()


@dataclass
class _Reader:
    """A job downstream of a source that keeps its rows by epoch."""

    feed: Feed
    schema: Struct
    checkpoint: Path

    def run(self, source: ports.Source | None = None) -> dict[int, list[Row]]:
        """Read the unread rows as a new process does, and return those of each epoch with rows."""
        collected = CollectingSink(lambda: 0)
        node = source_of(source or self.feed.source(), self.schema.ddl, "rows")
        end = Sink(node, "memory", {}, kind_of(node), live=collected, name=SINK)
        job = compile(Plan.of("conformance", [end], meaning()))
        read_all(job, self.checkpoint)
        return {epoch: [row for row, n in changes for _ in range(n)] for (_, epoch), changes in sorted(collected.epochs.items())}

    def all(self, source: ports.Source | None = None) -> list[Row]:
        """Read the unread rows and return them."""
        return [row for rows in self.run(source).values() for row in rows]


class _Checks:
    def __init__(self, factory: Factory, server: str | None) -> None:
        self._factory = factory
        self._server = server
        self._id = uuid.uuid4().hex[:6]
        self._numbers = itertools.count()
        self._folder = Path()

    def all(self, rows: int, points: tuple[str, ...], only: tuple[str, ...]) -> Report:
        with tempfile.TemporaryDirectory(prefix="headrace-conformance-", ignore_cleanup_errors=True) as folder:
            self._folder = Path(folder)
            looked = self._reader().feed.source()
            report = Report(looked.connector, only)
            report.check("later rows, by a new process", self._later)
            if looked.traits.replayable:
                report.check("a repeated epoch", self._again)
            report.check("nothing to read", self._empty, may_refuse=True)
            report.check("the count of unread rows", self._unread)
            report.check("restored from a plan", self._stored)
            report.check("a bounded beginning", self._beginning)
            report.check("a malformed row", self._malformed)
            for sample in SAMPLES:
                report.check(sample.name, partial(self._sample, sample), may_refuse=True)
            times = next(sample for sample in SAMPLES if sample.name == "times")
            report.check("times of a job in another time zone", partial(self._sample, times, ELSEWHERE), may_refuse=True)
            if rows:
                report.check(f"an epoch of {rows:,} rows", lambda: self._many(rows))
            if points and looked.traits.replayable:
                report.check("undisturbed and killed", lambda: self._killed(report, points))
        return report

    def _reader(self, ddl: str = SIMPLE) -> _Reader:
        number = next(self._numbers)
        folder = self._folder / str(number)
        folder.mkdir()
        schema = parse_schema(ddl)
        name = f"headrace_{self._id}_{number}"
        return _Reader(self._factory(ports.Elsewhere(name, folder / "source", self._server), schema), schema, folder / "checkpoint")

    def _later(self) -> None:
        reader = self._reader()
        reader.feed.add(simple(0, 10))
        _same(reader.all(), simple(0, 10), reader.schema)
        reader.feed.add(simple(10, 5))
        reader.feed.add(simple(15, 5))
        _same(reader.all(), simple(10, 10), reader.schema)
        _same(reader.all(), [], reader.schema)

    def _again(self) -> None:
        reader = self._reader()
        reader.feed.add(simple(0, 10))
        reader.run()
        reader.feed.add(simple(10, 10))
        epoch, rows = list(reader.run().items())[-1]
        forget_last(reader.checkpoint)
        reader.feed.add(simple(20, 10))
        epochs = reader.run()
        _same(epochs.pop(epoch, []), rows, reader.schema)
        _same([row for more in epochs.values() for row in more], simple(20, 10), reader.schema)

    def _empty(self) -> None:
        reader = self._reader()
        reader.feed.add([])
        _same(reader.all(), [], reader.schema)

    def _unread(self) -> None:
        reader = self._reader()
        reader.feed.add(simple(0, 10))
        reader.run()
        context = ports.SourceContext("rows", reader.checkpoint / "queries" / "main", "UTC")
        left = reader.feed.source().unread(session(), context)
        if left is None:
            raise NotTried("the source cannot count them")
        assert left == 0, f"all rows were read, but `unread` returns {left}"
        reader.feed.add(simple(10, 5))
        assert reader.feed.source().unread(session(), context), "rows are unread, but `unread` returns none"

    def _stored(self) -> None:
        reader = self._reader()
        reader.feed.add(simple(0, 10))
        source = reader.feed.source()
        if source.connector not in ports.connectors():
            raise NotTried(f"no entry point names the connector {source.connector}")
        options = json.loads(json.dumps(source.options()))
        again = ports.source_class(source.connector).from_options(options, reader.schema)
        assert json.loads(json.dumps(again.options())) == options, "its options change when it is restored from them"
        _same(reader.all(again), simple(0, 10), reader.schema)

    def _beginning(self) -> None:
        reader = self._reader()
        reader.feed.add(simple(0, 12))
        reader.feed.add(simple(12, 12))
        place = ports.Elsewhere("beginning", reader.checkpoint.parent / "beginning", self._server)
        copy = reader.feed.source().beginning(session(), place, 10, 3)
        if copy is None:
            raise NotTried("the source has none")
        assert copy.traits.bounded, "it has no end"
        rows = Counter(plain(reader.all(copy), reader.schema))
        more = rows - Counter(plain(simple(0, 24), reader.schema))
        assert not more, f"{more.total()} rows are not rows of the source"
        assert rows.total() >= 10, f"it has {rows.total()} rows, expected at least 10"

    def _malformed(self) -> None:
        reader = self._reader()
        spoil = getattr(reader.feed, "spoil", None)
        if spoil is None:
            raise NotTried("its feed has no `spoil`")
        reader.feed.add(simple(0, 5))
        spoil()
        reader.feed.add(simple(5, 5))
        _same(reader.all(), simple(0, 10), reader.schema)
        letters = list((reader.checkpoint / "dead_letters").glob("**/part-*.json"))
        assert sum(len(file.read_text(encoding="utf-8").splitlines()) for file in letters) == 1, "it is not among the dead letters"

    def _sample(self, sample: Sample, zone: str = "UTC") -> None:
        reader = self._reader(sample.ddl)
        reader.feed.add(sample.rows)
        with meant({"spark.sql.session.timeZone": zone}):
            _same(reader.all(), sample.rows, sample.schema)

    def _many(self, rows: int) -> None:
        reader = self._reader()
        reader.feed.add(simple(0, rows))
        _same(reader.all(), simple(0, rows), reader.schema)

    def _killed(self, report: Report, points: tuple[str, ...]) -> None:
        copy = _Killed(self._reader())
        killed(report, "", copy, copy.expected, points, copy.folder, "headrace.testing.conformance.child")


class _Killed:
    """A job downstream of the source for runs with kills: the input stays the same, and each run writes other files."""

    def __init__(self, reader: _Reader) -> None:
        self.folder = reader.checkpoint.parent
        self._reader = reader
        for first in (0, 10, 20):
            reader.feed.add(simple(first, 10))
        self.expected: Contents = {SINK: Counter(plain(simple(0, 30), reader.schema))}
        connector = reader.feed.source().connector
        if connector not in ports.connectors():
            raise NotTried(f"no entry point names the connector {connector} for other processes")

    def at(self, folder: Path) -> tuple[Plan, dict[str, ports.Sink]]:
        files: Any = ports.sink_class("files")
        sink = files(folder, format="json")
        rows = source_of(self._reader.feed.source(), self._reader.schema.ddl, "rows")
        return Plan.of("conformance", [sink_of(rows, sink, None, SINK)], meaning()), {SINK: sink}

    def read(self, sinks: dict[str, ports.Sink]) -> Contents:
        schema = self._reader.schema
        return {SINK: Counter(plain(ports.rows_in(sinks[SINK], session(), schema, "append"), schema))}


def _same(actual: Iterable[Row], expected: Iterable[Row], schema: Struct) -> None:
    came, wanted = Counter(plain(actual, schema)), Counter(plain(expected, schema))
    lost, more = wanted - came, came - wanted
    problems = [f"{rows.total():,} rows {what}, such as {min(rows)}" for what, rows in (("lost", lost), ("too many", more)) if rows]
    assert not problems, "; ".join(problems)
