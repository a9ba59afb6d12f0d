"""check_sink: checks a sink's traits in the engine, with replays, late commits and kills."""

from __future__ import annotations

import itertools
import tempfile
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from headrace import ports
from headrace.certify.contents import Contents
from headrace.errors import HeadraceError
from headrace.jvm.session import session
from headrace.ops.stream import Stream
from headrace.plan import Plan
from headrace.plan.meaning import meant
from headrace.points import POINTS
from headrace.schema import Struct, parse_schema
from headrace.testing.conformance.kills import killed
from headrace.testing.conformance.report import NotTried, Report
from headrace.testing.conformance.samples import ELSEWHERE, SAMPLES, SIMPLE, Row, Sample, plain, simple
from headrace.testing.conformance.stand_in import Paused, StandIn
from headrace.testing.conformance.workbench import SINK, Workbench, forget_last

Factory = Callable[[ports.Elsewhere, tuple[str, ...]], ports.Sink]
Reader = Callable[[ports.Sink, Struct], Iterable[Sequence[Any]]]

MANY = 1_000_000


def check_sink(
    factory: Factory,
    read: Reader | None = None,
    *,
    rows: int = MANY,
    points: Iterable[str] = tuple(POINTS),
    kills: int = 4,
    only: Iterable[str] = (),
    server: str | None = None,
) -> Report:
    """Check in the engine all that a sink's traits promise. Return a report with a line per check; raise `NotConforming` if one failed.

    * `factory(place, key)` makes the sink, called repeatedly. It writes to the place, which is another for each check; the same place means
      the same sink. With columns in `key` the sink replaces rows by that key (used only if it accepts "upsert").
    * `read(sink, schema)` returns the rows in the sink, read by other means than the sink's own. By default the sink's `contents` is
      called. Times are aware, or in this machine's zone.
    * `rows` is the number of rows of the large epoch; 0 omits it.
    * `points` are the points at which a process with the sink is killed; `()` omits kills. Each takes some seconds and needs an entry point
      for the sink's connector. `kills` is the number of further kills at random moments.
    * `only` has words in the names of the checks to run, for work on one of them. `server` is passed on in the places.

        def test_my_sink():
            check_sink(lambda place, key: mine.Sink(place.folder), lambda sink, schema: mine.read(sink.folder))
    """
    return _Checks(factory, read, server).all(rows, tuple(points), kills, tuple(only)).require()


