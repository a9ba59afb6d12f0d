"""Sinks that hold an interrupted epoch: it is replayed, and they keep what they have of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from headrace import ports
from headrace.errors import HeadraceError
from headrace.ops.sink import options_of, restored_sink
from headrace.schema import Struct
from headrace.spark.checkpoint.folder import Checkpoint, Stored
from headrace.spark.compile.identity import DEAD_LETTERS
from headrace.spark.compile.job import SparkJob
from headrace.spark.compile.placing import in_parts, may_hold_part
from headrace.spark.compile.shapes import SINK
from headrace.spark.run.outlets import Outlet, at, each


def holders(
    job: SparkJob, checkpoint: Checkpoint, stored: Stored, names: Mapping[str, str], outlets: Mapping[str, Sequence[Outlet]]
) -> dict[str, int]:
    """Return the sinks that hold the replayed epoch of their query, or may hold part of it, each with that epoch: sinks of the job, and
    those of the previous version that are gone or now write elsewhere.
    """
    epochs: dict[str, int] = {}
    for query, name in each(job, names):
        epoch = checkpoint.unfinished(name)
        if epoch is None:
            continue
        here = {one.name: one for one in outlets[name]}
        sinks = [sink for sink in here if sink != DEAD_LETTERS]
        holding = {one.name for one in _holding(job, checkpoint, stored, name, epoch, here)}
        if checkpoint.record(name).totals.epoch >= epoch or DEAD_LETTERS in holding:
            # All sinks have it, or there are letters of everything that the query computes.
            holding.update(sinks)
        holding.update(str(sink.name) for sink in query.sinks if in_parts(sink))
        epochs |= {sink: epoch for sink in (*sinks, *sorted(holding - here.keys())) if sink in holding}
    return epochs


def held(job: SparkJob, checkpoint: Checkpoint, stored: Stored, query: str) -> tuple[str, ...]:
    """Return the sinks of a stored query that hold its interrupted epoch or may hold a part of it, whatever the job does with them now."""
    epoch = checkpoint.unfinished(query)
    if epoch is None:
        return ()
    letters = Outlet(DEAD_LETTERS, _files(checkpoint.dead_letters(query)), Struct(()))
    outlets = {one.name: one for one in _before(stored, query, {})}
    here = {**outlets, DEAD_LETTERS: letters}
    whole = checkpoint.record(query).totals.epoch >= epoch
    holding = set(outlets) if whole else {one.name for one in _holding(job, checkpoint, stored, query, epoch, here)}
    return tuple(sorted(holding | {name for name, one in outlets.items() if may_hold_part(one.sink)}))


def _files(folder: Path) -> ports.Sink:
    return ports.sink_class("files").from_options({"path": str(folder), "format": "json"})


def _holding(job: SparkJob, checkpoint: Checkpoint, stored: Stored, query: str, epoch: int, here: Mapping[str, Outlet]) -> Iterator[Outlet]:
    """Yield the sinks whose mark is of the epoch, at their current or previous places."""
    identity = checkpoint.history(query).of(epoch)
    for one in (*here.values(), *_before(stored, query, here)):
        try:
            with at(one.node):
                mark = one.sink.mark(one.context(job, checkpoint, query))
        except HeadraceError:
            if one.name in here:
                raise
            continue  # it is gone, and a place that cannot be read any more is not written any more
        if mark is not None and mark.epoch == epoch and mark.agrees(identity):
            yield one


def _before(stored: Stored, query: str, here: Mapping[str, Outlet]) -> Iterator[Outlet]:
    """Yield the sinks of the previous version that are gone, or have other options now."""
    nodes = {node["name"]: node for node in stored.plan["nodes"]}
    known = next((one.live() for one in stored.identity.queries if one.name == query), {})
    for name, entry in known.items():
        node, now = nodes.get(name), here.get(name)
        if entry.shape.kind != SINK or node is None:
            continue
        if now is None:
            with suppress(HeadraceError):  # its connector may no longer be installed
                yield Outlet(name, restored_sink(node["connector"], node["options"]), Struct(()), node["mode"], home=entry.home)
        elif json.loads(json.dumps(options_of(now.sink))) != node["options"]:
            yield replace(now, sink=restored_sink(node["connector"], node["options"]))
