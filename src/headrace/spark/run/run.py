"""Run: a running job."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from headrace.errors import HeadraceError
from headrace.spark.checkpoint.channel import Command
from headrace.spark.checkpoint.savepoints import Savepoint
from headrace.spark.run.commands import DEPLOY, HELD, Commands, Work, take_savepoint
from headrace.spark.run.counts import Tally, counted
from headrace.spark.run.failures import ending, failure, gone
from headrace.spark.run.outside import Deploys, Monitor
from headrace.spark.run.progress import Display, Progress, progress_of
from headrace.spark.run.query import RunningQuery
from headrace.spark.run.signals import Signals
from headrace.spark.run.snapshot import Snapshot
from headrace.spark.run.started import Started
from headrace.spark.run.summary import Summary, expectations_of, prove

_PAUSE = 0.1


class Run:
    """A started job, returned by `Job.start`.

    * `status`: `running`, `flushing`, `stopping`, `stopped`, `finished` or `failed`.
    * `error`: the error that ended the run, or None.
    * `job`: the name of the job.
    * `notices`: what the start printed about parts that begin empty or changed on an older checkpoint.
    * `metrics_url`: the address of its [metrics and status page](../../guides/monitoring.md); None without the setting `metrics_port`.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 7), ("b", 900)], "card string, amount int", name="charges")
        >>> run = hr.job("copied", charges.write.memory()).start(progress=False)
        >>> run.wait().rows, run.status, run.error
        (2, 'finished', None)
        >>> run.progress.epochs, run.metrics["sinks"], run.summary().stopped
        (1, {'charges.memory': 2}, False)
        >>> run.checkpoint.name
        'copied'
        >>> run.stop().rows
        2
    """

    def __init__(self, started: Started, *, flush: bool, deploys: Deploys | None = None, monitor: Monitor | None = None) -> None:
        self.job = started.job.plan.job
        self.notices = tuple(map(started.job.shown.text, started.notices))
        self.metrics_url = None if monitor is None else monitor.url
        self.status = "running"
        self.error: HeadraceError | None = None
        self.display = Display(self.job, False)
        self._version = started
        """The queries of the present version of the job; a deploy replaces them."""
        self._checkpoint = started.checkpoint
        self._queries = started.queries
        self._tally = Tally(started.queries, started.letters_before)
        self._flush = flush or self._checkpoint.sealing  # an interrupted flush is finished, whatever was asked for
        # Whether this is the first run whose end brings time to an end: the job cannot continue with more input after it.
        self.first_end = self._ends_time()
        self._seals = self.first_end or self._checkpoint.sealing
        self._started = time.monotonic()
        self._seconds: float | None = None
        # One thread asks for a stop, another ends the run: the lock decides what `status` is between them.
        self._lock = threading.Lock()
        # a deploy and the end of time exclude each other
        self._turn = threading.Lock()
        self._ask = threading.Event()
        self._now = threading.Event()
        self._ending = False
        self._over = threading.Event()
        self._deploys = deploys
        self._monitor = monitor
        others = {} if deploys is None else {DEPLOY: Work(self._deployed, between=True, accept=deploys.accept), HELD: deploys.held}
        self._commands = Commands(self.checkpoint, self._queries, lambda: self._request(now=False), lambda: self.look().to_json(), others)
        self._thread = threading.Thread(target=self._drive, name=f"headrace {self.job}", daemon=True)
        if monitor is not None:
            monitor.serve(self.look, lambda: self._version.explanation)
        self._thread.start()

    def __repr__(self) -> str:
        return f"<Run {self.job}: {self.status}>"

    @property
    def checkpoint(self) -> Path:
        """The folder with the state of the job."""
        return self._checkpoint.folder

    @property
    def progress(self) -> Progress:
        """The current `Progress`: rows, rates, lag and state. It prints as a line.

        * `rows`, `rows_per_second`, `epochs`, `seconds`: what this run has read, committed and taken.
        * `outstanding`: the files that sources have found and not yet read; None if no source counts them.
        * `lag`: seconds between the clock and the watermark of unbounded input, or None.
        * `watermark`: the least watermark of the job, or None.
        * `state_keys`, `epoch_ms`: the keys with state, and the duration of the last epoch.
        * `violated`: rows that violated an expectation, over the life of the checkpoint.
        """
        return progress_of(
            self._reports(),
            rows=self._tally.rows(),
            epochs=self._tally.epochs(),
            seconds=time.monotonic() - self._started if self._seconds is None else self._seconds,
            state_keys=sum(query.state_keys() for query in self._queries),
            live=not self._version.job.bounded,
            violated=sum(one.violated for query in self._queries for one in expectations_of(query.totals, query.query.sinks)),
        )

    @property
    def metrics(self) -> dict[str, Any]:
        """The current counts, in the form of `Summary.to_json`."""
        return self.look().summary.to_json()

    def look(self) -> Snapshot:
        """Return the state and the counts of the run at this moment."""
        status, error, progress = self.status, self.error, self.progress
        counts = counted(self._queries, self._checkpoint)
        summary = Summary(
            job=self.job,
            **counts,
            new_dead_letters=self._tally.letters(counts),
            rows=progress.rows,
            epochs=progress.epochs,
            seconds=progress.seconds,
            sealed=self._checkpoint.sealed,
            stopped=status in ("stopping", "stopped"),
            names=self._version.job.shown.names,
        )
        keys = {name: n for query in self._queries for name, n in query.operator_keys().items()}
        return Snapshot(status, error, progress, summary, keys, self.notices)

    def wait(self, timeout: float | None = None) -> Summary | None:
        """Waits for the end of the run and returns its summary.

        Ctrl-C and SIGTERM let the epoch finish and stop the run; a second signal stops it at once.

        Args:
            timeout: The longest wait in seconds. Default: until the end.

        Returns:
            The summary, or None if the run has not ended within `timeout`.

        Raises:
            HeadraceError: The error that ended the run.
        """
        with Signals() as signals, self.display as display:
            return self.watch(lambda: display.show(lambda: self.progress, self.status), signals, timeout)

    def watch(self, look: Callable[[], None], signals: Signals, timeout: float | None = None) -> Summary | None:
        """Waits like `wait`, and calls a function ten times a second. If that fails, the run ends at once. `wait` and `Job.run` call it.

        Args:
            look: The function.
            signals: The signals received meanwhile.
            timeout: The longest wait in seconds. Default: until the end.

        Raises:
            HeadraceError: The error that ended the run.

        Examples:
            >>> import headrace as hr
            >>> from headrace.spark.run.signals import Signals
            >>> rows = hr.read.memory([(1,)], "n int", name="rows")
            >>> with Signals() as signals:
            ...     hr.job("watched", rows.write.memory()).start(progress=False).watch(lambda: None, signals).rows
            1
        """
        until = None if timeout is None else time.monotonic() + timeout
        handled = 0
        signals.watched = True
        try:
            while not self._over.wait(_PAUSE):
                look()
                if signals.stop_requests > handled:
                    handled = signals.stop_requests
                    self._request(now=handled > 1)
                if until is not None and time.monotonic() > until:
                    return None
        except BaseException:
            # After an exception the caller expects that no run continues and no checkpoint is locked.
            self._request(now=True)
            self._over.wait()
            raise
        self._thread.join()
        if self.error is not None:
            raise self.error
        return self.summary()

    def stop(self, timeout: float | None = None) -> Summary | None:
        """Lets the epoch finish and stops the run. The next start continues from there.

        Args:
            timeout: The longest wait for the end, in seconds. Default: until the end.

        Returns:
            The summary, or None if the run has not ended within `timeout`.

        Raises:
            HeadraceError: The error that ended the run.
        """
        self._request(now=False)
        return self.wait(timeout)

    def summary(self) -> Summary:
        """Returns what the run has done so far, and checks that every input row of every program is accounted for.

        Raises:
            RunError: `ROWS_UNACCOUNTED` if rows are missing, which is a bug in headrace.
        """
        summary = self.look().summary
        prove(summary.inputs)
        return summary

    def savepoint(self, name: str, *, at: int | None = None, pinned: bool = False) -> Savepoint:
        """Makes a savepoint between two epochs; the job goes on after it.

        Args:
            name: The name of the savepoint: begins with a letter or digit; then letters, digits, spaces, `_`, `-` and `.`.
            at: The [epoch](../../guides/checkpoints.md#earlier-epochs) with which it ends, of the last hundred. Default: the last.
            pinned: `headrace savepoint prune` keeps it.

        Raises:
            CheckpointError: `SAVEPOINT_EXISTS` if the checkpoint has a savepoint of that name; `UNKNOWN_EPOCH`.
            PlanError: `BAD_NAME` for an invalid name.

        Examples:
            >>> print(run.savepoint("before-black-friday"))  # doctest: +SKIP
            before-black-friday: fraud after epoch 1204, made 2026-11-27 05:59:01 UTC with headrace 0.1.0 and Spark 4.3.0
        """
        return take_savepoint(self.checkpoint, name, at=at, pinned=pinned)

    def _request(self, *, now: bool) -> None:
        with self._lock:
            if self._ending:
                return
            self.status = "stopping"
            self._ask.set()
        if now:
            self._now.set()
        for query in self._queries:
            try:
                if now:
                    query.handle.stop()
                else:
                    query.handle.requestStop()
            except Exception as problem:
                # Without a JVM there is nothing to stop, and the run's own thread reports that.
                if not gone(problem):
                    raise

    def _becomes(self, status: str) -> bool:
        """Set the status, unless a stop was asked for."""
        with self._lock:
            if not self._ask.is_set():
                self.status = status
            return not self._ask.is_set()

    def _reports(self) -> list[str | None]:
        """Return Spark's report of the last epoch of each query; none if the JVM has ended, which a look at progress does not report."""
        try:
            return [query.handle.lastProgress() for query in self._queries] if self._seconds is None else []
        except Exception as problem:
            if not gone(problem):
                raise
            return []

    def _drive(self) -> None:
        """Run all queries to their end, in the run's own thread."""
        try:
            version: Started | None = None
            while version is not self._version:
                version = self._version
                for query in self._queries:
                    query.restore()
                if self._version.job.bounded:
                    self._to_the_end(version)
                else:
                    self._on_and_on(version)
            for query in self._queries if self._ask.is_set() else ():
                # Wait for the epoch however long it takes, unless the run is to end at once.
                while not query.handle.awaitTermination(1000) and not self._now.is_set():
                    pass
        except Exception as problem:
            self.error = self.error or self._problem(problem)
        finally:
            self._finish()

    def _to_the_end(self, version: Started) -> None:
        ends = [threading.Thread(target=self._exhaust, args=(query,), daemon=True) for query in self._queries]
        for end in ends:
            end.start()
        while any(end.is_alive() for end in ends) and version is self._version:
            self._idle(version)
            if self._failed() is not None:
                self._request(now=True)
            for end in ends:
                end.join(_PAUSE)

    def _exhaust(self, query: RunningQuery) -> None:
        """Read everything there is; then, to flush, bring time to its end."""
        try:
            query.handle.processAllAvailable()
            with self._turn:
                if flushes := self._flush and query.query.final and query.handle.isActive() and self._becomes("flushing"):
                    self._checkpoint.begin_seal()
                    query.flush()
            if flushes:
                query.handle.processAllAvailable()
        except Exception as problem:
            # A stop from another thread, or a deploy, ends the wait with an exception that has no further meaning.
            if not self._ask.is_set() and query in self._queries:
                self.error = self.error or self._problem(problem)

    def _on_and_on(self, version: Started) -> None:
        while not self._ask.is_set() and version is self._version and all(query.handle.isActive() for query in self._queries):
            self._idle(version)
            time.sleep(_PAUSE)
        if not self._ask.is_set() and version is self._version:
            # One query ended on its own, so it failed; the others end with it.
            self._request(now=False)

    def _idle(self, version: Started) -> None:
        self._checkpoint.lease.check()
        self._commands.step()
        for query in self._queries if version is self._version else ():
            query.advance_idle(version.at)

    def _failed(self) -> RunningQuery | None:
        return next((query for query in self._queries if not query.handle.isActive() and query.handle.exception()), None)

    def _finish(self) -> None:
        with self._lock:
            self._ending = True
            stopped = self._ask.is_set()
        try:
            self._commands.end()
            for query in self._queries:
                query.handle.stop()
            failed = self._failed()
            if failed is not None:
                committer = failed.committer
                self.error = failure(
                    failed.handle.exception(), self._checkpoint.errors, committer.failed, committer.failed_sink, again=failed.again
                )
            # if another process has taken over, whatever failed here failed because of that, and the end is not ours to mark
            self._checkpoint.lease.check()
            if self.error is None and not stopped and self._version.job.bounded and self._seals:
                self._checkpoint.seal()
        except Exception as problem:
            lost = isinstance(problem, HeadraceError) and problem.code == "LEASE_LOST"
            self.error = self._problem(problem) if lost else self.error or self._problem(problem)
        finally:
            self._seconds = time.monotonic() - self._started
            if self._monitor is not None:
                self._monitor.close()  # while the lease is held, so that a standby on this machine gets the port
            try:
                self._version.close()
            except Exception as problem:
                self.error = self.error or self._problem(problem)
            if self.error is not None:
                self._version.job.shown.error(self.error)
            self.status = "failed" if self.error is not None else "stopped" if stopped else "finished"
            self._over.set()

    def _problem(self, problem: Exception) -> HeadraceError:
        return ending(problem, self._checkpoint.errors, again=any(query.again for query in self._queries))

    def _deployed(self, command: Command) -> Mapping[str, Any]:
        """Carry out a deploy, and go on with the new version."""
        assert self._deploys is not None  # otherwise there is no such command
        began = time.monotonic()
        try:
            with self._turn:
                started, result = self._deploys.switch(command)
        except Exception as problem:
            if self._deploys.has_ended:
                self.error = self._problem(problem)
                self._request(now=True)
            raise
        if started is None:
            return result
        self._tally.switch(started.queries, started.letters_before, counted(self._queries, self._checkpoint))
        self._queries[:] = started.queries
        self._version = started
        self._seals = self._ends_time() or self._checkpoint.sealing
        if self._ask.is_set():
            self._request(now=self._now.is_set())  # it may have reached the old queries only
        return {**result, "pause_seconds": round(time.monotonic() - began, 3)}

    def _ends_time(self) -> bool:
        """Return whether the end of this run brings time to its end for the first time."""
        bounded, final = self._version.job.bounded, any(query.query.final for query in self._queries)
        return bounded and final and self._flush and not self._checkpoint.sealing
