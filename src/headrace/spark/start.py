"""Starting a job: what can be refused first is, then the checkpoint is told of the job, then sinks open, then queries start."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace import ports
from headrace.errors import HeadraceError
from headrace.jvm import fetch
from headrace.jvm.packages import attach, require
from headrace.jvm.session import session
from headrace.masking import leaving
from headrace.ops import Lookup, Sink, Source
from headrace.plan import Node
from headrace.schema import Struct, parse_schema
from headrace.spark import cut_off, repaired
from headrace.spark.agreement import agree
from headrace.spark.checkpoint import Checkpoint, Stored, migrated
from headrace.spark.compare import identified, refuse_in_mid_epoch, with_frozen_schemas
from headrace.spark.computed import check_computed
from headrace.spark.document import build, dead_letters
from headrace.spark.epochs import Committer, OpenSink, place_of
from headrace.spark.examine import needed
from headrace.spark.identity import DEAD_LETTERS, QueryIdentity
from headrace.spark.job import SparkJob
from headrace.spark.kernel import start_query
from headrace.spark.lease import SILENCE
from headrace.spark.levels import Query
from headrace.spark.loader import Loader
from headrace.spark.moved import mend
from headrace.spark.placing import in_parts
from headrace.spark.run import Run, RunningQuery


@dataclass
class Started:
    """The queries of a job, running on an open checkpoint; `close` gives sinks and checkpoint back once they have ended.

    `sealed`: the checkpoint was read to its end before and nothing new has come, so there are no queries.
    """

    checkpoint: Checkpoint
    queries: list[RunningQuery]
    close: Callable[[], None]
    sealed: bool = False


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
) -> Run:
    """Start a job on the checkpoint in `folder`, or go on from there, and drive it to its end."""
    begun = begin(job, folder, every=every, partitions=partitions, fresh=fresh, waits=waits, silence=silence)
    return Run(job.plan.job, begun.checkpoint, begun.queries, bounded=job.bounded, flush=flush and not begun.sealed, closed=begun.close)


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
) -> Started:
    """Start the queries of a job; `clock`: seconds by a clock that is moved by hand, where processing time stands still otherwise; `waits`
    is told whom a standby waits for, and after `silence` seconds without a sign another process may take over.

    What its plan, its sources and the checkpoint refuse is refused before anything is touched. Sinks and the kernel are asked last: with
    `fresh` the checkpoint is empty by then, and a clearing that they cut off is finished by the next start.
    """
    for query in job.queries:
        for node in (*query.sources, *query.looked_up, *query.sinks):
            if isinstance(node, Source | Lookup | Sink):
                _provide(node)
    for source in job.sources:
        _check(source)
    for lookup in job.lookups:
        _check(lookup)
    checkpoint = Checkpoint(folder, fresh=fresh, waits=waits, silence=silence)
    # what is to be given back, last things first; one that fails does not keep the others
    opened = ExitStack()
    opened.callback(checkpoint.close)
    running: list[RunningQuery] = []
    opening = False
    try:
        if not fresh and checkpoint.migrated is not None:
            raise migrated(checkpoint.folder, checkpoint.migrated)
        # Nothing depends on what a start stored that never got to its queries.
        stored = checkpoint.stored if checkpoint.begun else None
        job = with_frozen_schemas(job, stored)
        identity, names = identified(job, stored, checkpoint.folder)
        suit(job, starting=True)
        outlets = {name: _outlets(job, query, checkpoint.dead_letters(name)) for query, name in _with(job, names)}
        if stored is not None and not fresh:
            for name in outlets:
                _agree(job, checkpoint, name, outlets[name])
        check_computed(job, [identity.query(name) for name in names.values()])
        if stored is not None and not fresh:
            refuse_in_mid_epoch(job.plan, stored.plan, _unfinished(job, checkpoint, names))
        number = _partitions(stored, partitions)
        if stored is not None and (checkpoint.sealed or checkpoint.sealing):
            _refuse_endless(job)
            _refuse_new_input(job, checkpoint, stored, names)
            if checkpoint.sealed:
                return Started(checkpoint, [], opened.close, sealed=True)
        if fresh:
            checkpoint.begin_clearing()
        checkpoint.empty()
        # Before sinks make anything here: a folder with something in it is a checkpoint by its job.json, and sinks know it by its id.
        checkpoint.store(job.plan.job, job.plan.to_json(), job.settings, number, identity)
        opening = True
        sinks = {name: _open(job, identity.query(name), checkpoint, outlets[name], opened) for _, name in _with(job, names)}
        checkpoint.end_clearing()
        for query, name in _with(job, names):
            running.append(_started(job, query, identity.query(name), checkpoint, sinks[name], number, every, clock))
        return Started(checkpoint, running, opened.close)
    except BaseException:
        for one in running:
            opened.callback(one.handle.stop)
        with suppress(Exception):  # why the start was refused matters more
            if not opening:
                checkpoint.lease.decline()
            opened.close()
        raise


def _provide(node: Source | Lookup | Sink) -> None:
    """Put what a connector needs into the session."""
    with _at(node):
        attach(session(), [node.connect().needs])


def _check(node: Source | Lookup) -> None:
    with _at(node):
        node.connect().check()


@contextmanager
def _at(node: Node) -> Iterator[None]:
    """What a connector refuses is refused at the line that wrote it."""
    try:
        yield
    except HeadraceError as error:
        error.site = node.site or error.site
        raise


@leaving()
def suit(job: SparkJob, *, starting: bool = False) -> None:
    """Ask for each connector whether what it needs is there or may be fetched, and each sink whether it takes what comes to it."""
    for node in job.plan.nodes.values():
        if isinstance(node, Source | Lookup | Sink):
            with _at(node):
                connector = node.connect()
                require(connector.needs, fetching=fetch.allowed())
                if isinstance(connector, ports.Sink):
                    try:
                        connector.suits(str(node.name), job.schemas.of[str(node.name)])
                    except HeadraceError as error:
                        # A job can be made where nobody reaches its servers.
                        if starting or error.fault != "environment":
                            raise


def _with(job: SparkJob, names: Mapping[str, str]) -> list[tuple[Query, str]]:
    """Each query with the name that the checkpoint knows it by."""
    return [(query, names[query.name]) for query in job.queries]


def _unfinished(job: SparkJob, checkpoint: Checkpoint, names: Mapping[str, str]) -> dict[str, int]:
    """The epochs that come again, of sinks that may have them in part."""
    found = [(sink, checkpoint.unfinished(name)) for query, name in _with(job, names) for sink in query.sinks if in_parts(sink)]
    return {str(sink.name): epoch for sink, epoch in found if epoch is not None}


def _partitions(stored: Stored | None, asked: int | None) -> int:
    """Tasks per level: those of the checkpoint, else those asked for, else one per core."""
    if stored is None:
        return asked or session().sparkContext.defaultParallelism
    if asked not in (None, stored.partitions):
        raise HeadraceError(
            "PARTITIONS_CHANGED",
            f"{asked} partitions were asked for, and the checkpoint has {stored.partitions}",
            hint=f"ask for {stored.partitions} or none, or start over with fresh=True.",
        )
    return stored.partitions


def _refuse_endless(job: SparkJob) -> None:
    """What is read without an end needs a watermark that goes on, and that of a sealed checkpoint stands at the end of time."""
    endless = [str(source.name) for source in job.sources if not source.connect().traits.bounded]
    if endless:
        has = "has" if len(endless) == 1 else "have"
        raise _sealed(f"{', '.join(endless)} {has} no end now")


def _refuse_new_input(job: SparkJob, checkpoint: Checkpoint, stored: Stored, names: Mapping[str, str]) -> None:
    """A sealed checkpoint stands at the end of time: whatever came now would be late."""
    before = {node["name"]: node for node in stored.plan["nodes"]}
    found: list[str] = []
    for query, name in _with(job, names):
        for source in query.sources:
            if isinstance(source, Source):
                context = ports.SourceContext(str(source.name), checkpoint.query(name), job.time_zone)
                unread = source.connect().unread(session(), context)
                mended = repaired.unread(checkpoint.folder, checkpoint.query(name), str(source.name))
                unread = mended + (unread or 0) if mended else unread
                known = before.get(str(source.name), {})
                if unread or (unread is None and known.get("options") != json.loads(json.dumps(dict(source.options)))):
                    found.append(f"{source.name} ({unread} new)" if unread else str(source.name))
    if found:
        raise _sealed(f"{', '.join(dict.fromkeys(found))} has new input")


def _sealed(what: str) -> HeadraceError:
    return HeadraceError(
        "CHECKPOINT_SEALED",
        f"{what}, and the job has read its bounded input to the end and fired all its timers",
        hint="start over with fresh=True; flush=False keeps a job open for input that comes later.",
    )


@dataclass(frozen=True)
class _Outlet:
    """A sink of a query with what comes to it."""

    name: str
    sink: ports.Sink
    schema: Struct
    mode: str = "append"

    def context(self, job: SparkJob, checkpoint: Checkpoint, query: str) -> ports.SinkContext:
        return ports.SinkContext(
            job=job.plan.job,
            name=self.name,
            schema=self.schema,
            session=session(),
            checkpoint=checkpoint.folder,
            checkpoint_id=checkpoint.id,
            time_zone=job.time_zone,
            fresh=checkpoint.clearing,
            query=query,
            mode=self.mode,
            unfinished=checkpoint.unfinished(query),
            term=checkpoint.lease.term,
            held=checkpoint.lease.check,
            partitions=1 if checkpoint.stored is None else checkpoint.stored.partitions,
        )

    def opened(self, op: int) -> OpenSink:
        return OpenSink(op, self.name, self.sink, self.schema.ddl, quiet=self.name == DEAD_LETTERS)


def _outlets(job: SparkJob, query: Query, letters: Path) -> list[_Outlet]:
    """The sinks of a query, the one for dead letters last."""
    nodes = [node for node in query.sinks if isinstance(node, Sink)]
    outlets = [_Outlet(str(node.name), node.connect(), job.schemas.of[str(node.name)], node.mode) for node in nodes]
    folder = ports.sink_class("files").from_options({"path": str(letters), "format": "json"})
    return [*outlets, _Outlet(DEAD_LETTERS, folder, parse_schema(dead_letters(query)))]


def _agree(job: SparkJob, checkpoint: Checkpoint, query: str, outlets: list[_Outlet]) -> None:
    """Refuse a checkpoint that was put back, is not whole, or whose sinks are not as the job left them."""
    for damage in needed(checkpoint.query(query)):
        raise damage.error()
    # dead letters are a part of the checkpoint itself
    sinks = [one for one in outlets if one.name != DEAD_LETTERS]
    marks = {one.name: (place_of(one.sink), one.sink.mark(one.context(job, checkpoint, query))) for one in sinks}
    agree(checkpoint.folder, checkpoint.query(query), checkpoint.history(query), checkpoint.record(query).totals, marks)


def _open(job: SparkJob, identity: QueryIdentity, checkpoint: Checkpoint, outlets: list[_Outlet], opened: ExitStack) -> dict[int, OpenSink]:
    """Open the sinks of a query, and let each mend what a killed run left."""
    found: dict[int, OpenSink] = {}
    live = identity.live()
    for one in outlets:
        one.sink.open(one.context(job, checkpoint, identity.name))
        opened.callback(one.sink.close)
        one.sink.recover()
        found[live[one.name].op] = one.opened(live[one.name].op)
    return found


def _started(
    job: SparkJob,
    query: Query,
    identity: QueryIdentity,
    checkpoint: Checkpoint,
    sinks: Mapping[int, OpenSink],
    partitions: int,
    every: int,
    clock: Callable[[], float] | None,
) -> RunningQuery:
    spark = session()
    mend(checkpoint.query(identity.name))
    cut_off.clear(checkpoint.query(identity.name))
    scans, readers = {}, {}
    for source in query.sources:
        if isinstance(source, Source):
            name = str(source.name)
            context = ports.SourceContext(name, checkpoint.query(identity.name), job.time_zone)
            connected = source.connect()
            scans[name], readers[name] = connected.scan(spark, context)
            lines = connected.repairs
            # What ends by itself is not watched for repaired rows that come meanwhile: each scan has its price in every epoch.
            if lines is not None and (not connected.traits.bounded or repaired.folder(checkpoint.folder, name).is_dir()):
                key = repaired.key(name)
                scans[key], readers[key] = repaired.scan(spark, checkpoint.folder, source, lines)
    stages = {one.name: one.sink.stage() for one in sinks.values()}
    asks, loader = _lookups(job, query)
    document = build(query, identity, job.at, readers, stages, partitions, asks)
    history = checkpoint.history(identity.name, job.plan.fingerprint)
    history.tidy()
    committer = Committer(sinks, checkpoint.record(identity.name), history, checkpoint.lease.check, clock or time.monotonic)
    totals = committer.record.totals
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
    )
    running = RunningQuery(query, identity, handle, committer, {}, totals.epoch)
    running.before = running.read()
    return running


def _lookups(job: SparkJob, query: Query) -> tuple[dict[str, dict[str, Any]], Loader]:
    """How the tables of lookups are asked, and what loads those that are not."""
    asks: dict[str, dict[str, Any]] = {}
    whole: dict[str, tuple[ports.Lookup, ports.LookupContext]] = {}
    for node in query.looked_up:
        connected, name = node.connect(), str(node.name)
        context = ports.LookupContext(name, tuple(theirs for _, theirs in node.keys), job.time_zone)
        if connected.traits.whole:
            whole[name] = (connected, context)
        else:
            asks[name] = connected.ask(context)
    return asks, Loader(whole)
