"""The sinks of a job's queries, with the rows they get and the context that connectors need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from headrace import ports
from headrace.errors import HeadraceError
from headrace.jvm.packages import attach
from headrace.jvm.session import session
from headrace.ops.operator import Connected
from headrace.plan import Node
from headrace.schema import Struct, parse_schema
from headrace.spark.checkpoint.folder import Checkpoint
from headrace.spark.checkpoint.forms import form_of, joined
from headrace.spark.checkpoint.record import Written, place_of
from headrace.spark.compile.document import dead_letters
from headrace.spark.compile.identity import DEAD_LETTERS, QueryIdentity
from headrace.spark.compile.job import SparkJob
from headrace.spark.compile.levels import Query
from headrace.spark.run.epochs import OpenSink


@dataclass(frozen=True)
class Outlet:
    """A sink of a query, with the columns and the mode of its rows. `home`: the query that it began in, if it has moved since."""

    name: str
    sink: ports.Sink
    schema: Struct
    mode: str = "append"
    node: Node | None = None
    """None for the dead letters, which the checkpoint keeps."""
    home: str = ""

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
            query=self.home or query,
            mode=self.mode,
            unfinished=checkpoint.unfinished(query),
            term=checkpoint.lease.term,
            held=checkpoint.lease.check,
            partitions=1 if checkpoint.stored is None else checkpoint.stored.partitions,
            on_refused=self.sink.on_refused,
            shown=job.shown(self.name),
        )

    def opened(self, op: int, context: ports.SinkContext, written: Iterable[Written]) -> OpenSink:
        quiet = self.name == DEAD_LETTERS
        now, place = form_of(self.sink, self.mode, self.schema), place_of(self.sink)
        there = max((one for one in written if one.place == place), key=lambda one: one.epoch, default=None)
        form = now if there is None else joined(there.form, now)
        return OpenSink(op, self.name, self.sink, self.schema.ddl, context, quiet=quiet, form={} if quiet else form)


def outlets_of(job: SparkJob, query: Query, identity: QueryIdentity, letters: Path) -> list[Outlet]:
    """Return the sinks of a query, the one for dead letters last."""
    live = identity.live()
    outlets = [
        Outlet(name := str(node.name), node.connect(), job.schemas.of[name], node.mode, node, live[name].home) for node in query.sinks
    ]
    folder = ports.sink_class("files").from_options({"path": str(letters), "format": "json"})
    return [*outlets, Outlet(DEAD_LETTERS, folder, parse_schema(dead_letters(query)))]


def each(job: SparkJob, names: Mapping[str, str]) -> list[tuple[Query, str]]:
    """Return each query with its name in the checkpoint."""
    return [(query, names[query.name]) for query in job.queries]


def provide(job: SparkJob) -> None:
    """Add what the job's connectors need to the session."""
    for query in job.queries:
        connected: tuple[Connected, ...] = (*query.sources, *query.looked_up, *query.sinks)
        for node in connected:
            with at(node):
                attach(session(), [node.connect().needs])


@contextmanager
def at(node: Node | None) -> Iterator[None]:
    """Give a connector's errors the line of its node."""
    try:
        yield
    except HeadraceError as error:
        error.site = (node and node.site) or error.site
        raise
