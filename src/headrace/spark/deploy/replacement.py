"""The replacement of a job's version: the checkpoint is changed so that another one can continue from it.

checkpoint ─► relocation (which operator continues which) ─► verdicts ─► next/ (stores, offsets, records) ─► switch

Nothing of the checkpoint changes before the switch, and that is all or nothing (`checkpoint/switch.py`).
"""

from __future__ import annotations

import hashlib
import json
import shutil
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.durable import atomic
from headrace.durable.marks import Mark
from headrace.durable.sums import text_of
from headrace.errors import HeadraceError
from headrace.jvm.threads import at_once
from headrace.ops import Sink
from headrace.ops.facts.carried import EVENT
from headrace.plan import Plan
from headrace.points import DEPLOY_CALL, calls
from headrace.spark.checkpoint import savepoints, switch
from headrace.spark.checkpoint.agreement import agree
from headrace.spark.checkpoint.compare import refuse_other_job
from headrace.spark.checkpoint.corrections import FOLDER, Target
from headrace.spark.checkpoint.corrections import place as corrections_place
from headrace.spark.checkpoint.examine import needed
from headrace.spark.checkpoint.folder import Checkpoint, Stored
from headrace.spark.checkpoint.offsets import control_names
from headrace.spark.checkpoint.record import place_of
from headrace.spark.compile.identity import DEAD_LETTERS
from headrace.spark.compile.job import SparkJob
from headrace.spark.compile.relocation import Relocated
from headrace.spark.deploy.compose import compose, handled_watermark
from headrace.spark.deploy.correction import Correction, correct, under
from headrace.spark.deploy.deployment import KEPT, RETRACT, Deployment
from headrace.spark.deploy.diff import OF_THE_VERSION, Comparison, Version
from headrace.spark.deploy.shadow import ROWS, Ends, Shadow, ShadowRun, ends_of
from headrace.spark.deploy.stores import Counts, Origin
from headrace.spark.run.ancestors import refuse_sinks_of_ancestors
from headrace.spark.run.failures import unwritable
from headrace.spark.run.holders import held
from headrace.spark.run.outlets import Outlet, at, each, outlets_of, provide
from headrace.spark.run.ready import refuse_endless, sealed, suit
from headrace.spark.run.start import check_inputs
from headrace.spark.run.summary import many
from headrace.spark.run.trial import try_source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SHADOW = "shadow"
_SHADOW_FORMAT = 3
"""2: its stores have snapshots. 3: the rows of sinks have other folders. One of an earlier headrace is not continued."""


def _unfinished(what: str) -> HeadraceError:
    hint = "nothing was changed: run the version that wrote the checkpoint once, so that it finishes the epoch, then deploy"
    return HeadraceError("EPOCH_UNFINISHED", what, hint=hint)


