"""A run's own thread, over queries that only pretend: how it stops, how it fails, what it leaves behind."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from headrace.errors import HeadraceError
from headrace.plan import DisplayNames, Explanation
from headrace.spark.checkpoint import channel
from headrace.spark.checkpoint.channel import Command
from headrace.spark.checkpoint.folder import Checkpoint
from headrace.spark.checkpoint.record import Totals
from headrace.spark.compile.identity import Identity, QueryIdentity
from headrace.spark.compile.job import SparkJob
from headrace.spark.compile.levels import Query
from headrace.spark.run.commands import Work
from headrace.spark.run.counts import Tally
from headrace.spark.run.epochs import Committer
from headrace.spark.run.outside import Deploys, Monitor
from headrace.spark.run.progress import Progress
from headrace.spark.run.query import RunningQuery
from headrace.spark.run.run import Run
from headrace.spark.run.signals import Signals
from headrace.spark.run.snapshot import Snapshot
from headrace.spark.run.started import Started
from tests.unit.errors import check_error


class Py4JNetworkError(Exception):
    """As py4j calls it: no answer came."""


class Py4JError(Exception):
    """As py4j calls it: the connection broke during a call, or there is no such method."""


class Py4JJavaError(Exception):
    """As py4j calls it: the method raised."""


class Handle:
    """A query in the JVM: after a stop was asked for it ends with its epoch, which takes these seconds or has no end (None)."""

    def __init__(self, epoch: float | None = 0.05) -> None:
        self.epoch = epoch
        self.over = threading.Event()
        self.read = threading.Event()
        self.problem: Exception | None = None
        self.cut = False

    def _answer(self) -> None:
        if self.problem is not None:
            raise self.problem

    def isActive(self) -> bool:
        self._answer()
        return not self.over.is_set()

    def exception(self) -> None:
        self._answer()

    def lastProgress(self) -> None:
        self._answer()

    def processAllAvailable(self) -> None:
        while not (self.over.is_set() or self.read.is_set()):
            self._answer()
            self.over.wait(0.01)

    def publish(self, times: str) -> None:
        self._answer()

    def requestStop(self) -> None:
        self._answer()
        if self.epoch is not None:
            threading.Timer(self.epoch, self.over.set).start()

    def awaitTermination(self, ms: int) -> bool:
        """Time flies here: what is said to be a minute is none."""
        self._answer()
        return self.over.wait(min(ms, 10) / 1000)

    def stop(self) -> None:
        self._answer()
        self.cut = self.cut or not self.over.is_set()
        self.over.set()


EMPTY = Identity()
Start = Callable[..., Run]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Starts a run over these handles, on a checkpoint of its own."""

    def run(
        *handles: Handle,
        bounded: bool = False,
        closed: Callable[[], None] | None = None,
        monitor: Monitor | None = None,
        deploys: Callable[[Started], Deploys] | None = None,
    ) -> Run:
        checkpoint = Checkpoint(tmp_path / "state")
        checkpoint.store("fraud", {"nodes": []}, {}, 1, EMPTY)
        queries = [
            RunningQuery(
                Query(f"q{number}", "event", (), (), (), final=True),
                QueryIdentity(f"q{number}", (), 0, "none", ()),
                handle,
                Committer({}, checkpoint.record(f"q{number}"), checkpoint.history(f"q{number}"), checkpoint.lease.check),
                Totals(),
            )
            for number, handle in enumerate(handles)
        ]

        job = cast(SparkJob, SimpleNamespace(plan=SimpleNamespace(job="fraud"), bounded=bounded, shown=DisplayNames({})))
        started = Started(job, checkpoint, queries, closed or (lambda: None))
        return Run(started, flush=True, monitor=monitor, deploys=None if deploys is None else deploys(started))

    return run


class Watcher:
    """A monitor that only notes what happens to it."""

    url = "http://127.0.0.1:9464"

    def __init__(self, log: list[str]) -> None:
        self._log = log

    def open(self) -> None:
        self._log.append("open")

    def serve(self, look: Callable[[], Snapshot], explained: Callable[[], Explanation]) -> None:
        self._log.append(f"serve {look().status}")

    def close(self) -> None:
        self._log.append("close")


@pytest.mark.parametrize("problem", [None, EOFError()])
def test_a_monitor_lives_as_long_as_the_run(start: Start, problem: Exception | None) -> None:
    handle, log = Handle(), list[str]()
    # the lease goes with the sinks: a standby on this machine can have the port once it has the checkpoint
    run = start(handle, closed=lambda: log.append("sinks closed"), monitor=Watcher(log))
    assert (run.metrics_url, log) == ("http://127.0.0.1:9464", ["serve running"])
    handle.problem = problem
    if problem is None:
        run.stop()
    else:
        with pytest.raises(HeadraceError, match="RUN_FAILED"):
            run.wait()
    assert log == ["serve running", "close", "sinks closed"]


def test_a_clean_stop_waits_for_the_epoch_however_long_it_takes(start: Start) -> None:
    slow = Handle(epoch=1.0)
    run = start(slow)
    summary = run.stop()
    assert summary is not None and summary.stopped
    assert run.status == "stopped" and not slow.cut


