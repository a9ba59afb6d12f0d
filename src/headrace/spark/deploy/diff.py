"""The difference between two versions of a job: which state the new one keeps, and where."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from headrace.durable.marks import Mark
from headrace.errors import HeadraceError
from headrace.ops import sinks_of
from headrace.plan import DisplayNames, Plan, order
from headrace.spark.checkpoint.compare import refuse_other_settings, with_frozen_schemas
from headrace.spark.checkpoint.corrections import FOLDER, undelivered
from headrace.spark.checkpoint.folder import Stored, query_folder
from headrace.spark.checkpoint.forerunner import Forerunner, forerunners
from headrace.spark.checkpoint.readings import renamed
from headrace.spark.checkpoint.record import Totals, recorded
from headrace.spark.checkpoint.succession import refuse_mixed_results
from headrace.spark.compile.computed import check_computed
from headrace.spark.compile.identity import Identity, identify, together
from headrace.spark.compile.job import SparkJob
from headrace.spark.compile.relocation import Relocation, relocate
from headrace.spark.deploy.compose import divided
from headrace.spark.deploy.deployment import KEPT, MOVED, Diff, Verdict
from headrace.spark.deploy.rebuild import Rebuild, Rebuilding, chosen, programs_of
from headrace.spark.deploy.stores import Counts
from headrace.spark.deploy.verdicts import Rewrites, counted, displayed, nodes_of, rewrites_of, verdicts

OF_THE_VERSION = ("STATE_CHANGED", "PARTITIONS_CHANGED", "BAD_WAS", "SINK_ONLY_ADDS", "CANNOT_REBUILD")
"""The errors that say how two versions differ."""


@dataclass(frozen=True)
class Version:
    """A version of a job as it is stored, the counts of its queries, and the sinks whose corrections were not delivered so far,
    with their queries. `whole`: those of them whose rows the corrections replace.
    """

    stored: Stored
    totals: Mapping[str, Totals]
    waiting: Mapping[str, str] = field(default_factory=dict)
    whole: frozenset[str] = frozenset()

    @classmethod
    def of(cls, job: SparkJob) -> Version:
        """Return a version that has run for an epoch."""
        identity, _ = identify(Identity(), job.shapes)
        plan: Mapping[str, Any] = json.loads(json.dumps(job.plan.to_json()))
        stored = Stored("", job.plan.job, plan, job.settings, 1, identity)
        return cls(stored, {query.name: Totals(epoch=0) for query in identity.queries})

    @classmethod
    def kept(cls, folder: Path, stored: Stored) -> Version:
        """Return the version of a checkpoint."""
        names = [query.name for query in stored.identity.queries]
        targets = {name: undelivered(folder / FOLDER, name, query_folder(folder, name)) for name in names}
        waiting = {sink: name for name, sinks in targets.items() for sink in sinks}
        whole = frozenset(sink for sinks in targets.values() for sink, target in sinks.items() if target.whole)
        return cls(stored, {name: recorded(folder / "record", name) for name in names}, waiting, whole)

    @property
    def rows(self) -> int:
        """The number of rows that it has read."""
        rows: dict[str, int] = {}
        for query in self.stored.identity.queries:
            for source in query.sources:
                rows[source] = max(rows.get(source, 0), self.totals[query.name].of_source(source, "read"))
        return sum(rows.values())


class Comparison:
    """A new version of a job beside the old one. `partitions`: the number of tasks of each level from now on."""

    def __init__(self, old: Version, job: SparkJob, partitions: int | None = None, on_change: Mapping[str, str] | None = None) -> None:
        self.old = old
        self.job = with_frozen_schemas(job, old.stored)
        self.partitions = partitions or old.stored.partitions
        choices = chosen(self.job, on_change or {})
        self._rebuilding = Rebuilding(self.job, old.stored.plan, old.totals, choices, old.waiting, old.whole)
        self.relocation = self._relocated(lambda sink: None)
        self.rewrites: Rewrites = rewrites_of(self.relocation)
        self.rebuild = self._rebuild(lambda sink: None)

    def _relocated(self, mark: Callable[[str], Mark | None]) -> Relocation:
        """Return where each operator is from now on. Some have state that does not match their rows from now on: they begin anew."""
        shards = self.old.stored.partitions if self.partitions != self.old.stored.partitions else 0
        anew = self._rebuilding.otherwise_fed()
        while True:
            relocation = relocate(self.old.stored.identity, self.job.shapes, shards, anew)
            more = self._rebuilding.mismatched(relocation, self._known(relocation), mark)
            if more <= anew:
                return relocation
            anew |= more

    def _rebuild(self, mark: Callable[[str], Mark | None]) -> Rebuild:
        return self._rebuilding.of(self.relocation, self._known(self.relocation), mark)

    def _known(self, relocation: Relocation) -> list[Forerunner]:
        """Return the sinks of the old version."""
        return list(forerunners(replace(self.old.stored, identity=relocation.before), self._totals(relocation)))

    def refuse(self, mark: Callable[[str], Mark | None] = lambda sink: None) -> tuple[str, ...]:
        """Raise why the new version cannot continue from the old one. Returns the notices of a start. `mark`: what a sink holds."""
        self.relocation = self._relocated(mark)
        self.rewrites = rewrites_of(self.relocation)
        self.rebuild = self._rebuild(mark)
        kept = (error for name, error in self.relocation.errors.items() if name not in self.rebuild.operators)
        errors = [*kept, *self.rebuild.errors, *self.renamed_sources()]
        notices: tuple[str, ...] = ()
        try:
            refuse_other_settings(self.job, self.old.stored)
            notices = self._succeeds(mark)
        except HeadraceError as error:
            known = {one.message for one in errors}
            errors += [one for one in (error, *error.also) if one.message not in known]
        if errors:
            raise together(errors)
        return notices

    def diff(
        self, old: str, new: str, notices: Sequence[str] = (), refusals: Sequence[HeadraceError] = (), counts: Counts | None = None
    ) -> Diff:
        """Return the report. `counts`: the size of the state that was written."""
        shown = self.job.shown
        plans = [shown, DisplayNames.of(Plan.from_json(self.old.stored.plan))]
        return Diff(
            old,
            new,
            displayed(counted(self._verdicts(), counts or {}), plans),
            tuple(shown.text(one.message) for one in refusals),
            tuple(map(shown.text, notices)),
        )

    def kept_sinks(self) -> frozenset[str]:
        """Return the sinks whose rows are computed as in the old version. The handlers of programs count, though a deploy ignores them. A
        sink that only shows the output of a run has no rows of the old one.
        """
        kept = {one.name for one in self._verdicts() if one.part == "sink" and one.verdict in (KEPT, MOVED)} - self.rebuild.sinks.keys()
        kept -= {str(sink.name) for sink in sinks_of(self.job.plan.nodes.values()) if not sink.connect().traits.lasting}
        was, now = (nodes_of(plan) for plan in (self.old.stored.plan, self.job.plan.to_json()))
        nodes = self.job.plan.nodes
        other = {name for name in programs_of(self.job) if was.get(name) != now[name]}
        return frozenset(name for name in kept if other.isdisjoint(str(node.name) for node in order([nodes[name]])))

    def _verdicts(self) -> tuple[Verdict, ...]:
        """Return the verdicts, with the names of the plans."""
        return verdicts(self.old.stored, self.old.totals, self.job.plan, self.relocation, self.rewrites, self.rebuild, self.partitions)

    def _totals(self, relocation: Relocation) -> dict[str, Totals]:
        """Return the counts of what is stored, divided among the queries of the new version."""
        return {
            one.identity.name: divided(one.before, {origin: self.old.totals[origin] for origin in one.origins}, relocation.gone)
            for one in relocation.queries.values()
            if one.before is not None
        }

    def _succeeds(self, mark: Callable[[str], Mark | None]) -> tuple[str, ...]:
        relocation, rebuild = self.relocation, self.rebuild
        before = replace(self.old.stored, identity=relocation.before)
        notices = refuse_mixed_results(
            self.job,
            before,
            relocation.identity,
            relocation.names,
            self._totals(relocation),
            mark,
            drops=True,
            rebuilt=rebuild.operators,
            corrected=rebuild.corrected,
            cut=rebuild.sinks.keys() - rebuild.corrected,
        )
        check_computed(self.job, [one.identity for one in relocation.queries.values()])
        return notices

    def renamed_sources(self) -> list[HeadraceError]:
        """Return an error for each new source that reads what one has read that is gone: all of it would be read again."""
        stored = {node["name"]: node for node in self.old.stored.plan["nodes"] if node["op"] == "source"}
        here = {str(source.name) for source in self.job.sources}
        gone = {name: node for name, node in stored.items() if name not in here}
        new = [source for source in self.job.sources if str(source.name) not in stored]
        return [
            HeadraceError(
                "STATE_CHANGED",
                f"the source {source.name} reads what the source {name} has read, and would read all of it again",
                hint=f'if it was renamed, restore its name with name="{name}"',
                site=source.site,
            )
            for source in new
            if (name := renamed(source, gone)) is not None
        ]