class _Checks:
    def __init__(self, factory: Factory, read: Reader | None, server: str | None) -> None:
        self._factory = factory
        self._reader = read
        self._server = server
        self._id = uuid.uuid4().hex[:6]
        self._numbers = itertools.count()
        self._folder = Path()

    def all(self, rows: int, points: tuple[str, ...], kills: int, only: tuple[str, ...]) -> Report:
        with tempfile.TemporaryDirectory(prefix="headrace-conformance-", ignore_cleanup_errors=True) as folder:
            self._folder = Path(folder)
            traits = self._factory(self._place("look"), ()).traits
            report = Report(self._factory(self._place("look"), ()).connector, only)
            for mode in ("append", "changes", "upsert"):
                if mode in traits.accepts:
                    self._mode(report, mode, traits)
            plainest, *others = [mode for mode in ("append", "upsert", "changes") if mode in traits.accepts]
            for sample in SAMPLES:
                report.check(sample.name, partial(self._sample, plainest, sample), may_refuse=True)
            times = next(sample for sample in SAMPLES if sample.name == "times")
            report.check("times of a job in another time zone", partial(self._sample, plainest, times, ELSEWHERE), may_refuse=True)
            report.check("an additional column in the next version", lambda: self._more_columns(plainest), may_refuse=True)
            if rows:
                report.check(f"an epoch of {rows:,} rows", lambda: self._many(plainest, rows))
            if points and traits.repeatable:
                for mode in (plainest, *(mode for mode in others if mode == "upsert")):
                    report.check(f"{mode}: undisturbed and killed", partial(self._killed, report, mode, points, kills))
        return report

    def _mode(self, report: Report, mode: str, traits: ports.SinkTraits) -> None:
        """Run the checks of one mode."""
        report.check(f"{mode}: several epochs, one without rows", lambda: self._epochs(mode))
        if traits.visible == "epoch":
            report.check(f"{mode}: nothing visible before the commit", lambda: self._unseen(mode))
        if traits.repeatable:
            report.check(f"{mode}: a repeated epoch, by the same sink", lambda: self._again(mode, anew=False))
            report.check(f"{mode}: a repeated epoch, by a new process", lambda: self._again(mode, anew=True))
            report.check(f"{mode}: a commit after another process has continued", lambda: self._late(mode, after=True))
            report.check(f"{mode}: a commit after another process has taken over", lambda: self._late(mode, after=False))
        if traits.swaps:
            report.check(f"{mode}: an epoch in place of all rows", lambda: self._swapped(mode))

    def _place(self, name: str, mode: str = "append") -> ports.Elsewhere:
        number = next(self._numbers)
        folder = self._folder / f"{number}-{name}" / "sink"
        folder.parent.mkdir(parents=True)
        return ports.Elsewhere(f"headrace_{self._id}_{number}", folder, self._server, mode)

    def _bench(self, mode: str, ddl: str = SIMPLE) -> tuple[Workbench, ports.Sink]:
        place = self._place(mode, mode)
        key = ("id",) if mode == "upsert" else ()
        bench = Workbench(place.folder.parent, partial(self._factory, place, key), ddl, mode, changes=mode != "append")
        return bench, bench.make()

    def _read(self, sink: ports.Sink, schema: Struct, mode: str) -> Iterable[Sequence[Any]]:
        return ports.rows_in(sink, session(), schema, mode) if self._reader is None else self._reader(sink, schema)

    def _holds(self, sink: ports.Sink, schema: Struct, expected: Iterable[Row], mode: str = "append") -> None:
        """Check that the sink has these rows and no others."""
        actual, wanted = Counter(plain(self._read(sink, schema, mode), schema)), Counter(plain(expected, schema))
        lost, doubled = wanted - actual, actual - wanted
        problems = [
            f"{sum(rows.values()):,} rows {what}, such as {min(rows)}" for what, rows in (("lost", lost), ("too many", doubled)) if rows
        ]
        assert not problems, "; ".join(problems)

    def _epochs(self, mode: str) -> None:
        bench, sink = self._bench(mode)
        model = _Model()
        left: list[tuple[ports.Mark, list[Row]]] = []
        for rows, gone in _changes(mode):
            model.take(bench, rows, gone)
            bench.run()
            self._holds(sink, bench.schema, model.rows, mode)
            _marked(bench, sink.traits.marks)
            left.append((bench.written(), [*model.rows]))
        self._rewound(bench, sink, *left[1])

    def _rewound(self, bench: Workbench, sink: ports.Sink, mark: ports.Mark, rows: Sequence[Row]) -> None:
        """Check that the sink goes back to an earlier epoch if its traits say so, and otherwise refuses."""
        try:
            withdrawal = bench.rewind(mark)
        except HeadraceError as error:
            if sink.traits.rewinds or error.code != "CANNOT_REWIND":
                raise
            return
        assert sink.traits.rewinds, "it can be rewound, but its traits say that it cannot"
        assert withdrawal.first > mark.epoch, f"epochs from {withdrawal.first} on are withdrawn, but {mark.epoch} must stay"
        withdrawal.work()
        self._holds(sink, bench.schema, rows, bench.mode or "append")
        there = bench.mark()
        assert there is not None and there.epoch == mark.epoch and there.agrees(mark.identity), (
            f"{there} is the mark after rewinding to {mark}"
        )

    def _again(self, mode: str, *, anew: bool) -> None:
        bench, sink = self._bench(mode)
        model = _Model()
        for rows, gone in _changes(mode):
            model.take(bench, rows, gone)
            bench.run(sink)
        forget_last(bench.checkpoint)
        bench.run(bench.make() if anew else sink)
        self._holds(sink, bench.schema, model.rows, mode)
        forget_last(bench.checkpoint)
        model.take(bench, simple(50, 5), ())
        bench.run(bench.make() if anew else sink)
        self._holds(sink, bench.schema, model.rows, mode)

    def _swapped(self, mode: str) -> None:
        """Check that the rows of an epoch replace all earlier ones, once, and also if there are none."""
        bench, reader = self._bench(mode)

        def run(rows: Sequence[Row], *, swap: bool, again: bool = False) -> None:
            if again:
                forget_last(bench.checkpoint)
            else:
                bench.feed(rows)
            sink = bench.make()
            bench.run(StandIn(sink, lambda epoch, staged: sink.commit(epoch, replace(staged, whole=swap))))

        run(simple(0, 8), swap=False)
        for again in (False, True):
            run(simple(10, 6), swap=True, again=again)
            self._holds(reader, bench.schema, simple(10, 6), mode)
        run(simple(20, 3), swap=False)
        self._holds(reader, bench.schema, [*simple(10, 6), *simple(20, 3)], mode)
        run([], swap=True)
        self._holds(reader, bench.schema, [], mode)

    def _unseen(self, mode: str) -> None:
        """Check that readers see only earlier epochs if a process stops after all tasks and before its commit."""
        bench, reader = self._bench(mode)
        model = _Model()
        (first, _), (second, gone), *_ = _changes(mode)
        model.take(bench, first, ())
        bench.run()
        before = list(model.rows)

        def pause(epoch: int, staged: ports.Staged) -> None:
            raise Paused("stopped before the commit")

        model.take(bench, second, gone)
        with suppress(HeadraceError):
            bench.run(StandIn(bench.make(), pause))
        self._holds(reader, bench.schema, before, mode)
        bench.run()
        self._holds(reader, bench.schema, model.rows, mode)

    def _late(self, mode: str, *, after: bool) -> None:
        """Check a commit by a paused process: when another has taken over, or with `after` when that one has written more epochs."""
        bench, reader = self._bench(mode)
        model = _Model()
        (first, _), (second, gone), *rest = _changes(mode)
        model.take(bench, first, ())
        bench.run()
        kept: list[tuple[int, ports.Staged]] = []

        def pause(epoch: int, staged: ports.Staged) -> None:
            kept.append((epoch, _fetched(staged)))
            raise Paused("stopped before the commit")

        model.take(bench, second, gone)
        paused = bench.make()
        with suppress(HeadraceError):
            bench.run(StandIn(paused, pause))
        assert kept, "the epoch was never committed"

        def wake() -> None:
            # It may be refused or ignored.
            with suppress(Exception):
                paused.commit(*kept[0])

        later = bench.make()

        def first_wake(epoch: int, staged: ports.Staged) -> None:
            if epoch == kept[0][0]:
                wake()
            later.commit(epoch, staged)

        bench.run(later if after else StandIn(later, first_wake))
        for rows, gone in rest:
            model.take(bench, rows, gone)
        bench.run()
        if after:
            wake()
        self._holds(reader, bench.schema, model.rows, mode)

    def _sample(self, mode: str, sample: Sample, zone: str = "UTC") -> None:
        bench, sink = self._bench(mode, sample.ddl)
        bench.feed(sample.rows)
        with meant({"spark.sql.session.timeZone": zone}):
            bench.run()
        self._holds(sink, sample.schema, sample.rows, mode)

    def _more_columns(self, mode: str) -> None:
        bench, sink = self._bench(mode)
        bench.feed(simple(0, 4))
        bench.run()
        bench.feed(simple(4, 4))
        more = parse_schema(f"{SIMPLE}, twice int")
        try:
            bench.run(shape=lambda rows: rows.with_columns(twice="2 * amount"))
        except HeadraceError:
            self._holds(sink, bench.schema, simple(0, 4))
            raise
        expected = [(*row, None) for row in simple(0, 4)] + [(*row, 2 * row[2]) for row in simple(4, 4)]
        self._holds(sink, more, expected)

    def _many(self, mode: str, rows: int) -> None:
        bench, sink = self._bench(mode)
        bench.feed(simple(0, 1))

        def grow(stream: Stream) -> Stream:
            all_of_them = stream.with_columns(n=f"sequence(0, {rows} - 1)").explode("n")
            return all_of_them.select(id="cast(n as bigint)", name="concat('name ', n % 5)", amount="cast(n * 7L % 1000 as int)")

        bench.run(shape=grow)
        self._holds(sink, bench.schema, simple(0, rows))

    def _killed(self, report: Report, mode: str, points: tuple[str, ...], kills: int) -> None:
        copy = _Killed(self, mode)
        killed(report, f"{mode}: ", copy, copy.expected, points, self._place("killed").folder.parent, kills=kills)


