"""SparkJob: a plan that is ready to run: checked and cut into queries, each with what it keeps between epochs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from headrace.analysis.boundedness import bounded
from headrace.analysis.casts import warn_of_casts
from headrace.analysis.clocks import clocks
from headrace.analysis.expiry import require_expiry
from headrace.analysis.lookups import require_steady
from headrace.analysis.repeatable import require_repeatable
from headrace.analysis.schemas import Schemas, check
from headrace.errors import HeadraceError
from headrace.ops import Lookup, Sink, Source, lookups_of, sinks_of, sources_of, turns
from headrace.ops.facts.clock import Clock
from headrace.ops.unclosed import require_closing
from headrace.optimize import optimize
from headrace.plan import DisplayNames, Node, Plan, displayed
from headrace.plan.meaning import MEANING
from headrace.spark.compile.document import shape_of
from headrace.spark.compile.feeds import Feeds
from headrace.spark.compile.levels import Query, cut
from headrace.spark.compile.lower import Lowering
from headrace.spark.compile.origin import ordered_ways, origins, ways
from headrace.spark.compile.shapes import QueryShape


@dataclass(frozen=True)
class SparkJob:
    """A plan on Spark, before it meets a checkpoint; `original` is the plan before the rules named in `rewritten` changed it.

    It is valid for every run, unless the plan calls functions from `outside` Spark: the session may have others by their names in the next.
    """

    at: Lowering
    original: Plan
    rewritten: tuple[str, ...]
    queries: tuple[Query, ...]
    shapes: tuple[QueryShape, ...]
    outside: bool = False

    @property
    def plan(self) -> Plan:
        return self.at.plan

    @property
    def schemas(self) -> Schemas:
        return self.at.schemas

    @property
    def settings(self) -> Mapping[str, str]:
        """The settings that change the meaning of the job."""
        return {**MEANING, **self.plan.settings}

    @property
    def time_zone(self) -> str:
        return self.settings["spark.sql.session.timeZone"]

    @cached_property
    def clocks(self) -> Mapping[str, Clock]:
        """The clock of each stateful operator."""
        return clocks(self.plan)

    @cached_property
    def shown(self) -> DisplayNames:
        """The display names of its nodes."""
        return DisplayNames.of(self.plan)

    @property
    def sources(self) -> tuple[Source, ...]:
        return sources_of(self.plan.nodes.values())

    @property
    def lookups(self) -> tuple[Lookup, ...]:
        return lookups_of(self.plan.nodes.values())

    @property
    def bounded(self) -> bool:
        """Whether all input is bounded."""
        return bounded(self.plan)


def compile(plan: Plan) -> SparkJob:
    """Compile a plan. Raises the errors of its texts, types, clocks and folders. Starts the session."""
    with displayed(plan):
        return _compiled(plan)


def _compiled(plan: Plan) -> SparkJob:
    _one_sink_a_folder(plan)
    _no_sink_in_a_source(plan)
    require_closing([plan.nodes[name] for name in plan.sinks])
    require_expiry(plan)
    require_steady(plan)
    turns(plan.nodes.values())
    schemas = check(plan)
    require_repeatable(plan, schemas)
    warn_of_casts(plan, schemas)
    outside = bool(schemas.outside)
    original = plan
    plan, rewritten = optimize(original)
    if rewritten:
        schemas = check(plan, original)
    return _cut(plan, schemas, original, rewritten, outside=outside)


def limited(job: SparkJob, sinks: Iterable[Sink]) -> SparkJob:
    """Return the part of a compiled job that ends in these sinks, whose inputs are nodes of its plan. Its operators are the same."""
    plan = Plan.of(job.plan.job, sinks, job.plan.settings)
    return _cut(plan, check(plan, job.plan), plan, (), outside=job.outside)


def _cut(plan: Plan, schemas: Schemas, original: Plan, rewritten: tuple[str, ...], *, outside: bool) -> SparkJob:
    at = Lowering(plan, schemas, Feeds(plan, schemas.of))
    queries = cut(plan, clocks(plan), schemas.timed.keys())
    read = origins(original, plan), ways(original, plan), ordered_ways(original, plan)
    return SparkJob(at, original, rewritten, queries, tuple(shape_of(query, at, *read) for query in queries), outside)


def _no_sink_in_a_source(plan: Plan) -> None:
    """Refuse a sink where a source reads: the job would read its own output, or take the folder for one of whole epochs
    and skip its input.
    """
    nodes = plan.nodes.values()
    for source, sink in product(sources_of(nodes), sinks_of(nodes)):
        if source.connect().reads(sink.connect()):
            raise HeadraceError(
                "FOLDER_OWNED",
                f"the sink {sink.name} writes to {sink.connect().owns}, where the source {source.name} of the same job reads",
                hint="give the sink a folder that no source of the job reads",
                site=sink.site,
            )


def _one_sink_a_folder(plan: Plan) -> None:
    """Refuse two sinks in one folder: each would take the other's epochs for its own."""
    taken: dict[str, Node] = {}
    for sink in sinks_of(plan.nodes.values()):
        owned = sink.connect().owns
        if owned is not None and taken.setdefault(owned, sink) is not sink:
            raise HeadraceError(
                "FOLDER_OWNED",
                f"the sinks {taken[owned].name} and {sink.name} both write to {owned}",
                hint="give each sink a folder of its own, or combine streams of the same columns with union",
                site=sink.site,
            )
