"""Job: sinks and their upstream plan, from plan to run."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path

from headrace.analysis.guarantee import EXACTLY
from headrace.engine.flags import refuse_others
from headrace.engine.loading import refuse_while_loading
from headrace.engine.paths import with_paths
from headrace.engine.standby import standing_by
from headrace.engine.state import stored_job
from headrace.errors import HeadraceError, here
from headrace.interrupts import interruptible
from headrace.jvm.session import session
from headrace.jvm.share import checked
from headrace.monitor import monitor_of
from headrace.plan import DisplayNames, Explanation, Plan, displayed, facts
from headrace.settings import Settings, settings
from headrace.spark.checkpoint.savepoints import Savepoint, savepoints
from headrace.spark.compile.explained import explained
from headrace.spark.compile.job import SparkJob, compile
from headrace.spark.deploy.deploy import deploy
from headrace.spark.deploy.deployment import Deployment
from headrace.spark.deploy.receiver import Receiver
from headrace.spark.deploy.rewind import Rewinding, rewind
from headrace.spark.run.commands import take_savepoint
from headrace.spark.run.progress import Display, Progress
from headrace.spark.run.run import Run
from headrace.spark.run.signals import Signals
from headrace.spark.run.start import start
from headrace.spark.run.summary import Summary

Show = bool | Callable[[Progress], object] | None

_SEALS = (
    "its input is bounded: at its end, held rows are handled, windows close, timers fire, and later input is refused. "
    "flush=False (--no-flush) keeps it open; flush=True (--flush) hides this line."
)


class Job:
    """Sinks and everything upstream of them, with one checkpoint. `hr.job` and `hr.load` create it. `plan` is its `Plan`.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 7), ("b", 900)], "card string, amount int", name="charges")
        >>> large = charges.filter("amount > 500").write.files("large", format="json", name="large")
        >>> job = hr.job("copy", large).require("exactly once")
        >>> print(job.explain())
        job copy  (fingerprint ...)
          source  charges: memory (2 rows), bounded, append only
          sink    large: files large (json), exactly once
        ...
        >>> print(job.run(progress=False))
        copy: 2 rows in 1 epoch, ...
          source   read  malformed
          charges     2          0
          sink   rows
          large     1
        >>> job.name, job.checkpoint()
        ('copy', PosixPath('.headrace/copy'))
        >>> print(job.rewind())
        copy: the sinks hold what ....headrace/copy has written, nothing later
        >>> other = job.with_paths({"large": "elsewhere"}).start(checkpoint="other", progress=False)
        >>> other.wait().sinks
        {'large': 1}
    """

    def __init__(self, plan: Plan, said: Mapping[str, str] | None = None, compiled: SparkJob | None = None) -> None:
        self.plan = plan
        # The settings in its script; arguments, the environment and headrace.toml take precedence.
        self._settings = dict(said or {})
        # None until a loaded plan is first used.
        self._spark = compiled

    def __repr__(self) -> str:
        return f"<Job {self.name}: {', '.join(map(DisplayNames.of(self.plan), self.plan.sinks))}>"

    @property
    def name(self) -> str:
        """The name of the job."""
        return self.plan.job

    def explain(self, *, verbose: bool = False) -> Explanation:
        """Explains the optimized plan that runs: text when printed, a drawing in a notebook, data by `.to_json()`.

        Args:
            verbose: Shows every operator with its columns, the rows that it emits and the state that it keeps, instead of a summary.
        """
        return explained(self._compiled(), verbose=verbose)

    def require(self, guarantee: str) -> Job:
        """Checks the guarantee of every sink and returns the job.

        Args:
            guarantee: `"exactly once"`.

        Raises:
            PlanError: `GUARANTEE`, with the reason, if a sink has a weaker guarantee, or if `guarantee` is another text.
        """
        if guarantee != EXACTLY:
            raise HeadraceError("GUARANTEE", f"a guarantee cannot be {guarantee!r}", hint=f'write "{EXACTLY}"', site=here())
        weaker = {name: fact for name, fact in facts(self.plan, "guarantee").items() if fact.value != EXACTLY}
        if weaker:
            shown = DisplayNames.of(self.plan)
            name, fact = next(iter(weaker.items()))
            more = f" ({len(weaker) - 1} more of its sinks are not, either)" if len(weaker) > 1 else ""
            message = f"{shown(name)} is not written {EXACTLY}, but {shown.text(fact.text)}{more}"
            hint = "use an exactly-once sink, such as stream.write.files(...); job.explain() shows the reasons for each sink"
            raise HeadraceError("GUARANTEE", message, hint=hint, site=self.plan.nodes[name].site)
        return self

    def run(
        self,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        every: str | timedelta | None = None,
        fresh: bool = False,
        flush: bool | None = None,
        progress: Show = None,
        partitions: int | None = None,
        standby: bool = False,
        metrics_port: int | str | None = None,
    ) -> Summary:
        """Runs the job to the end of bounded input. With an unbounded source it runs until Ctrl-C, SIGTERM or an error.

        The job continues from its checkpoint. Ctrl-C and SIGTERM let the epoch finish; a second signal stops at once. On a terminal the run
        shows its progress. In a script without a terminal it prints the summary on stderr.

        Args:
            checkpoint: The folder of the job's state. Default: the setting `checkpoint`, else `.headrace/NAME`.
            every: The least time between the starts of two epochs: `"10 seconds"`, a timedelta or a number of seconds, at most 365 days.
                Default: the setting `every`, else 0, which starts an epoch as soon as the last has ended.
            fresh: Deletes the checkpoint and what this job's sinks wrote to files, to Redis and to tables that the job created, then starts
                over. Kafka records, HTTP requests and what `foreach_batch` wrote stay. Refused with `TABLE_OWNED` if a table with rows of
                this job existed before it or has other writers.
            flush: What happens to held rows, windows and timers at the end of bounded input. None and True: they are processed, which is
                final for a job that uses event time or windows; None also prints a notice before the first final end. False: they are kept
                for a later run ([bounded jobs](../../guides/running.md#bounded-jobs)).
            progress: True or False: show progress on stderr, or nothing. A function is called with each [`Progress`](#Run.progress).
                Default: the setting `progress`, else on a terminal only.
            partitions: The number of tasks of each [level](../../concepts/levels.md), from 1 to 100,000, fixed by the first run of a
                checkpoint until `headrace rescale`. Default: the setting `partitions`, else the number of cores.
            standby: Waits while another process works on the checkpoint, and takes over when that process ends, or sends no heartbeat for
                the time of the setting [`lease`](../settings.md#settings-of-a-run), 20 seconds by default.
            metrics_port: The port of [metrics and a status page](../../guides/monitoring.md), which this machine alone can read unless the
                setting `metrics_host` says otherwise: 1 to 65535, 0 for any free port, `"off"` for none. Default: the setting
                `metrics_port`, else none.

        Returns:
            What the run did.

        Raises:
            ConfigError: `BAD_SETTING` for an invalid argument or setting, or a port that is in use; `RUN_WHILE_LOADING` while `hr.load`
                loads the job's file; `PACKAGE_MISSING` for `metrics_port` without the extra `metrics`.
            CheckpointError: `CHECKPOINT_IN_USE`, `CHECKPOINT_SEALED`, `STATE_CHANGED`, `SETTINGS_CHANGED`, `PARTITIONS_CHANGED`,
                `CHECKPOINT_BEHIND`, `FOLDER_OWNED` and others if the job cannot continue from the checkpoint.
            ConnectorError: The code of a source, sink or lookup that cannot be used.
            RunError: `RUN_FAILED`, `SINK_FAILED`, `DISK_FULL` and others if the run fails.
            ProgramError: `TIMER_LOOP` if handlers of timers keep setting timers that are already due.
        """
        refuse_others(fresh=fresh, flush=flush is None or flush, standby=standby)
        chosen, display = self._start_settings(checkpoint, every, partitions, progress, metrics_port)
        with interruptible():
            # Before Spark has started and the job is compiled there is nothing to finish: a signal ends it at once.
            session()
            compiled = self._compiled()
            with Signals() as signals, display:
                run = self._start(
                    compiled, chosen, fresh, flush, standing_by(self.name, lambda: signals.stop_requests > 0) if standby else None
                )
                summary = run.watch(lambda: display.show(lambda: run.progress, run.status), signals)
        assert summary is not None  # without a timeout `watch` ends with the run
        if chosen.progress is None and progress is None and _is_script() and not sys.stderr.isatty():
            print(summary, file=sys.stderr, flush=True)
        return summary

    def start(
        self,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        every: str | timedelta | None = None,
        fresh: bool = False,
        flush: bool | None = None,
        progress: Show = None,
        partitions: int | None = None,
        standby: bool = False,
        metrics_port: int | str | None = None,
    ) -> Run:
        """Starts the job in the background and returns; with `standby=True` it first waits until the job may start.

        Args:
            checkpoint: As for `run`.
            every: As for `run`.
            fresh: As for `run`.
            flush: As for `run`.
            progress: As for `run`; shown during `Run.wait`.
            partitions: As for `run`.
            standby: As for `run`.
            metrics_port: As for `run`; `Run.metrics_url` is the address.

        Raises:
            HeadraceError: As for `run`, if the job cannot start; `Run.wait` raises the errors of the run.
        """
        refuse_others(fresh=fresh, flush=flush is None or flush, standby=standby)
        chosen, display = self._start_settings(checkpoint, every, partitions, progress, metrics_port)
        run = self._start(self._compiled(), chosen, fresh, flush, standing_by(self.name, lambda: False) if standby else None)
        run.display = display
        return run

    def _start_settings(
        self,
        checkpoint: str | os.PathLike[str] | None,
        every: str | timedelta | None,
        partitions: int | None,
        progress: Show,
        metrics_port: int | str | None,
    ) -> tuple[Settings, Display]:
        refuse_while_loading(f"the job {self.name}")
        refuse_others(progress=progress is None or callable(progress) or progress)
        shown = progress if isinstance(progress, bool) else None
        arguments = {"checkpoint": checkpoint, "every": every, "partitions": partitions, "progress": shown, "metrics_port": metrics_port}
        chosen = settings(self.name, self._settings, **arguments)
        return chosen, Display(self.name, progress if callable(progress) else chosen.progress)

    def _compiled(self) -> SparkJob:
        """Compile the job: once, or each time if it depends on functions that the session has beside Spark's own."""
        if self._spark is None or self._spark.outside:
            self._spark = compile(self.plan)
        return self._spark

    def _start(self, compiled: SparkJob, chosen: Settings, fresh: bool, flush: bool | None, waits: Callable[[str], None] | None) -> Run:
        run = start(
            compiled,
            chosen.checkpoint,
            every=chosen.every,
            partitions=chosen.partitions,
            fresh=fresh,
            flush=flush is not False,
            waits=waits,
            silence=chosen.lease / 1000,
            deploys=Receiver,
            monitor=monitor_of(chosen),
        )
        lines = [*run.notices]
        if flush is None and run.first_end:
            lines.append(_SEALS)
        if run.metrics_url is not None:
            lines.append(f"status and metrics at {run.metrics_url}")
        for line in lines:
            print(f"{self.name}: {line}", file=sys.stderr, flush=True)
        return run

    def deploy(
        self,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        partitions: int | None = None,
        on_change: Mapping[str, str] | None = None,
        dry_run: bool = False,
        share: float | None = None,
        progress: Callable[[str], object] | None = None,
    ) -> Deployment:
        """Replaces the version of the job that wrote the checkpoint with this one, as `headrace deploy` does.

        Operators keep valid state; others are rebuilt from the rows read so far. Sinks get the difference between the versions with the
        next epoch. The checkpoint changes all at once at the end, or not at all. A process that runs the job goes on meanwhile, and
        continues with this version after a short pause.

        Args:
            checkpoint: The checkpoint of the earlier version. Default: as for `run`.
            partitions: The tasks of each [level](../../concepts/levels.md) from now on, 1 to 100,000. Default: the setting, else as before.
            on_change: By name of a sink with other rows: `retract`, the difference (default); `replace`, all; `from now`, no earlier ones.
            dry_run: Only reports the verdict on each part, and what would be refused.
            share: The part of the time, up to 1, for which each task of a deploy to a running job works. Default: all of it.
            progress: A function that is called with a line about each step of a deploy to a running job.

        Raises:
            CheckpointError: `STATE_CHANGED` and `CANNOT_REBUILD` for a change that [no deploy
                follows](../../guides/checkpoints.md#deploy-a-new-version); `SINK_ONLY_ADDS` without `on_change`; `HISTORY_GONE` if rows
                cannot be read again; `PARTITIONS_CHANGED`, `EPOCH_UNFINISHED`, `KEYS_MEET`, `CHECKPOINT_BEHIND` and others.
            ConfigError: `BAD_SETTING` for an invalid number of partitions, `on_change` or `share`.

        Examples:
            With the job of [`hr.Deployment`](#Deployment):

            >>> deployment = job.deploy(partitions=3)  # doctest: +SKIP
        """
        refuse_while_loading(f"the job {self.name}")
        refuse_others(dry_run=dry_run)
        chosen = settings(self.name, self._settings, checkpoint=checkpoint, partitions=partitions)
        with displayed(self.plan):
            return deploy(
                self._compiled(),
                chosen.checkpoint,
                partitions=chosen.partitions,
                on_change=on_change,
                dry_run=dry_run,
                share=checked(share),
                look=progress or (lambda line: None),
            )

    def savepoint(
        self, name: str, *, at: int | None = None, checkpoint: str | os.PathLike[str] | None = None, pinned: bool = False
    ) -> Savepoint:
        """Makes a savepoint, as `headrace savepoint create` does: a complete copy of the checkpoint as of a moment between two epochs.

        If a process runs the job, that process makes it and goes on.

        Args:
            name: The name of the savepoint: begins with a letter or digit; then letters, digits, spaces, `_`, `-` and `.`.
            at: The [epoch](../../guides/checkpoints.md#earlier-epochs) with which it ends, of the last hundred. Default: the last.
            checkpoint: The checkpoint. Default: as for `run`.
            pinned: `headrace savepoint prune` keeps it.

        Raises:
            CheckpointError: `SAVEPOINT_EXISTS` if there is a savepoint of that name; `UNKNOWN_EPOCH`; `NOT_A_CHECKPOINT`.
            PlanError: `BAD_NAME` for an invalid name.

        Examples:
            >>> import headrace as hr
            >>> job = hr.job("saved", hr.read.memory([("a", 7)], "card string, amount int", name="charges").write.memory(name="all"))
            >>> _ = job.run(progress=False)
            >>> job.savepoint("before-black-friday", pinned=True).pinned
            True
        """
        refuse_while_loading(f"the job {self.name}")
        refuse_others(pinned=pinned)
        folder = self.checkpoint(checkpoint)
        stored_job(folder)
        return take_savepoint(folder, name, at=at, pinned=pinned)

    def savepoints(self, *, checkpoint: str | os.PathLike[str] | None = None) -> tuple[Savepoint, ...]:
        """Returns the savepoints of the job, the oldest first.

        Args:
            checkpoint: The checkpoint. Default: as for `run`.

        Raises:
            CheckpointError: `CHECKPOINT_UNREADABLE` if a savepoint is damaged.

        Examples:
            >>> [one.name for one in job.savepoints()]  # doctest: +SKIP
            ['before-black-friday', 'before-deploy-1']
        """
        return savepoints(self.checkpoint(checkpoint))

    def rewind(self, *, checkpoint: str | os.PathLike[str] | None = None, dry_run: bool = True) -> Rewinding:
        """Brings the sinks back to the last epoch of a checkpoint that was restored from a backup, as `headrace rewind` does.

        Files, Delta and Iceberg sinks can be brought back; with any other sink that is ahead it raises `CANNOT_REWIND`
        ([details](../../guides/checkpoints.md#rewind-the-sinks)). No job may be running on the checkpoint. Afterwards, replay every file
        that `Letters.replay` has fed since the backup.

        Args:
            checkpoint: The restored checkpoint. Default: as for `run`.
            dry_run: True only reports what would be done; `False` does it. The default of `deploy` is the opposite.

        Raises:
            CheckpointError: `CANNOT_REWIND` if a sink cannot be brought back; `NOTHING_TO_REWIND` if no run was started in the checkpoint;
                `CHECKPOINT_IN_USE`, `CHECKPOINT_MIGRATED`.
        """
        refuse_while_loading(f"the job {self.name}")
        compiled = self._compiled()
        with displayed(compiled.plan):
            return rewind(compiled, self.checkpoint(checkpoint), dry_run=dry_run)

    def checkpoint(self, folder: str | os.PathLike[str] | None = None) -> Path:
        """Returns the checkpoint folder that `run(checkpoint=folder)` would use.

        Args:
            folder: The argument `checkpoint` of `run`. Default: the setting `checkpoint`, else `.headrace/NAME`.

        Raises:
            ConfigError: `BAD_SETTING` for an invalid path.
        """
        return settings(self.name, self._settings, checkpoint=folder).checkpoint

    def with_paths(self, paths: Mapping[str, str]) -> Job:
        """Returns the job with other paths of sources and sinks, for [tests](../../guides/harness.md#whole-jobs) and other environments.

        Args:
            paths: The new path of each source or sink, by its name. Files and Delta tables have paths.

        Raises:
            ConfigError: `UNKNOWN_PATH` for a name that is not a source or sink with a path.
        """
        return Job(with_paths(self.plan, paths), self._settings)


def _is_script() -> bool:
    """Return whether `run` was called by the script that Python was started with, not by a notebook, a test or a command."""
    caller = sys._getframe(2).f_globals
    return caller.get("__name__") == "__main__" and "__file__" in caller
