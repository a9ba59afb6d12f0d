"""Starting a job: check everything that can be refused, store the job in the checkpoint, open the sinks, start the queries."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from headrace import ports
from headrace.errors import HeadraceError
from headrace.jvm.session import session
from headrace.masking import leaving
from headrace.ops import Lookup, Source
from headrace.ops.expect import conditions_of
from headrace.plan import DisplayNames, Plan, order
from headrace.ports import aside
from headrace.spark.checkpoint import corrections, repaired, torn
from headrace.spark.checkpoint.earlier import keep
from headrace.spark.checkpoint.folder import Checkpoint, Stored
from headrace.spark.checkpoint.lease import SILENCE
from headrace.spark.checkpoint.offsets import Offsets, next_watermark
from headrace.spark.checkpoint.schema_paths import mend
from headrace.spark.compile.document import build
from headrace.spark.compile.identity import DEAD_LETTERS, QueryIdentity, correction_scan, repaired_scan
from headrace.spark.compile.job import SparkJob
from headrace.spark.compile.levels import Query
from headrace.spark.run.clearing import refuse_clearing
from headrace.spark.run.epochs import Committer, OpenSink
from headrace.spark.run.kernel import start_query
from headrace.spark.run.loader import lookups_of
from headrace.spark.run.outlets import Outlet, at, each, provide
from headrace.spark.run.outside import Deploys, Monitor
from headrace.spark.run.query import RunningQuery
from headrace.spark.run.ready import Ready, ready
from headrace.spark.run.run import Run
from headrace.spark.run.started import Started
from headrace.spark.run.trial import try_reader


def start(
    job: SparkJob,
    folder: Path,
    *,
    every: int = 0,
    partitions: int | None = None,
    fresh: bool = False,
    flush: bool = True,
    waits: Callable[[str], None] | None = None,
    silence: float = SILENCE,
    deploys: Callable[[Started, int], Deploys] | None = None,
    monitor: Monitor | None = None,
) -> Run:
    """Start a job on the checkpoint in `folder`, or continue from it, and drive it to its end. `deploys` gives what carries out deploys to
    the started queries, whose epochs begin `every` so many milliseconds. `monitor` shows the run while it lives.
    """
    reserve = None if monitor is None else monitor.open
    try:
        begun = begin(
            job, folder, every=every, partitions=partitions, fresh=fresh, waits=waits, silence=silence, answers=True, reserve=reserve
        )
    except BaseException:
        if monitor is not None:
            monitor.close()
        raise
    receiver = None if deploys is None else deploys(begun, every)
    return Run(begun, flush=flush and not begun.sealed, deploys=receiver, monitor=monitor)


@leaving()
def begin(
    job: SparkJob,
    folder: Path,
    *,
    every: int = 0,
    partitions: int | None = None,
    fresh: bool = False,
    clock: Callable[[], float] | None = None,
    waits: Callable[[str], None] | None = None,
    silence: float = SILENCE,
    held: bool = False,
    answers: bool = False,
    reserve: Callable[[], None] | None = None,
) -> Started:
    """Open a checkpoint and start the queries of a job. `waits` is called with the holder that a standby waits for. After `silence` seconds
    without a sign of life another process may take over. `clock`, `held`: as for `begin_on`. `answers`: this process carries out commands.
    `reserve` is called once the checkpoint is this process's own, before it is changed; what it raises refuses the start.
    """
    check_inputs(job)
    checkpoint = Checkpoint(folder, fresh=fresh, waits=waits, silence=silence, answers=answers)
    try:
        if reserve is not None:
            try:
                reserve()
            except BaseException:
                checkpoint.lease.decline()
                raise
        return begin_on(job, checkpoint, every=every, partitions=partitions, fresh=fresh, clock=clock, held=held)
    except BaseException:
        with suppress(Exception):  # the reason for the refusal matters more
            checkpoint.close()
        raise


def begin_on(
    job: SparkJob,
    checkpoint: Checkpoint,
    *,
    every: int = 0,
    partitions: int | None = None,
    fresh: bool = False,
    clock: Callable[[], float] | None = None,
    held: bool = False,
) -> Started:
    """Start the queries of a job on an open checkpoint. `clock`: a manual clock in seconds, for tests; without it processing time is real.
    `held`: the queries only repeat the epochs that were logged last, with the same rows, and then wait.

    What its plan, its sources, lookups and the checkpoint refuse is refused before anything is changed; with `fresh` also what sinks
    refuse, and options, tables and servers that fail (`refuse_clearing`). The sinks open after that and the kernel starts last: the next
    start finishes an interrupted clearing.
    """
    # what must be released, in reverse order; a failure does not prevent the rest
    opened = ExitStack()
    running: list[RunningQuery] = []
    before: Stored | None = None
    opening = False
    try:
        state = ready(job, checkpoint, partitions, fresh=fresh)
        job, identity, names, outlets = state.job, state.identity, state.names, state.outlets
        if state.sealed:
            return Started(job, checkpoint, [], opened.close, sealed=True, letters_before=_put_aside(checkpoint))
        if fresh or checkpoint.clearing:
            refuse_clearing(job, checkpoint, names, outlets)
        if fresh:
            checkpoint.begin_clearing()
        checkpoint.empty()
        before = checkpoint.stored
        if before is None:
            # Before sinks make anything here: a folder with contents is a checkpoint only with a job.json, and sinks know it by its id.
            checkpoint.store(job.plan.job, job.plan.to_json(), job.settings, state.partitions, identity)
        opening = True
        sinks = {name: _open(job, identity.query(name), checkpoint, outlets[name], opened) for _, name in each(job, names)}
        checkpoint.end_clearing()
        refused = _put_aside(checkpoint)
        if before is not None:
            # A version that a sink refuses leaves nothing behind.
            checkpoint.store(job.plan.job, job.plan.to_json(), job.settings, state.partitions, identity)
        for query, name in each(job, names):
            running.append(
                _started(
                    job,
                    query,
                    identity.query(name),
                    checkpoint,
                    sinks[name],
                    state.partitions,
                    every,
                    clock,
                    anew=state.anew[name] and not held,
                    held=held,
                )
            )
        letters = sum(one.began.rows.get(DEAD_LETTERS, 0) for one in running)
        return Started(job, checkpoint, running, opened.close, notices=state.notices, letters_before=refused + letters)
    except BaseException as problem:
        in_display_names(problem, job, checkpoint)
        for one in running:
            opened.callback(one.handle.stop)
        with suppress(Exception):  # the reason for the refusal matters more
            if before is not None and not running:
                checkpoint.put_back(before)
            if not opening:
                checkpoint.lease.decline()
            opened.close()
        raise


@leaving()
def looked_at(job: SparkJob, folder: Path) -> tuple[HeadraceError | None, tuple[HeadraceError, ...]]:
    """Return the error with which a start on a checkpoint would be refused, or None and what its sinks have lost. Changes nothing."""
    checkpoint: Checkpoint | None = None
    try:
        check_inputs(job)
        checkpoint = Checkpoint(folder)
        return None, tuple(_losses(job, checkpoint, ready(job, checkpoint, None)))
    except HeadraceError as problem:
        if checkpoint is not None:
            in_display_names(problem, job, checkpoint)
        return problem, ()
    finally:
        if checkpoint is not None:
            checkpoint.lease.decline()
            checkpoint.close()


def _losses(job: SparkJob, checkpoint: Checkpoint, state: Ready) -> Iterator[HeadraceError]:
    """Yield what the sinks, and the dead letters, have lost."""
    for query, outlets in state.outlets.items():
        for one in outlets:
            try:
                with at(one.node):
                    one.sink.examine(one.context(job, checkpoint, query))
            except HeadraceError as problem:
                in_display_names(problem, job, checkpoint)
                yield problem


def check_inputs(job: SparkJob) -> None:
    """Raise what the packages, sources and lookups of a job refuse."""
    provide(job)
    for source in job.sources:
        _check(source)
    for lookup in job.lookups:
        _check(lookup)


def _put_aside(checkpoint: Checkpoint) -> int:
    """Return the number of rows that sinks could not deliver so far."""
    return sum(aside.counted(checkpoint.folder).values())


def in_display_names(problem: BaseException, job: SparkJob, checkpoint: Checkpoint) -> None:
    """Use display names in an error, also for operators that only the checkpoint's version of the job has."""
    if isinstance(problem, HeadraceError):
        job.shown.error(problem)
        with suppress(Exception):  # a plan that cannot be read is what the problem reports
            if checkpoint.stored is not None:
                DisplayNames.of(Plan.from_json(checkpoint.stored.plan)).error(problem)