def test_a_second_ask_cuts_the_epoch(start: Start) -> None:
    slow = Handle(epoch=None)
    run = start(slow)
    signals = Signals()
    signals.stop_requests = 1

    def look() -> None:
        if run.status == "stopping":
            signals.stop_requests = 2

    summary = run.watch(look, signals)
    assert summary is not None and summary.stopped and slow.cut


def test_a_run_without_queries_can_be_stopped(start: Start) -> None:
    run = start()
    assert run.wait(0.3) is None
    summary = run.stop(10)
    assert summary is not None and summary.stopped


def test_a_stop_at_the_very_end_changes_nothing(start: Start) -> None:
    handle = Handle()
    runs: list[Run] = []
    run = start(handle, bounded=True, closed=lambda: runs[0]._request(now=False))
    runs.append(run)
    handle.read.set()
    summary = run.wait(30)
    assert summary is not None
    assert (run.status, summary.stopped, summary.sealed) == ("finished", False, True)


def test_who_watches_and_fails_ends_the_run(start: Start, tmp_path: Path) -> None:
    handle = Handle(epoch=None)
    run = start(handle)

    def look() -> None:
        raise ZeroDivisionError("in a function of the user's")

    with pytest.raises(ZeroDivisionError):
        run.watch(look, Signals())
    assert (run.status, handle.cut) == ("stopped", True)
    # nothing is locked
    Checkpoint(tmp_path / "state").close()


@pytest.mark.parametrize("problem", [Py4JNetworkError("no answer"), Py4JError("An error occurred while calling o12.isActive"), EOFError()])
@pytest.mark.parametrize("bounded", [False, True])
def test_only_the_run_reports_the_end_of_the_jvm(start: Start, problem: Exception, bounded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.spark.run.failures.log_file", lambda: Path("spark.log"))
    handle = Handle()
    run = start(handle, bounded=bounded)
    assert run.wait(0.2) is None
    handle.problem = problem
    # whoever looks or stops in this moment sees no error of py4j
    assert run.progress.rows == 0
    run._request(now=False)
    looked: list[Progress] = []
    check_error(
        """
        RUN_FAILED: Spark's JVM has ended
          hint: fix the cause and start again: the run continues after the last committed epoch. The JVM's log is in spark.log
          more: headrace error RUN_FAILED
        """,
        lambda: run.watch(lambda: looked.append(run.progress), Signals()),
    )
    assert run.status == "failed"


@pytest.mark.parametrize(
    "problem",
    [Py4JJavaError("An error occurred while calling o1.isActive.\n"), Py4JError("An error occurred while calling o1.x. Trace:\n")],
)
def test_what_java_raised_is_not_its_end(start: Start, problem: Exception) -> None:
    handle = Handle()
    run = start(handle)
    handle.problem = problem
    with pytest.raises(HeadraceError, match="INTERNAL: Py4J") as raised:
        run.wait(30)
    assert raised.value.__cause__ is problem


def test_a_query_that_does_not_come_beyond_an_epoch_that_was_cut_off(start: Start) -> None:
    (query,) = start(Handle())._queries
    assert not query.again
    for unfinished, begun, again in ((0, -1, True), (0, 0, True), (0, 1, False), (4, 3, True), (4, 5, False)):
        query.unfinished = unfinished
        query.committer._begun = (begun, "")
        assert query.again == again


class Switching:
    """Replaces the queries of a run by themselves, started later."""

    has_ended = False
    later: Started | None = None

    def __init__(self, started: Started) -> None:
        self._started = started

    def accept(self, command: Command) -> None: ...

    @property
    def held(self) -> Work:
        return Work(lambda command: {})

    def switch(self, command: Command) -> tuple[Started, dict[str, object]]:
        fresh = [replace(query) for query in self._started.queries]
        self.later = replace(self._started, queries=fresh, at=self._started.at + 1000)
        return self.later, {}


def test_a_source_is_not_idle_because_the_version_is_new(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """How long a source was silent counts from the start of the version, of which nothing else is known."""
    handle, looked = Handle(), threading.Event()
    handle.hold = handle.release = lambda: None  # type: ignore[attr-defined]
    handle.isHeld = lambda: True  # type: ignore[attr-defined]
    switching: list[Switching] = []
    began: list[float] = []

    def advance_idle(query: RunningQuery, started: float) -> None:
        # the threads of other tests may still run
        if query.handle is handle and switching[0].later is not None:
            began.append(started)
            looked.set()

    def deploys(started: Started) -> Deploys:
        switching.append(Switching(started))
        return switching[0]

    monkeypatch.setattr(RunningQuery, "advance_idle", advance_idle)
    run = start(handle, deploys=deploys)
    command = Command.make("deploy")
    channel.send(run.checkpoint, command)
    channel.answered(run.checkpoint, command, lambda: True)
    assert looked.wait(30)
    handle.requestStop()
    assert run.wait(30) is not None and switching[0].later is not None
    assert set(began) == {switching[0].later.at}


def test_letters_of_a_query_that_a_deploy_has_dropped() -> None:
    """They were new in this run, and stay so, although the counts no longer have them."""
    tally = Tally([], 10)
    assert tally.letters({"dead_letters": {"one": 9, "other": 5}}) == 4
    tally.switch([], 5, {"dead_letters": {"one": 9, "other": 5}})
    assert tally.letters({"dead_letters": {"other": 7}}) == 6
