"""Forerunners: the sinks of earlier versions of a job, as its checkpoint knows them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from headrace.durable.marks import Mark
from headrace.errors import HeadraceError
from headrace.ops import Sink
from headrace.ops.sink import restored_sink
from headrace.spark.checkpoint.folder import Stored
from headrace.spark.checkpoint.forms import Form, stored_form
from headrace.spark.checkpoint.record import Totals, place_of
from headrace.spark.compile.identity import DEAD_LETTERS, Entry, QueryIdentity
from headrace.spark.compile.shapes import SINK


@dataclass(frozen=True)
class Forerunner:
    """A sink as the checkpoint knows it: its query, its place, the last epoch with rows (-1 for none), and the form of these rows."""

    query: QueryIdentity
    entry: Entry
    place: str
    epoch: int
    form: Form

    @property
    def name(self) -> str:
        return self.entry.shape.name


def forerunner_of(sink: Sink, known: Iterable[Forerunner], sinks: Collection[str]) -> Forerunner | None:
    """Return the checkpoint's entry of a sink: the last to write to its place, under its name or one that is gone; else
    one with its name.
    """
    place = place_of(sink.connect())
    same = [one for one in known if one.name == sink.name]
    here = [one for one in known if one.place == place and (one.name == sink.name or one.name not in sinks)]
    return max(here or same, key=lambda one: (not one.entry.retired, one.epoch), default=None)


def moved_along(
    sink: Sink, forerunner: Forerunner | None, known: Iterable[Forerunner], mark: Callable[[str], Mark | None]
) -> Forerunner | None:
    """Return the forerunner of a sink, at the sink's place if everything written was moved there, as the mark at that place shows."""
    place = place_of(sink.connect())
    if forerunner is None or forerunner.place in ("", place) or any(one.place == place and one.name != sink.name for one in known):
        return forerunner
    held = mark(str(sink.name))
    whole = held is not None and held.epoch >= (0 if held.fades else max(forerunner.epoch, 0))
    return replace(forerunner, place=place) if whole else forerunner


def forerunners(stored: Stored, totals: Mapping[str, Totals]) -> Iterator[Forerunner]:
    nodes = {node["name"]: node for node in stored.plan["nodes"]}
    for query in stored.identity.queries:
        written = totals[query.name].written
        for entry in query.entries:
            name = entry.shape.name
            if entry.shape.kind != SINK or name == DEAD_LETTERS:
                continue
            if name in written:
                one = written[name]
                yield Forerunner(query, entry, one.place, one.epoch, one.form or stored_form(nodes.get(name)))
            else:
                yield Forerunner(query, entry, _place(nodes.get(name)), -1, {})


def _place(node: Mapping[str, Any] | None) -> str:
    """Return the place where a sink of a stored plan writes; empty if that is no longer known."""
    with suppress(HeadraceError, KeyError):  # its connector may not be installed here
        return "" if node is None else place_of(restored_sink(node["connector"], node["options"]))
    return ""
