"""Refusal of a fork whose sinks are where one of its ancestors writes: rows would be there twice, or be taken back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from headrace import ports
from headrace.errors import HeadraceError
from headrace.spark.checkpoint.ancestors import Ancestor, ancestors
from headrace.spark.checkpoint.folder import Checkpoint
from headrace.spark.checkpoint.record import place_of, recorded
from headrace.spark.compile.job import SparkJob
from headrace.spark.run.outlets import Outlet, at


def refuse_sinks_of_ancestors(job: SparkJob, checkpoint: Checkpoint, outlets: Mapping[str, Sequence[Outlet]]) -> None:
    """Raise SINK_OF_PARENT for a sink at a place of an ancestor, by the name of the place or by a mark that it holds."""
    line = ancestors(checkpoint.folder)
    for query, sinks in outlets.items() if line else ():
        # up to the fork it is the record of the parent
        began = checkpoint.history(query).forked()
        written = {name: one.place for name, one in recorded(checkpoint.folder / "record", query).written.items() if one.epoch > began}
        for one in sinks:
            if one.node is None or one.sink.traits.displays or one.sink.traits.in_process:
                continue  # two jobs can have a terminal, or the memory of a process, at once
            for ancestor in line:
                theirs = ancestor.at(one.sink)
                if theirs is not None:
                    raise _shared(job, one, theirs, ancestor)
            # the first start there has looked for marks
            if written.get(one.name) != place_of(one.sink):
                _refuse_marks(job, one, one.context(job, checkpoint, query), line)


def _refuse_marks(job: SparkJob, one: Outlet, context: ports.SinkContext, line: Sequence[Ancestor]) -> None:
    """Refuse a place that holds a mark of an ancestor, which may know it by another name."""
    for ancestor in line:
        for query, sink in ancestor.sinks:
            with at(one.node):
                mark = one.sink.mark(replace(context, job=ancestor.job, checkpoint_id=ancestor.id, query=query, name=sink))
            if mark is not None and (mark.epoch >= 0 or mark.claimed):
                raise _shared(job, one, sink, ancestor)


def _shared(job: SparkJob, one: Outlet, theirs: str, ancestor: Ancestor) -> HeadraceError:
    return HeadraceError(
        "SINK_OF_PARENT",
        f"{job.shown(one.name)} would write to {one.sink.location}, where {theirs} of the job {ancestor.job} writes",
        hint=f"nothing was changed: give the job {job.plan.job} a sink of its own at another place",
        site=one.node.site if one.node is not None else None,
    )
