"""A shadow run: the parts of a new version that have no usable state, over exactly the rows that the job has read so far.

It has a checkpoint of its own, in which its first epoch is logged with the offsets of the job's last one. Spark repeats a logged epoch, so
that one reads each source from the beginning to the same position. Further epochs follow a job that goes on. The last one brings event time
to the watermark that the job has handled. No sink outside gets a row.
"""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from headrace.durable import atomic, private
from headrace.durable.links import link
from headrace.durable.sums import text_of
from headrace.errors import HeadraceError
from headrace.jvm.session import session
from headrace.ops import Sink, kind_of, sources_of
from headrace.plan import Node, order
from headrace.spark.checkpoint.folder import Stored
from headrace.spark.checkpoint.history import logged, renew_id
from headrace.spark.checkpoint.offsets import Offsets, joined, offset_name
from headrace.spark.checkpoint.record import Totals, recorded
from headrace.spark.checkpoint.schema_paths import mend
from headrace.spark.compile.identity import Identity, Numbers, QueryIdentity, entered, repaired_scan
from headrace.spark.compile.job import SparkJob, limited
from headrace.spark.compile.relocation import Relocation
from headrace.spark.deploy.capture import Capture, Dropping
from headrace.spark.deploy.rebuild import Rebuild
from headrace.spark.deploy.stores import Origin
from headrace.spark.run.failures import failure
from headrace.spark.run.query import RunningQuery
from headrace.spark.run.start import begin
from headrace.spark.run.summary import many

ROWS = "rows"
"""The folder in that of a shadow run for the rows of sinks."""

_PAUSE_MS = 20

_LOOK = 5.0
"""The seconds between two lines about the progress."""

_OF_HISTORY = ("FILE_BROKEN", "FILE_CHANGED", "INPUT_GONE", "OFFSETS_GONE", "TOPIC_GONE", "VERSION_GONE")
"""The errors that say that a source no longer has what was read of it."""


@dataclass(frozen=True)
class Shadow:
    """The outcome: the stored queries with the state of the rebuilt operators, their counts, and the rows of each sink."""

    origins: tuple[tuple[Origin, Totals], ...]
    rows: Mapping[str, Capture]


@dataclass(frozen=True)
class Ends:
    """Where a shadow run ends: sinks, each with the query of the job whose history it needs. `rebuilt`: the operators whose state it is
    for. `rows`: where the rows of sinks go, by the name of the sink.
    """

    sinks: Mapping[Sink, str]
    rebuilt: frozenset[str]
    rows: Mapping[str, Capture]


def ends_of(job: SparkJob, rebuild: Rebuild, place: Path) -> Ends:
    """Return the ends of a run for a rebuild, with the rows of sinks in the folder `place`: the sinks that are corrected, and an end for
    each operator whose rows none of them needs.
    """
    query_of = {str(node.name): query.name for query in job.queries for node in (*query.sinks, *query.operators)}
    corrected = [sink for query in job.queries for sink in query.sinks if str(sink.name) in rebuild.corrected]
    behind = {str(node.name) for node in order(corrected)}
    rows = {str(sink.name): Capture(sink.connect(), place / f"{n}") for n, sink in enumerate(corrected)}
    sinks = {replace(sink, live=rows[str(sink.name)]): query_of[str(sink.name)] for sink in corrected}
    dropped = {end: query_of[str(end.input.name)] for end in _dropped(job, rebuild.operators - behind)}
    return Ends(sinks | dropped, rebuild.operators, rows)