def _marked(bench: Workbench, marks: bool) -> None:
    """Check that the sink's mark is its last epoch with rows and the identity, or, without marks in its traits, None."""
    mark, written = bench.mark(), bench.written()
    if marks:
        agrees = mark is not None and mark.identity and mark.epoch == written.epoch and mark.agrees(written.identity)
        assert agrees, f"{mark} is the mark, but {written} was written"
    else:
        assert mark is None, f"{mark} is the mark, but the traits say that there is none"


def _changes(mode: str) -> list[tuple[list[Row], list[Row]]]:
    """Return the rows to insert and to delete in each epoch; one epoch is empty."""
    if mode == "append":
        return [(simple(0, 8), []), (simple(8, 6), []), ([], []), (simple(14, 3), []), (simple(17, 4), [])]
    first = simple(0, 8)
    second = [(id, name, amount + 1) for id, name, amount in first[:4]]
    third = [(id, name, amount + 1) for id, name, amount in second[:2]]
    return [
        (first, []),
        ([*second, *simple(8, 2)], [*first[:4], first[7]]),
        ([], []),
        (third, [*second[:2], second[2]]),
        ([first[7], *simple(10, 2)], [third[0]]),
    ]


class _Model:
    """The expected contents of the sink."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def take(self, bench: Workbench, rows: Sequence[Row], gone: Sequence[Row]) -> None:
        bench.feed(rows, gone=gone)
        for row in gone:
            self.rows.remove(row)
        self.rows.extend(rows)


def _fetched(staged: ports.Staged) -> ports.Staged:
    """Fetch the rows from the run before it ends."""
    rows = staged.rows()
    return replace(staged, rows=lambda: rows)


class _Killed:
    """The job of a sink for runs with kills: its input stays the same, and each run has a sink at another place."""

    def __init__(self, checks: _Checks, mode: str) -> None:
        self._checks = checks
        self._mode = mode
        self._bench, sink = checks._bench(mode)
        model = _Model()
        for rows, gone in _changes(mode):
            model.take(self._bench, rows, gone)
        self.expected: Contents = {SINK: Counter(plain(model.rows, self._bench.schema))}
        if sink.connector not in ports.connectors():
            raise NotTried(f"no entry point names the connector {sink.connector} for other processes")

    def at(self, folder: Path) -> tuple[Plan, dict[str, ports.Sink]]:
        place = ports.Elsewhere(f"headrace_{uuid.uuid4().hex[:8]}", folder, self._checks._server, self._mode)
        sink = self._checks._factory(place, ("id",) if self._mode == "upsert" else ())
        return self._bench.plan(sink), {SINK: sink}

    def read(self, sinks: dict[str, ports.Sink]) -> Contents:
        schema = self._bench.schema
        return {SINK: Counter(plain(self._checks._read(sinks[SINK], schema, self._mode), schema))}
