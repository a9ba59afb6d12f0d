"""Job: sinks and everything upstream of them, from plan to run."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from headrace.analysis.guarantee import EXACTLY
from headrace.engine.loading import refuse_while_loading
from headrace.errors import HeadraceError, here
from headrace.interrupts import interruptible, interruption
from headrace.jvm.session import session
from headrace.ops.write import Sink
from headrace.plan import DisplayNames, Explanation, Plan, displayed, explain, facts
from headrace.plan.meaning import meaning, meant
from headrace.plan.naming import valid_name
from headrace.settings import Settings, settings
from headrace.spark.compile.job import SparkJob, compile
from headrace.spark.migrate.migrate import migrate
from headrace.spark.migrate.migration import Migration
from headrace.spark.migrate.rewind import Rewinding, rewind
from headrace.spark.run.progress import Display, Progress
from headrace.spark.run.ready import suit
from headrace.spark.run.run import Run
from headrace.spark.run.signals import Signals
from headrace.spark.run.start import start
from headrace.spark.run.summary import Summary
from headrace.spelling import suggestion
from headrace.sql.catalogue import Catalogue

Show = bool | Callable[[Progress], object] | None

_SEALS = (
    "its input has an end, and so has its time: held rows, windows and timers are done with then, and later input is refused. "
    "flush=False (--no-flush) keeps it open; flush=True (--flush) leaves out this line."
)


class Job:
    """Sinks and all that feeds them, under one name and with one checkpoint. Made by `hr.job(name, *sinks)` or `hr.load(file)`."""

    def __init__(self, plan: Plan, said: Mapping[str, str] | None = None, compiled: SparkJob | None = None) -> None:
        self.plan = plan
        # The settings in its script; arguments, the environment and headrace.toml take precedence.
        self._said = dict(said or {})
        # None until a loaded plan is first used.
        self._spark = compiled

    def __repr__(self) -> str:
        return f"<Job {self.name}: {', '.join(map(DisplayNames.of(self.plan), self.plan.sinks))}>"

    @property
    def name(self) -> str:
        return self.plan.job

    def explain(self, *, verbose: bool = False) -> Explanation:
        """What the job does, and what is known about it: text when printed, `.to_json()`, a drawing in notebooks.

        The text is a summary; `verbose` has every node with all that is known of it.
        Where rules of headrace made something cheaper of the plan, that is what is shown, and what runs.
        """
        from headrace.spark.compile.placement import placement

        made = self._compiled()
        notes = [f"rewritten by the rules: {', '.join(made.rewritten)}"] if made.rewritten else []
        return explain(made.plan, more={"placement": placement(made)}, notes=notes, asked=self.plan, verbose=verbose)

    def require(self, guarantee: str) -> Job:
        """The job itself if every sink has this guarantee; else an error that says which has not, and why.

        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 1)], "card string, amount int", name="charges")
        >>> hr.job("copy", charges.write.memory()).require("exactly once")
        <Job copy: charges.memory>
        """
        if guarantee != EXACTLY:
            raise HeadraceError("GUARANTEE", f"a guarantee cannot be {guarantee!r}", hint=f'"{EXACTLY}" can be required', site=here())
        weaker = {name: found for name, found in facts(self.plan, "guarantee").items() if found.value != EXACTLY}
        if weaker:
            shown = DisplayNames.of(self.plan)
            name, found = next(iter(weaker.items()))
            more = f" ({len(weaker) - 1} more of its sinks are not, either)" if len(weaker) > 1 else ""
            raise HeadraceError(
                "GUARANTEE",
                f"{shown(name)} is not written {EXACTLY}, but {shown.text(found.text)}{more}",
                hint="explain() gives the reasons for each sink; files sinks are exactly once.",
                site=self.plan.nodes[name].site,
            )
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
    ) -> Summary:
        """Run to the end of bounded input, where held rows are handled and all timers fire; without an end, until it is stopped.

        The job goes on from its `checkpoint` (default `.headrace/NAME`); `fresh=True` removes that and what the sinks wrote.
        Where something goes by event time or closes, that end is final, and the job says so when it starts; `flush=False` reads what is
        there and keeps held rows, windows and timers for a later run. `every` is how often an epoch begins.
        `progress` is shown on a terminal, by default, and a script (`python job.py`) without one prints the summary at its end on stderr; a
        function gets every `Progress`. Ctrl-C finishes the epoch and stops.
        Where another process works on the checkpoint, `standby=True` waits until it has ended, or gives no sign for 20 seconds (the
        setting `lease`), and takes over; else that is an error.
        """
        _refuse_others(fresh=fresh, flush=flush is None or flush, standby=standby)
        asked, display = self._asked(checkpoint, every, partitions, progress)
        with interruptible():
            # Before Spark has started and the job is compiled there is nothing to finish: a signal ends it at once.
            session()
            made = self._compiled()
            with Signals() as signals, display:
                run = self._start(made, asked, fresh, flush, self._waits(lambda: signals.asked > 0) if standby else None)
                summary = run.watch(lambda: display.show(lambda: run.progress, run.status), signals)
        assert summary is not None  # without a timeout `watch` ends with the run
        if asked.progress is None and progress is None and _is_script() and not sys.stderr.isatty():
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
    ) -> Run:
        """Start the job and return at once, with `standby=True` when it is its turn; the arguments are those of `run`. `progress` is
        shown while somebody waits for the `Run`.
        """
        _refuse_others(fresh=fresh, flush=flush is None or flush, standby=standby)
        asked, display = self._asked(checkpoint, every, partitions, progress)
        run = self._start(self._compiled(), asked, fresh, flush, self._waits(lambda: False) if standby else None)
        run.display = display
        return run

    def _asked(
        self, checkpoint: str | os.PathLike[str] | None, every: str | timedelta | None, partitions: int | None, progress: Show
    ) -> tuple[Settings, Display]:
        refuse_while_loading(f"the job {self.name}")
        _refuse_others(progress=progress is None or callable(progress) or progress)
        shown = progress if isinstance(progress, bool) else None
        asked = settings(self.name, self._said, checkpoint=checkpoint, every=every, partitions=partitions, progress=shown)
        return asked, Display(self.name, progress if callable(progress) else asked.progress)

    def _compiled(self) -> SparkJob:
        """Compile the job: once, or each time if it depends on functions that the session has beside Spark's own."""
        if self._spark is None or self._spark.outside:
            self._spark = compile(self.plan)
        return self._spark

    def _start(self, made: SparkJob, asked: Settings, fresh: bool, flush: bool | None, waits: Callable[[str], None] | None) -> Run:
        run = start(
            made,
            asked.checkpoint,
            every=asked.every,
            partitions=asked.partitions,
            fresh=fresh,
            flush=flush is not False,
            waits=waits,
            silence=asked.lease / 1000,
        )
        for line in (*run.notices, *([_SEALS] if flush is None and run.first_end else [])):
            print(f"{self.name}: {line}", file=sys.stderr, flush=True)
        return run

    def _waits(self, stopped: Callable[[], bool]) -> Callable[[str], None]:
        """Return the callback of a waiting standby: it prints each reason to wait once, and raises an interruption when `stopped`."""
        told: set[str] = set()

        def waits(text: str) -> None:
            if stopped():
                raise interruption()
            if text not in told:
                told.add(text)
                print(f"{self.name}: {text}", file=sys.stderr, flush=True)

        return waits

    def migrate(self, to: str | os.PathLike[str], *, checkpoint: str | os.PathLike[str] | None = None, dry_run: bool = False) -> Migration:
        """Make a checkpoint for this version of the job out of one that it cannot go on with, as `headrace state migrate` does.

        `to` is the new checkpoint, a folder that is not there yet; `checkpoint` the old one (default `.headrace/NAME`), which stays, marked
        as migrated. `dry_run` only says what would be done. Raises STATE_CHANGED for what cannot be rewritten, before anything is written.

            made = job.migrate(".headrace/fraud-2")
            job.run(checkpoint=made.new)
        """
        refuse_while_loading(f"the job {self.name}")
        old, new = self.checkpoint(checkpoint), self.checkpoint(to)
        with displayed(self.plan):
            return migrate(self._compiled(), old, new, dry_run=dry_run)

    def rewind(self, *, checkpoint: str | os.PathLike[str] | None = None, dry_run: bool = True) -> Rewinding:
        """Bring the sinks back to the epoch with which the `checkpoint` (default `.headrace/NAME`) ends, as `headrace rewind` does.

        It is for a checkpoint that was put back from a backup, while no job works there. With `dry_run`, the default, nothing is changed.
        Rows that were fed to a source since by `Letters.replay` go, too, and have to be fed again.
        Raises CANNOT_REWIND where a sink cannot take back what came later.

            print(job.rewind())
            job.rewind(dry_run=False)
        """
        refuse_while_loading(f"the job {self.name}")
        made = self._compiled()
        with displayed(made.plan):
            return rewind(made, self.checkpoint(checkpoint), dry_run=dry_run)

    def checkpoint(self, folder: str | os.PathLike[str] | None = None) -> Path:
        """Where a run with this argument keeps the state of the job: HEADRACE_CHECKPOINT, `headrace.toml` and the job's script count."""
        return settings(self.name, self._said, checkpoint=folder).checkpoint

    def with_paths(self, paths: Mapping[str, str]) -> Job:
        """The same job with other paths for some sources and sinks, by their names."""
        shown = DisplayNames.of(self.plan)
        paths = {shown.stored(name): path for name, path in paths.items()}
        data = self.plan.to_json()
        known = {item["name"]: item for item in data["nodes"] if "path" in item.get("options", {})}
        for name, path in paths.items():
            if name not in known:
                has = ", ".join(map(shown, known)) or "none"
                hint = suggestion(name, known, f"with a path it has: {has}")
                raise HeadraceError("UNKNOWN_PATH", f"{self.name} has no source or sink {name} with a path", hint=hint)
            known[name]["options"] = {**known[name]["options"], "path": path}
        made = Plan.from_json(data)
        # Objects of this process (rows of memory sources, functions) are not in the JSON, and are kept.
        return Job(_alive(made, self.plan, set(paths)), self._said)