def _check(node: Source | Lookup) -> None:
    with at(node):
        node.connect().check()


def _open(job: SparkJob, identity: QueryIdentity, checkpoint: Checkpoint, outlets: list[Outlet], opened: ExitStack) -> dict[int, OpenSink]:
    """Open the sinks of a query, and let each repair what a killed run left."""
    sinks: dict[int, OpenSink] = {}
    live = identity.live()
    written = checkpoint.record(identity.name).totals.written.values()
    for one in outlets:
        context = one.context(job, checkpoint, identity.name)
        with at(one.node):
            one.sink.open(context)
            opened.callback(one.sink.close)
            one.sink.recover()
        sinks[live[one.name].op] = one.opened(live[one.name].op, context, written)
    return sinks


def _started(
    job: SparkJob,
    query: Query,
    identity: QueryIdentity,
    checkpoint: Checkpoint,
    sinks: Mapping[int, OpenSink],
    partitions: int,
    every: int,
    clock: Callable[[], float] | None,
    *,
    anew: bool,
    held: bool,
) -> RunningQuery:
    spark = session()
    mend(checkpoint.query(identity.name))
    unfinished = checkpoint.unfinished(identity.name)
    pending = unfinished is not None
    torn.clear(checkpoint.query(identity.name))
    overdue = query.clock == "event" and not pending and _is_overdue(checkpoint, identity.name)
    scans, readers = {}, {}
    for source in query.sources:
        name = str(source.name)
        context = ports.SourceContext(name, checkpoint.query(identity.name), job.time_zone, pending, anew)
        connected = source.connect()
        with at(source):
            scans[name], readers[name] = connected.scan(spark, context)
            try_reader(job, source, readers[name])
        lines = connected.repairs
        # Bounded input is not watched for repaired rows that come meanwhile: each scan has its cost in every epoch.
        if lines is not None and (not connected.traits.bounded or repaired.folder(checkpoint.folder, name).is_dir()):
            key = repaired_scan(name)
            scans[key], readers[key] = repaired.scan(spark, checkpoint.folder, source, lines, pending=pending, anew=anew)
    rows = checkpoint.folder / corrections.FOLDER
    waiting = corrections.undelivered(rows, identity.name, checkpoint.query(identity.name))
    replaced = {name for name, target in waiting.items() if target.whole}
    if replaced:
        epoch = corrections.epoch(rows, identity.name)
        sinks = {op: replace(one, whole=epoch) if one.name in replaced else one for op, one in sinks.items()}
    if not waiting:
        corrections.forget(rows, identity.name)
    for sink in (sink for sink in query.sinks if sink.name in waiting):
        name, key = str(sink.name), correction_scan(str(sink.name))
        schema = corrections.neutral(job.schemas.of[name])
        scans[key], readers[key] = corrections.scan(spark, rows, identity.name, name, schema, weighted=sink.mode != "append")
    stages = {one.name: one.sink.stage() for one in sinks.values()}
    asks, loader = lookups_of(job, query)
    document = build(query, identity, job.at, readers, stages, partitions, asks)
    history = checkpoint.history(identity.name, job.plan.fingerprint)
    history.tidy()
    record = checkpoint.record(identity.name)
    record.expect(conditions_of(order(query.sinks)))
    committer = Committer(
        sinks, record, history, checkpoint.lease.check, partial(keep, checkpoint.folder, identity.name), clock or time.monotonic
    )
    began = committer.record.totals
    handle = start_query(
        spark,
        document,
        scans,
        committer,
        checkpoint.query(identity.name),
        every=every,
        manual_clock=clock is not None,
        log=checkpoint.errors,
        loader=loader,
        held=held,
    )
    return RunningQuery(query, identity, handle, committer, began, unfinished, overdue)


def _is_overdue(checkpoint: Checkpoint, query: str) -> bool:
    """Return whether the last epoch of a query moved the watermark, so that an epoch without input was to follow."""
    folder, epoch = checkpoint.query(query), checkpoint.history(query).logged("commits")
    return epoch >= 0 and next_watermark(folder, epoch) > Offsets.read(folder, epoch).watermark
