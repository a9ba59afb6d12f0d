"""Reasons to refuse a job before a start changes anything: in its plan, in the checkpoint and in its sinks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from headrace import ports
from headrace.durable.marks import Mark
from headrace.errors import HeadraceError
from headrace.jvm import fetch
from headrace.jvm.packages import require
from headrace.jvm.session import session
from headrace.masking import leaving
from headrace.ops.expect import conditions_of
from headrace.ops.operator import connected_of
from headrace.plan import displayed, order
from headrace.spark.checkpoint import corrections, repaired
from headrace.spark.checkpoint.compare import identified, read_otherwise, refuse_in_mid_epoch, with_frozen_schemas
from headrace.spark.checkpoint.folder import Checkpoint, Stored, migrated
from headrace.spark.checkpoint.record import Totals, place_of
from headrace.spark.checkpoint.succession import refuse_mixed_results
from headrace.spark.compile.computed import check_computed
from headrace.spark.compile.identity import Identity
from headrace.spark.compile.job import SparkJob
from headrace.spark.compile.levels import Query
from headrace.spark.run.ahead import refuse_other_history
from headrace.spark.run.ancestors import refuse_sinks_of_ancestors
from headrace.spark.run.holders import holders
from headrace.spark.run.outlets import Outlet, at, each, outlets_of


@dataclass(frozen=True)
class Ready:
    """A job that nothing prevents from starting on its checkpoint. `anew`: for each query, whether an epoch is pending that no sink holds.
    `notices`: a line for each part that begins empty on a checkpoint with a past, and for input that sources and lookups do not read.
    """

    job: SparkJob
    identity: Identity
    names: Mapping[str, str]
    outlets: Mapping[str, list[Outlet]]
    anew: Mapping[str, bool]
    partitions: int
    sealed: bool
    notices: tuple[str, ...]


def ready(job: SparkJob, checkpoint: Checkpoint, partitions: int | None, *, fresh: bool = False) -> Ready:
    """Check the plan, the checkpoint and the sinks, and raise what they refuse; changes nothing."""
    if not fresh and checkpoint.migrated is not None:
        raise migrated(checkpoint.folder, checkpoint.migrated)
    # Nothing depends on what was stored by a start that never got to its queries.
    stored = checkpoint.stored if checkpoint.begun else None
    job = with_frozen_schemas(job, stored)
    identity, names = identified(job, stored, checkpoint.folder)
    _refuse_nothing(job, stored)
    suit(job, starting=True)
    outlets = {name: outlets_of(job, query, identity.query(name), checkpoint.dead_letters(name)) for query, name in each(job, names)}
    if not fresh and not checkpoint.clearing:
        refuse_sinks_of_ancestors(job, checkpoint, outlets)
    anew = dict.fromkeys(outlets, False)
    notices: tuple[str, ...] = ()
    if stored is not None and not fresh:
        totals = {query.name: checkpoint.record(query.name).totals for query in stored.identity.queries}
        mark = _marks(job, checkpoint, outlets)
        _refuse_undelivered(checkpoint, outlets, mark)
        notices = refuse_mixed_results(job, stored, identity, names, totals, mark)
        notices += tuple(line for query, name in each(job, names) if name in totals for line in _recounted(query, totals[name]))
        for name in outlets:
            anew[name] = refuse_other_history(job, checkpoint, name, outlets)
        lines = [(one, one.sink.notice()) for sinks in outlets.values() for one in sinks]
        notices += tuple(f"{one.name} {line}" for one, line in lines if line is not None)
    notices += tuple(_not_read(job))
    check_computed(job, [identity.query(name) for name in names.values()])
    if stored is not None and not fresh:
        holding = holders(job, checkpoint, stored, names, outlets)
        refuse_in_mid_epoch(job.plan, stored.plan, holding, read_otherwise(stored.identity, identity))
        for query, name in each(job, names):
            if checkpoint.unfinished(name) is not None and not anew[name]:
                _refuse_other_input(job, checkpoint, query, name)
    number = _partitions(stored, partitions)
    ended = stored is not None and (checkpoint.sealed or checkpoint.sealing)
    if stored is not None and ended:
        refuse_endless(job)
        _refuse_new_input(job, checkpoint, stored, names)
    # a deploy may have left corrections to a sealed job, as an epoch that is to be repeated
    finished = ended and checkpoint.sealed and all(checkpoint.unfinished(name) is None for name in names.values())
    return Ready(job, identity, names, outlets, anew, number, finished, notices)


def _refuse_undelivered(checkpoint: Checkpoint, outlets: Mapping[str, list[Outlet]], mark: Callable[[str], Mark | None]) -> None:
    """Refuse a version without a sink for which a deploy has left a correction, or with another one in its stead."""
    for query, sinks in outlets.items():
        here = {one.name: one for one in sinks}
        waiting = corrections.undelivered(checkpoint.folder / corrections.FOLDER, query, checkpoint.query(query))
        for name, target in waiting.items():
            one = here.get(name)
            if one is None or not target.is_met(place_of(one.sink), one.schema.ddl, one.mode, partial(mark, name)):
                raise HeadraceError(
                    "EPOCH_UNFINISHED",
                    f"{name} did not get its rows of the last deploy, in {target.place}, and this version writes others, or not there",
                    hint="nothing was changed: run the version that was deployed once, then this one; or deploy this one",
                )


def _refuse_nothing(job: SparkJob, stored: Stored | None) -> None:
    """Refuse sources with nothing to read that are new on the checkpoint. A known one may have been read to its end, and emptied."""
    known = {str(node["name"]) for node in (stored.plan["nodes"] if stored is not None else ())}
    for source in job.sources:
        if str(source.name) not in known:
            with at(source):
                source.connect().check_first()


def _marks(job: SparkJob, checkpoint: Checkpoint, outlets: Mapping[str, list[Outlet]]) -> Callable[[str], Mark | None]:
    """Return a function from the name of a sink to its mark at its current place."""

    def mark(name: str) -> Mark | None:
        query, one = next((query, one) for query, sinks in outlets.items() for one in sinks if one.name == name)
        with at(one.node):
            return one.sink.mark(one.context(job, checkpoint, query))

    return mark


@leaving()
def suit(job: SparkJob, *, starting: bool = False) -> None:
    """Check that what each connector needs is there or may be fetched, and that each sink accepts its rows."""
    with displayed(job.plan):
        _suit(job, starting)


def _suit(job: SparkJob, starting: bool) -> None:
    for node in connected_of(job.plan.nodes.values()):
        with at(node):
            connector = node.connect()
            require(connector.needs, fetching=fetch.allowed())
            if isinstance(connector, ports.Sink):
                try:
                    connector.suits(str(node.name), job.schemas.of[str(node.name)])
                except HeadraceError as error:
                    # A job may be built where its servers cannot be reached.
                    if starting or error.fault != "environment":
                        raise


def _recounted(query: Query, totals: Totals) -> Iterator[str]:
    """Yield notices about expectations whose condition has changed: their counts cover less than the job has read."""
    for node, name in totals.changed(conditions_of(order(query.sinks))):
        if any(totals.of_source(node, f"{outcome} {name}") for outcome in ("passed", "violated")):
            why = "has another condition" if name in (totals.conditions or {}).get(node, {}) else "was left out for a while"
            yield f"the expectation {name} of {node} {why}: rows are counted for it from epoch {totals.epoch + 1} on"


def _not_read(job: SparkJob) -> Iterator[str]:
    """Return notices about input that sources and lookups do not read."""
    notices = [(source.name, source.connect().notice()) for source in job.sources]
    notices += [(lookup.name, lookup.connect().notice()) for lookup in job.lookups]
    return (f"{name} {line}" for name, line in notices if line is not None)


def _refuse_other_input(job: SparkJob, checkpoint: Checkpoint, query: Query, name: str) -> None:
    for source in query.sources:
        context = ports.SourceContext(str(source.name), checkpoint.query(name), job.time_zone, pending=True)
        with at(source):
            source.connect().refuse_other_input(session(), context)


def _partitions(stored: Stored | None, wanted: int | None) -> int:
    """Return the tasks per level: those of the checkpoint, else those asked for, else one per core."""
    if stored is None:
        return wanted or session().sparkContext.defaultParallelism
    if wanted not in (None, stored.partitions):
        raise HeadraceError(
            "PARTITIONS_CHANGED",
            f"the checkpoint has {stored.partitions} partitions, not {wanted}",
            hint=f"write partitions={stored.partitions} or leave it out; `headrace rescale FILE --partitions {wanted}` changes it",
        )
    return stored.partitions


def refuse_endless(job: SparkJob) -> None:
    """Refuse unbounded input on a sealed checkpoint: it needs a watermark that advances, and this one is at the end of time."""
    endless = [str(source.name) for source in job.sources if not source.connect().traits.bounded]
    if endless:
        has = "is" if len(endless) == 1 else "are"
        raise sealed(f"{', '.join(endless)} {has} unbounded now")


def _refuse_new_input(job: SparkJob, checkpoint: Checkpoint, stored: Stored, names: Mapping[str, str]) -> None:
    """Refuse new input on a sealed checkpoint, which is at the end of time: all of it would be late."""
    before = {node["name"]: node for node in stored.plan["nodes"]}
    unread_sources: list[str] = []
    for query, name in each(job, names):
        for source in query.sources:
            context = ports.SourceContext(str(source.name), checkpoint.query(name), job.time_zone)
            with at(source):
                unread = source.connect().unread(session(), context)
            mended = repaired.unread(checkpoint.folder, checkpoint.query(name), str(source.name))
            unread = mended + (unread or 0) if mended else unread
            known = before.get(str(source.name), {})
            if unread or (unread is None and known.get("options") != json.loads(json.dumps(dict(source.options)))):
                unread_sources.append(f"{source.name} ({unread} new)" if unread else str(source.name))
    if unread_sources:
        raise sealed(f"{', '.join(dict.fromkeys(unread_sources))} has new input")


def sealed(what: str) -> HeadraceError:
    return HeadraceError(
        "CHECKPOINT_SEALED",
        f"{what}, and the job has read its bounded input to the end and fired all its timers",
        hint="start over with fresh=True; flush=False keeps a job open for later input",
    )