def _refuse_others(**flags: object) -> None:
    """Refuse values other than True and False: the text "false" would count as True, and fresh=True removes results."""
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise HeadraceError("BAD_SETTING", f"{name} cannot be {value!r}", hint=f"write {name}=True or {name}=False", site=here())


def _is_script() -> bool:
    """Return whether `run` was called by the script that Python was started with, not by a notebook, a test or a command."""
    caller = sys._getframe(2).f_globals
    return caller.get("__name__") == "__main__" and "__file__" in caller


def of_script(name: str, catalogue: Catalogue) -> Job:
    """Return the job of a script. `name` is that of its file, for a script that names no job."""
    said = dict(catalogue.asked)
    with meant(catalogue.meaning):
        called, sinks = said.pop("job", name), catalogue.sinks()
        if not sinks:
            hint = "make a sink and write to it: CREATE SINK out WITH (connector = 'console'); INSERT INTO out SELECT ..."
            raise HeadraceError("NO_SINKS", f"nothing is written by the job {called}", hint=hint, site=here())
        made = job(called, *sinks)
    return Job(made.plan, said, made._spark)


def job(name: str, *sinks: Sink) -> Job:
    """A job: everything that these sinks need, under one name. Types are resolved here, which starts the session.

    >>> import headrace as hr
    >>> charges = hr.read.memory([("a", 1)], "card string, amount int", name="charges")
    >>> hr.job("copy", charges.write.memory())
    <Job copy: charges.memory>
    """
    if not sinks:
        raise HeadraceError(
            "NO_SINKS", f"the job {name} has no sinks", hint='give it some: hr.job("name", stream.write.files(...))', site=here()
        )
    for sink in sinks:
        if not isinstance(sink, Sink):
            raise HeadraceError(
                "NO_SINKS",
                f"the job {name} was given {sink!r}, which is no sink",
                hint="a stream becomes a sink by its write: stream.write.files(...)",
                site=here(),
            )
    with interruptible():
        ends = [sink._use() for sink in sinks]
        plan = Plan.of(valid_name(name), ends, meaning())
        compiled = compile(plan)
        suit(compiled)
    return Job(plan, compiled=compiled)


def _alive(made: Plan, old: Plan, moved: set[str]) -> Plan:
    """Return the plan with the connectors' own objects from the plan it was made from, where no path was changed."""
    objects = {node: getattr(old.nodes[str(node.name)], "live", None) for node in made.nodes.values() if node.name not in moved}
    kept = {node: live for node, live in objects.items() if live is not None}
    return made.changed({node: replace(node, live=live) for node, live in kept.items()})  # type: ignore[call-arg]  # these have the field