class Replacement:
    """The replacement of the version in an open checkpoint by another. `home`: the checkpoint; another one if the open one is a copy."""

    def __init__(
        self, job: SparkJob, checkpoint: Checkpoint, stored: Stored, partitions: int | None, on_change: Mapping[str, str], home: Path
    ) -> None:
        self.checkpoint, self.stored, self.on_change, self.home = checkpoint, stored, on_change, home
        refuse_other_job(job, stored, home)
        self.comparison = Comparison(Version.kept(checkpoint.folder, stored), job, partitions, on_change)
        self.job, self.relocation, self.partitions = self.comparison.job, self.comparison.relocation, self.comparison.partitions
        epochs = {query.name: checkpoint.history(query.name).logged("commits") for query in stored.identity.queries}
        self.origins = {
            query.name: Origin(query, checkpoint.query(query.name), epochs[query.name], stored.partitions)
            for query in stored.identity.queries
            if epochs[query.name] >= 0
        }

    @property
    def changed(self) -> bool:
        """Whether the checkpoint has to change before this version can continue from it."""
        return self.partitions != self.stored.partitions or self._differs()

    @property
    def is_other(self) -> bool:
        """Whether a process that runs the stored version has to change, even if the checkpoint need not: handlers may be others."""
        return self.changed or not self._is_stored()

    def _differs(self) -> bool:
        if self.comparison.old.waiting:
            return not self._is_repeated()
        moved = any(one.moved for one in self.relocation.queries.values())
        return moved or any(one.verdict != KEPT for one in self.comparison.diff("", "").verdicts)

    @property
    def purpose(self) -> str:
        """What a shadow run is for: one for another purpose is of no use. Empty if none is needed."""
        rebuild = self.comparison.rebuild
        if not rebuild.operators and not rebuild.corrected:
            return ""
        parts = (
            _SHADOW_FORMAT,
            self.stored.id,
            self.job.plan.fingerprint,
            self.partitions,
            self.relocation.identity.to_json(),
            sorted(self.origins),
            sorted(rebuild.operators),
            sorted(rebuild.corrected),
        )
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    @property
    def task(self) -> str:
        """What a shadow run does, in words."""
        rebuild = self.comparison.rebuild
        operators, sinks = len(rebuild.operators), len(rebuild.corrected)
        return f"computing {many(operators, 'operator')} and {many(sinks, 'sink')} again from {many(self.comparison.old.rows, 'row')}"

    def check(self, *, starts: bool = False, cut: bool = False, dry_run: bool = False) -> tuple[tuple[str, ...], tuple[HeadraceError, ...]]:
        """Return the notices of a start, and what keeps this version from continuing, which is raised unless it is a dry run. `starts`,
        `cut`: as for `refuse`.
        """
        try:
            return self.refuse(starts=starts, cut=cut), ()
        except HeadraceError as error:
            if not dry_run or error.code not in OF_THE_VERSION:
                raise
            return (), (error, *error.also)

    def refuse(self, *, starts: bool = False, cut: bool = False) -> tuple[str, ...]:
        """Raise what keeps this version from continuing. Returns the notices of a start. `starts`: the job runs, and goes on at once.
        `cut`: the checkpoint is a copy, with which its sinks are not of one history, because the job has gone on.
        """
        provide(self.job)
        self._refuse_sealed()
        outlets = self._outlets()
        refuse_sinks_of_ancestors(self.job, self.checkpoint, outlets)
        if starts:
            self._refuse_start(outlets)
        marks = self._marks(outlets)
        if not cut:
            self._refuse_other_history(marks)
        notices = self.comparison.refuse(lambda sink: marks[sink][1])
        self.relocation = self.comparison.relocation
        for name, sinks in outlets.items():
            for one in sinks:
                if one.name in self.comparison.rebuild.unasked:
                    self._refuse_shared(one, name)
        return notices

    def examine(self) -> None:
        """Raise if the checkpoint is damaged, is not of one history with its sinks, or has an interrupted epoch that a sink holds."""
        provide(self.job)
        self._refuse_other_history(self._marks(self._outlets()))

    def _outlets(self) -> dict[str, list[Outlet]]:
        """Return the sinks of each query, by its name in the checkpoint."""
        return {
            name: outlets_of(self.job, query, self.relocation.identity.query(name), self.checkpoint.dead_letters(name))
            for query, name in each(self.job, self.relocation.names)
        }

    def _marks(self, outlets: Mapping[str, list[Outlet]]) -> dict[str, tuple[str, Mark | None]]:
        """Return the place of each sink, and what it holds."""
        sinks = ((one, query) for query, all in outlets.items() for one in all if one.name != DEAD_LETTERS)
        return {one.name: (place_of(one.sink), self._mark(one, query)) for one, query in sinks}

    def _refuse_start(self, outlets: Mapping[str, list[Outlet]]) -> None:
        """Raise what would keep the version from starting: sources, lookups and sinks that cannot be used now."""
        check_inputs(self.job)
        suit(self.job, starting=True)
        known = {source for query in self.stored.identity.queries for source in query.sources}
        for source in self.job.sources:
            if str(source.name) not in known:
                try_source(self.job, source)
        for query, sinks in outlets.items():
            for one in sinks:
                if one.name != DEAD_LETTERS:
                    with at(one.node):
                        one.sink.may_open(one.context(self.job, self.checkpoint, query))

    def _refuse_shared(self, one: Outlet, query: str) -> None:
        """Refuse the correction of a sink whose place may have rows of others: a correction would remove them."""
        if one.sink.traits.shared or self._is_owned(one, query):
            raise HeadraceError(
                "CANNOT_REBUILD",
                f"{one.name} gets other rows than before, and {place_of(one.sink)} may have rows of others, which it would lose",
                hint=f'if all its rows are those of this sink, say so: on_change={{"{one.name}": "{RETRACT}"}}',
                site=one.node.site if one.node is not None else None,
            )

    def _is_owned(self, one: Outlet, query: str) -> bool:
        """Return whether the place of a sink is not of this job alone: as if another checkpoint of the job wanted to empty it."""
        context = replace(one.context(self.job, self.checkpoint, query), fresh=True, checkpoint_id=uuid.uuid4().hex)
        try:
            one.sink.may_open(context)
        except HeadraceError as error:
            if error.code != "TABLE_OWNED":
                raise
            return True
        return False

    def _mark(self, one: Outlet, query: str) -> Mark | None:
        with at(one.node):
            return one.sink.mark(one.context(self.job, self.checkpoint, query))

    def _refuse_sealed(self) -> None:
        """Refuse input that a job at the end of time would read."""
        if not self.checkpoint.sealing:
            return
        refuse_endless(self.job)
        for one in self.relocation.queries.values():
            known = {source for name in one.origins for source in self.stored.identity.query(name).sources}
            unread = [source for source in one.identity.sources if source not in known]
            if unread:
                raise sealed(f"{', '.join(unread)} would be read by the query {one.identity.name}")

    def _refuse_other_history(self, marks: Mapping[str, tuple[str, Mark | None]]) -> None:
        """Refuse a checkpoint that is damaged or not of one history with its sinks, and one with an interrupted epoch in a sink."""
        for query in self.stored.identity.queries:
            folder = self.checkpoint.query(query.name)
            for damage in needed(folder):
                raise damage.error()
            history, totals = self.checkpoint.history(query.name), self.checkpoint.record(query.name).totals
            sinks = query.live()
            agree(self.checkpoint.folder, folder, history, totals, {name: mark for name, mark in marks.items() if name in sinks})
            holding = held(self.job, self.checkpoint, self.stored, query.name)
            unfinished = self.checkpoint.unfinished(query.name)
            if holding:
                raise _unfinished(f"{', '.join(holding)}: epoch {unfinished} was interrupted, and may be there in part")
            if unfinished is not None and query.name not in self.origins and self._leaves(query.name):
                raise _unfinished(f"the first epoch of query {query.name} was interrupted, so it has no state that could be moved")

    def _leaves(self, query: str) -> bool:
        """Return whether a stored query cannot stay as it is."""
        moved = {name for one in self.relocation.queries.values() if one.moved for name in one.origins}
        return query in moved or self.partitions != self.stored.partitions

    def shadow(self, place: Path, look: Callable[[str], object] = lambda line: None, ends: Ends | None = None) -> ShadowRun:
        """Return the shadow run in a folder, which need not exist. `look` is called with a line about its progress, again and again.
        `ends`: what it computes; None: what the deploy needs.
        """
        handled = {query.name: self._handled(self.relocation.queries[query.name]) for query in self.job.queries}
        ends = ends or ends_of(self.job, self.comparison.rebuild, place / ROWS)
        return ShadowRun(self.job, self.relocation, ends, self.origins, self.home, place, self.partitions, handled, look)

    def switch(self, prepared: Callable[[Path], None] | None = None, *, ready: Callable[[], None] = lambda: None) -> Counts:
        """Make the parts of the new version, and switch to it. `prepared` moves the shadow run that was prepared to a folder. `ready` is
        called when all is made, right before the switch.
        """
        place = switch.prepare(self.checkpoint.folder)
        if prepared is not None and self.purpose:
            prepared(place / _SHADOW)
        log = self.checkpoint.errors
        try:
            counts: dict[str, Mapping[str, int]] = {}
            run, corrections = self._rebuilt(place, place / _SHADOW)
            for query in self.job.queries:
                one = self.relocation.queries[query.name]
                if self._is_composed(one):
                    timed = [str(source.name) for source in query.sources if source.watermark is not None]
                    controls = control_names(one.identity.sources, timed, one.identity.clock)
                    corrected = {str(sink.name): self._target(sink) for sink in query.sinks if str(sink.name) in corrections}
                    counts |= self._composed(one, controls, place, log, run, corrected)
            shutil.rmtree(place / _SHADOW, ignore_errors=True)
            savepoints.take_before_deploy(self.checkpoint.folder)
            self.checkpoint.lease.check()
            ready()
            with calls("deploy", DEPLOY_CALL):
                atomic.replace(place / "job.json", text_of(self._stored().to_json(), indent=1))
                switch.commit(self.checkpoint.folder, self._gone())
            sizes = {name: {"inserted": one.inserted, "retracted": one.retracted} for name, one in corrections.items()}
            return {**counts, **sizes}
        except OSError as problem:
            raise unwritable(self.checkpoint.folder, problem) from None
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def report(
        self,
        notices: Sequence[str],
        seconds: float,
        *,
        refusals: Sequence[HeadraceError] = (),
        counts: Counts | None = None,
        dry_run: bool = False,
    ) -> Deployment:
        """Return the report of the deploy. `counts`: the sizes that `switch` has returned."""
        diff = self.comparison.diff(str(self.home), self.job.plan.job, notices, refusals, counts)
        name, partitions = self.job.plan.job, (self.partitions, self.stored.partitions)
        unchanged = not (self.changed or refusals)
        return Deployment(name, self.home, diff, *partitions, dry_run, seconds, unchanged=unchanged)

    def _rebuilt(self, place: Path, shadow: Path) -> tuple[Shadow, dict[str, Correction]]:
        """Run what has to be rebuilt over the rows read so far, and write the corrections of sinks."""
        rebuild = self.comparison.rebuild
        if not self.purpose:
            return Shadow((), {}), {}
        run = self.shadow(shadow).finish(self.comparison.old.totals)

        def corrected(spark: SparkSession, sink: Sink, query: str) -> Correction | None:
            name = str(sink.name)
            to = corrections_place(place / FOLDER, self.relocation.names[query], name)
            had = {"filled": name in rebuild.filled, "whole": name in rebuild.replaced}
            with at(sink):
                return correct(spark, sink, self.job.schemas.of[name], run.rows[name], to, **had, files=self.partitions)

        sinks = [(sink, query.name) for query in self.job.queries for sink in query.sinks if str(sink.name) in run.rows]
        with under(self.job.settings) as spark:
            corrections = at_once(spark, [partial(corrected, spark, *one) for one in sinks])
        return run, {str(sink.name): one for (sink, _), one in zip(sinks, corrections, strict=True) if one is not None}

    def _is_composed(self, one: Relocated) -> bool:
        """Return whether the folder of a query is written anew."""
        changed = any(rewrite.change for rewrite in self.comparison.rewrites.get(one.identity.name, ()))
        rebuild = self.comparison.rebuild
        rebuilt = not (rebuild.operators | rebuild.corrected).isdisjoint(one.identity.live())
        waits = any(query in one.origins for query in self.comparison.old.waiting.values()) and not self._is_repeated()
        known = any(name in self.origins for name in one.origins)
        return known and (one.moved or changed or rebuilt or waits or self.partitions != self.stored.partitions)

    def _is_repeated(self) -> bool:
        """Return whether the stored version is this one, so that what waits for its sinks is still right."""
        return self._is_stored() and self.partitions == self.stored.partitions and not self.on_change

    def _is_stored(self) -> bool:
        return Plan.from_json(self.stored.plan).fingerprint == self.job.plan.fingerprint

    def _composed(
        self,
        one: Relocated,
        controls: Mapping[str, str],
        place: Path,
        log: Path,
        shadow: Shadow,
        corrected: Mapping[str, Target],
    ) -> Counts:
        return compose(
            one,
            [self.origins[name] for name in one.origins if name in self.origins],
            self.checkpoint,
            place,
            plan=self.job.plan.fingerprint,
            controls=controls,
            gone=self.relocation.gone,
            timed=self._timed(),
            partitions=self.partitions,
            settings=self.job.settings,
            changes=[rewrite.change for rewrite in self.comparison.rewrites.get(one.identity.name, ()) if rewrite.change],
            log=log,
            rebuilt=shadow.origins,
            corrected=corrected,
            elsewhere=self.comparison.rebuild.filled,
        )

    def _target(self, sink: Sink) -> Target:
        name, rebuild = str(sink.name), self.comparison.rebuild
        ddl = self.job.schemas.of[name].ddl
        return Target(place_of(sink.connect()), ddl, sink.mode, filled=name in rebuild.filled, whole=name in rebuild.replaced)

    def _timed(self) -> set[str]:
        """Return the operators that use event time."""
        return {name for name, clock in self.job.clocks.items() if clock.name == EVENT}

    def _handled(self, one: Relocated) -> int:
        """Return the watermark up to which a query has handled time."""
        origins = [self.origins[name] for name in one.origins if name in self.origins]
        return handled_watermark(one.identity, origins, self._timed(), rebuilds=True) if origins else 0

    def _gone(self) -> list[str]:
        """Return the queries whose folders are removed: other queries continue them, or they have no completed epoch."""
        never = [name for one in self.relocation.queries.values() if one.moved for name in one.origins if name not in self.origins]
        composed = {one.identity.name for one in self.relocation.queries.values() if self._is_composed(one)}
        return [*self.relocation.gone, *(name for name in never if name not in composed)]

    def _stored(self) -> Stored:
        adopted: dict[str, int] = {}
        for one in self.relocation.queries.values():
            begun = [self.stored.adopted[name] for name in one.origins if name in self.stored.adopted]
            adopted |= {one.identity.name: max(begun)} if begun else {}
        identity = self.relocation.identity
        return Stored(self.stored.id, self.job.plan.job, self.job.plan.to_json(), self.job.settings, self.partitions, identity, adopted)