class ShadowRun:
    """A shadow run in the folder `place`, which it continues or makes, for the checkpoint in `real`. `origins`: the stored queries by name.
    `handled`: the watermark up to which each query of the job has handled time, by its name, in milliseconds. `look` is called with a line
    about the progress, again and again. An end whose sources the job has not read is left out.
    """

    def __init__(
        self,
        job: SparkJob,
        relocation: Relocation,
        ends: Ends,
        origins: Mapping[str, Origin],
        real: Path,
        place: Path,
        partitions: int,
        handled: Mapping[str, int],
        look: Callable[[str], object],
    ) -> None:
        self._relocation, self._rebuilt, self._origins = relocation, ends.rebuilt, origins
        self._real, self._folder, self._partitions = real, place, partitions
        self._handled, self._look = handled, look
        self._of = {str(sink.name): query for sink, query in ends.sinks.items() if self._was_read(sink)}
        self._rows = {name: rows for name, rows in ends.rows.items() if name in self._of}
        self._job = limited(job, [sink for sink in ends.sinks if str(sink.name) in self._of])
        self._identity = self._identified()

    def advance(self, before: Mapping[str, Totals]) -> None:
        """Read up to the position of the job. `before`: the counts of the stored queries. Raises HISTORY_GONE unless all that they have
        read is read again.
        """
        if not self._of:
            return
        self._begin()
        epoch = max(logged(self._query(query), "offsets") for query in self._identity.queries)
        if any(self._is_behind(query, epoch) for query in self._identity.queries):
            epoch += 1
            for query in self._identity.queries:
                self._log(query, epoch)
        try:
            totals = self._repeated(epoch)
        except HeadraceError as error:
            if error.code not in _OF_HISTORY:
                raise
            raise _gone(error.message.partition("; ")[0]) from None
        for query, one in zip(self._identity.queries, totals, strict=True):
            for source in query.sources:
                rows = one.of_source(source, "read")
                known = max(before[origin.query.name].of_source(source, "read") for origin in self._stored(query))
                if rows != known:
                    raise _gone(f"{source} has {rows:,} of the {known:,} rows that the job has read so far")

    def finish(self, before: Mapping[str, Totals]) -> Shadow:
        """Read up to the position of the job, and bring event time to its watermark. `before`: as for `advance`."""
        self.advance(before)
        if not self._of:
            return Shadow((), {})
        epoch = max(logged(self._query(query), "offsets") for query in self._identity.queries)
        # a list: all queries have to log the epoch
        later = [self._later(query, epoch + 1) for query in self._identity.queries]
        totals = self._repeated(epoch + any(later))
        origins = map(self._origin, self._identity.queries)
        return Shadow(tuple(zip(origins, totals, strict=True)), self._rows)

    def _begin(self) -> None:
        """Make the checkpoint of the shadow run, unless it is there."""
        if (self._folder / "job.json").exists():
            return
        private.folder(self._folder)
        # repaired rows may come later
        (self._folder / "repaired").symlink_to(self._real / "repaired")
        for query in self._identity.queries:
            (self._query(query) / "offsets").mkdir(parents=True)
            renew_id(self._query(query))
        plan = self._job.plan
        stored = Stored(uuid.uuid4().hex, plan.job, plan.to_json(), self._job.settings, self._partitions, self._identity)
        atomic.replace(self._folder / "job.json", text_of(stored.to_json(), indent=1))

    def _was_read(self, end: Node) -> bool:
        """Return whether the job has read a source of a node: what has only new ones has no history."""
        known = {source for origin in self._origins.values() for source in origin.query.sources}
        return any(str(source.name) in known for source in sources_of(order([end])))

    def _identified(self) -> Identity:
        """Return the identity of the shadow, in which operators and sinks have the numbers of the new version."""
        numbers = Numbers(self._relocation.identity.next)
        known = {
            name: entry.op
            for one in self._relocation.queries.values()
            for name, entry in one.identity.live().items()
            if not name.startswith("#")
        }
        queries = []
        for query in self._job.shapes:
            entries = (entered(shape, numbers) for shape in query.shapes)
            same = tuple(replace(entry, op=known.get(entry.shape.name, entry.op)) for entry in entries)
            queries.append(QueryIdentity(query.name, query.sources, query.levels, query.clock, same))
        return Identity(tuple(queries), numbers.next)

    def _stored(self, query: QueryIdentity) -> list[Origin]:
        """Return the stored queries from which a query of the shadow comes."""
        origins = self._relocation.queries[self._whole(query)].origins
        return [self._origins[name] for name in origins if name in self._origins]

    def _whole(self, query: QueryIdentity) -> str:
        """Return the name of the query in the job that contains a query of the shadow."""
        return next(self._of[str(sink.name)] for one in self._job.queries if one.name == query.name for sink in one.sinks)

    def _scans(self, query: QueryIdentity) -> set[str]:
        return {offset_name(scan) for source in query.sources for scan in (source, repaired_scan(source))}

    def _position(self, query: QueryIdentity) -> Offsets:
        """Return how far the job has read the sources of a query."""
        scans = self._scans(query)
        return joined([Offsets.read(origin.folder, origin.epoch).limited(scans) for origin in self._stored(query)])

    def _is_behind(self, query: QueryIdentity, epoch: int) -> bool:
        """Return whether the job has read more than a query of the shadow, whose last logged epoch is `epoch`."""
        return epoch < 0 or Offsets.read(self._query(query), epoch).sources != self._position(query).sources

    def _log(self, query: QueryIdentity, epoch: int) -> None:
        """Log an epoch of a query: up to the position of the job, with the logs of what it has read."""
        folder = self._query(query)
        for scan in self._scans(query):
            log = next((path for origin in self._stored(query) if (path := origin.folder / "sources" / scan).is_dir()), None)
            if log is not None:
                shutil.rmtree(folder / "sources" / scan, ignore_errors=True)
                shutil.copytree(log, folder / "sources" / scan, copy_function=link)
        offsets = self._position(query).with_watermark(0).with_partitions(self._partitions)
        atomic.replace(folder / "offsets" / str(epoch), offsets.text)

    def _later(self, query: QueryIdentity, epoch: int) -> bool:
        """Log an epoch of a query that reads nothing and brings time to the watermark of the job, if it has one."""
        watermark = self._handled[self._whole(query)]
        if query.clock != "event" or watermark <= 0:
            return False
        offsets = Offsets.read(self._query(query), epoch - 1).with_watermark(watermark).with_partitions(self._partitions)
        atomic.replace(self._query(query) / "offsets" / str(epoch), offsets.text)
        return True

    def _repeated(self, epoch: int) -> list[Totals]:
        """Repeat the logged epochs of each query up to `epoch`, and return its counts."""
        if all(logged(self._query(query), "commits") >= logged(self._query(query), "offsets") for query in self._identity.queries):
            return [recorded(self._folder / "record", query.name) for query in self._identity.queries]
        begun, looked = begin(self._job, self._folder, held=True), time.monotonic()
        try:
            for query in begun.queries:
                while logged(self._query(query.identity), "commits") < min(epoch, logged(self._query(query.identity), "offsets")):
                    if time.monotonic() - looked > _LOOK:
                        looked = time.monotonic()
                        self._look(_tasks())
                    if query.handle.awaitTermination(_PAUSE_MS):
                        raise _failed(query, self._folder, self._real)
                query.handle.stop()
            totals = {query.identity.name: query.totals for query in begun.queries}
            return [totals[query.name] for query in self._identity.queries]
        finally:
            for query in begun.queries:
                query.handle.stop()
            begun.close()

    def _origin(self, query: QueryIdentity) -> Origin:
        folder = self._query(query)
        # it may have been moved, and Spark finds state by the paths in its own metadata
        mend(folder)
        rebuilt = frozenset(entry.op for entry in query.entries if entry.shape.name in self._rebuilt)
        return Origin(query, folder, logged(folder, "commits"), self._partitions, rebuilt)

    def _query(self, query: QueryIdentity) -> Path:
        return self._folder / "queries" / query.name


