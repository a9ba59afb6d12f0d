"""The parent of a fork: the moment that is forked, and its sinks, to which the fork must not write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from headrace import ports
from headrace.errors import HeadraceError
from headrace.ops import sinks_of
from headrace.ops.sink import restored_sink
from headrace.plan import Node
from headrace.spark.checkpoint.copying import copy
from headrace.spark.checkpoint.folder import MIGRATED, Stored, is_clearing, migrated, query_folder, stored_in
from headrace.spark.checkpoint.forked import lineage
from headrace.spark.checkpoint.history import logged
from headrace.spark.checkpoint.lease import held_by, newest_term
from headrace.spark.checkpoint.record import place_of, recorded
from headrace.spark.checkpoint.savepoints import savepoint
from headrace.spark.checkpoint.switch import is_switching
from headrace.spark.compile.identity import DEAD_LETTERS
from headrace.spark.compile.job import SparkJob
from headrace.spark.compile.shapes import SINK
from headrace.spark.deploy.replacement import Replacement
from headrace.spark.run.outlets import at, each, outlets_of, provide


@dataclass(frozen=True)
class Parent:
    """A job as of a moment: its checkpoint `home`; the `folder` with that moment, a savepoint or `home` itself, and what is `stored` there.
    `term`: the last start of that folder. `savepoint`: its name, None for the checkpoint as it is now.
    """

    home: Path
    folder: Path
    stored: Stored
    term: int
    savepoint: str | None

    @classmethod
    def at(cls, home: Path, name: str | None) -> Parent:
        """Return a job as of a savepoint; None: as its checkpoint is now, on which no process may work. Changes nothing."""
        folder = home if name is None else savepoint(home, name).folder
        if name is None:
            _refuse_busy(home)
        stored = stored_in(folder)
        if stored is None:
            raise _changed(home)
        moved = folder / MIGRATED
        if moved.exists():
            raise migrated(folder, Path(moved.read_text(encoding="utf-8").strip()))
        parent = cls(home, folder, stored, newest_term(folder), name)
        if not parent.epochs:
            what = f"the checkpoint {folder} has no state yet: no epoch is committed"
            raise HeadraceError("NO_STATE", what, hint="run the job first, and fork it after its first epoch")
        return parent

    @property
    def epochs(self) -> Mapping[str, int]:
        """The last epoch of each query."""
        names = (query.name for query in self.stored.identity.queries)
        last = {name: logged(query_folder(self.folder, name), "commits") for name in names}
        return {name: epoch for name, epoch in last.items() if epoch >= 0}

    @property
    def ids(self) -> Sequence[str]:
        """The ids by which sinks may know the job and the jobs that it was forked from."""
        return (self.stored.id, *lineage(self.folder))

    def copy(self, to: Path) -> None:
        """Copy the checkpoint as of the moment. Raises if it has changed meanwhile."""
        copy(self.folder, to)
        # sinks know the terms of starts, and records are named after them
        (to / f"lock.{self.term}").touch()
        if self.savepoint is not None:
            savepoint(self.home, self.savepoint)
        else:
            _refuse_busy(self.home)
            if newest_term(self.home) != self.term:
                raise _changed(self.home)

    def refuse_places(self, job: SparkJob) -> None:
        """Refuse a fork with a sink at the place of one of the parent's, as far as the plans show it."""
        taken = dict(self._places())
        for sink in sinks_of(job.plan.nodes.values()):
            place = place_of(sink.connect())
            if place in taken and not _is_local(sink.connect()):
                raise self._shared(job, sink, taken[place], place)

    def refuse_marks(self, replacement: Replacement) -> None:
        """Refuse a fork with a sink at a place that holds epochs of the parent: it may be known by another name there."""
        job, checkpoint = replacement.job, replacement.checkpoint
        provide(job)
        identity, names = replacement.relocation.identity, replacement.relocation.names
        for query, name in each(job, names):
            for one in outlets_of(job, query, identity.query(name), checkpoint.dead_letters(name)):
                if one.node is not None and not _is_local(one.sink):
                    context = one.context(job, checkpoint, name)
                    for id, of, sink in self._known():
                        with at(one.node):
                            mark = one.sink.mark(replace(context, job=self.stored.job, checkpoint_id=id, query=of, name=sink))
                        if mark is not None and mark.epoch >= 0:
                            raise self._shared(job, one.node, sink, place_of(one.sink))

    def _known(self) -> Iterator[tuple[str, str, str]]:
        """Yield the marks that the parent may have left: the id of a checkpoint, the query and the sink."""
        for id in self.ids:
            for query in self.stored.identity.queries:
                for entry in query.entries:
                    if entry.shape.kind == SINK and entry.shape.name != DEAD_LETTERS:
                        yield id, entry.home or query.name, entry.shape.name

    def _places(self) -> Iterator[tuple[str, str]]:
        """Yield the places of the sinks of the parent, then and now, and the name of the sink there."""
        for folder in dict.fromkeys((self.folder, self.home)):
            stored = stored_in(folder)
            if stored is None:
                continue
            for node in stored.plan["nodes"]:
                if node["op"] == "sink":
                    with suppress(HeadraceError, KeyError):  # its connector may not be installed here
                        yield place_of(restored_sink(node["connector"], node["options"])), node["name"]
            for query in stored.identity.queries:
                for name, written in recorded(folder / "record", query.name).written.items():
                    yield written.place, name

    def _shared(self, job: SparkJob, sink: Node, theirs: str, place: str) -> HeadraceError:
        return HeadraceError(
            "SINK_OF_PARENT",
            f"{job.shown(str(sink.name))} would write to {place}, where {theirs} of the job {self.stored.job} writes",
            hint="nothing was changed: give the fork a sink of its own at another place",
            site=sink.site,
        )


def _is_local(sink: ports.Sink) -> bool:
    """Return whether a sink has a place that two jobs can have at once: a terminal, or the memory of a process."""
    return sink.traits.shown or sink.traits.in_process


def _refuse_busy(home: Path) -> None:
    """Refuse a checkpoint on which a process works: it changes while it is copied."""
    holder = held_by(home)
    if holder is not None:
        raise HeadraceError(
            "CHECKPOINT_IN_USE",
            f"the checkpoint {home} is in use by {holder}",
            hint=f"make a savepoint, which a running job does too, and fork that: headrace savepoint create {home} NAME",
        )
    if is_switching(home) or is_clearing(home):
        raise _changed(home)


def _changed(home: Path) -> HeadraceError:
    return HeadraceError(
        "CHECKPOINT_IN_USE",
        f"the checkpoint {home} has changed while it was copied",
        hint="nothing was changed: fork it again; or fork a savepoint",
    )