def _tasks() -> str:
    """Describe how far the work of this process's Spark is."""
    tracker = session().sparkContext.statusTracker()
    stages = [stage for id in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(id)) is not None]
    done, all = (sum(numbers) for numbers in ([one.numCompletedTasks for one in stages], [one.numTasks for one in stages]))
    return f"{done:,} of {many(all, 'task')} of {many(len(stages), 'stage')} done"


def _dropped(job: SparkJob, operators: Collection[str]) -> list[Sink]:
    """Return a sink for each of these operators. It drops its rows. The steps after the operator do not run: they may
    call servers, or cannot be computed again.
    """
    nodes = job.plan.nodes
    free = (name for number in count() if (name := f"rebuilt {number}") not in nodes)
    ends = ((nodes[name], end) for name, end in zip(sorted(operators), free, strict=False))
    return [Sink(node, Dropping.connector, {}, kind_of(node), Dropping(), name=end, site=node.site) for node, end in ends]


def _failed(query: RunningQuery, folder: Path, checkpoint: Path) -> HeadraceError:
    """Return the error that ended a query of the shadow in `folder`. The Java trace that its hint names goes to the checkpoint."""
    log, kept = folder / "errors.log", checkpoint / "errors.log"
    error = failure(query.handle.exception(), log, query.committer.failed, query.committer.failed_sink)
    if error.hint is not None and str(log) in error.hint:
        shutil.copy2(log, kept)
        error.hint = error.hint.replace(str(log), str(kept))
    return error


def _gone(what: str) -> HeadraceError:
    cure = "Bring them back; a deploy can also keep what the earlier version computes"
    return HeadraceError("HISTORY_GONE", what, hint=f"nothing was changed: all rows that the job has read are needed. {cure}")
