"""Cuts a plan into queries and levels.

A query is a connected part of the plan with one clock: sinks with different clocks are in different queries. Within a query an operator is
at the earliest level that its inputs allow, so only its own upstream decides where its state is stored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from headrace.errors import HeadraceError
from headrace.ops import Lookup, Sink, Source, lookups_of, sinks_of, sources_of, stateful_of
from headrace.ops.facts.clock import NONE, Clock
from headrace.ops.relational import Stateful
from headrace.plan import Node, Plan, Role
from headrace.plan.walk import order


@dataclass(frozen=True)
class Query:
    """A part of the plan that runs as one Spark query; `levels[i]` are the operators of level i + 1.

    `lookups[i]` are the lookups after level i (0: before the first), in rounds: lookups of one round do not need each other's rows.
    `final`: the end of bounded input brings its time to an end, which cannot be undone.
    """

    name: str
    clock: str
    sources: tuple[Source, ...]
    levels: tuple[tuple[Stateful, ...], ...]
    sinks: tuple[Sink, ...]
    lookups: tuple[tuple[tuple[Lookup, ...], ...], ...] = ()
    final: bool = False

    @property
    def looked_up(self) -> tuple[Lookup, ...]:
        return tuple(node for rounds in self.lookups for nodes in rounds for node in nodes)

    @property
    def operators(self) -> tuple[Stateful, ...]:
        return tuple(node for level in self.levels for node in level)

    def level(self, name: str) -> int:
        return next(number for number, level in enumerate(self.levels, 1) if name in {node.name for node in level})


def cut(plan: Plan, clocks: Mapping[str, Clock], timed: Collection[str] = ()) -> tuple[Query, ...]:
    """Cut a plan into queries; `clocks` has the clock of each stateful node.

    Rows that `timed` nodes give the time of their epoch go with the operators of processing time, so that all see the same time. Nodes that
    no sink reads are in no query.
    """
    sinks = [plan.nodes[name] for name in plan.sinks]
    upstream = {sink: order([sink]) for sink in sinks}
    times = {sink: _clock(sink, nodes, clocks) for sink, nodes in upstream.items()}
    other = "processing" if "processing" in times.values() else "event"
    for sink, nodes in upstream.items():
        if times[sink] == NONE:
            times[sink] = other if any(node.name in timed for node in nodes) else "event"
    queries: list[Query] = []
    for clock in ("event", "processing"):
        for group in _connected([sink for sink in sinks if times[sink] == clock], upstream):
            nodes = order(group)
            queries.append(_query(_name(group, queries), clock, nodes, group, clocks))
    _share_no_state(queries)
    return tuple(queries)


def _clock(sink: Node, nodes: Sequence[Node], clocks: Mapping[str, Clock]) -> str:
    """Return the clock of the operators that a sink reads. Operators without a clock go with the others."""
    kept: dict[str, Node] = {}
    for node in nodes:
        if node.role is Role.STATEFUL and clocks[str(node.name)].name != NONE:
            kept.setdefault(clocks[str(node.name)].name, node)
    if len(kept) == 2:
        _refuse_mixed(sink, kept["event"], kept["processing"])
    return next(iter(kept), NONE)


def _refuse_mixed(sink: Node, event: Node, processing: Node) -> None:
    if event in order([processing]):
        why = f"{processing.name} uses processing time and is downstream of {event.name}, which uses event time"
    elif processing in order([event]):
        why = f"{event.name} uses event time and is downstream of {processing.name}, which uses processing time"
    else:
        why = f"{sink.name} receives rows of {event.name}, which uses event time, and of {processing.name}, which uses processing time"
    raise HeadraceError(
        "CLOCKS_MIXED",
        f"{why}; one Spark query has one clock",
        hint='use one clock, or write the first result to files and read them in a second job; clock="event" is the default',
        site=processing.site,
    )


def _connected(sinks: Sequence[Node], upstream: Mapping[Node, Iterable[Node]]) -> list[tuple[Node, ...]]:
    """Return the groups of sinks that share anything upstream, in the order of the job."""
    groups: list[tuple[list[Node], set[Node]]] = []
    for sink in sinks:
        members, nodes = [sink], set(upstream[sink])
        apart: list[tuple[list[Node], set[Node]]] = []
        for group in groups:
            if group[1] & nodes:
                members, nodes = [*group[0], *members], nodes | group[1]
            else:
                apart.append(group)
        groups = [*apart, (members, nodes)]
    places = {sink: place for place, sink in enumerate(sinks)}
    connected = [tuple(sorted(members, key=lambda sink: places[sink])) for members, _ in groups]
    return sorted(connected, key=lambda group: places[group[0]])


def _name(group: Sequence[Node], before: Sequence[Query]) -> str:
    """Return the folder of a query: `main` for the first, else the name of its first sink."""
    if not before:
        return "main"
    taken = {query.name for query in before}
    plain = "".join(c if c.isalnum() or c in "_-." else "_" for c in str(group[0].name)).lstrip(".") or "query"
    name, number = plain, 2
    while name in taken:
        name, number = f"{plain}_{number}", number + 1
    return name


def _query(name: str, clock: str, nodes: Sequence[Node], sinks: Sequence[Node], clocks: Mapping[str, Clock]) -> Query:
    at: dict[Node, int] = {}
    for node in nodes:
        before = max((at[one] for one in node.inputs), default=0)
        at[node] = before + 1 if node.role is Role.STATEFUL else before
    stateful = stateful_of(nodes)
    depth = max((at[node] for node in stateful), default=0)
    levels = tuple(tuple(node for node in stateful if at[node] == number) for number in range(1, depth + 1))
    sources = sources_of(nodes)
    lookups = _rounds(nodes, at, depth)
    kept = [clocks[str(node.name)] for node in stateful if clocks[str(node.name)].name != NONE]
    # Spark fixes a level's clock with its first epoch. If there is a watermark, a program without timers may get some later.
    waits = kept or (stateful and any(source.watermark is not None for source in sources))
    final = any(one.final for one in kept)
    return Query(name, clock if waits else NONE, sources, levels, sinks_of(sinks), lookups, final=final)


def _rounds(nodes: Sequence[Node], at: Mapping[Node, int], depth: int) -> tuple[tuple[tuple[Lookup, ...], ...], ...]:
    """Return the lookups after each level, in rounds."""
    before: dict[Node, int] = {}
    for node in nodes:
        rounds = [before[one] + (one.role is Role.LOOKUP) for one in node.inputs if at[one] == at[node]]
        before[node] = max(rounds, default=0)
    lookups = lookups_of(nodes)
    last = [max((before[node] + 1 for node in lookups if at[node] == level), default=0) for level in range(depth + 1)]
    return tuple(
        tuple(tuple(node for node in lookups if (at[node], before[node]) == (level, number)) for number in range(last[level]))
        for level in range(depth + 1)
    )


def _share_no_state(queries: Sequence[Query]) -> None:
    """Refuse an operator without a clock that feeds both clocks: it would keep its state twice."""
    seen: dict[Node, Query] = {}
    for query in queries:
        for node in query.operators:
            if node in seen:
                raise HeadraceError(
                    "CLOCKS_MIXED",
                    f"{node.name} feeds operators of event time and of processing time, which run as two Spark queries",
                    hint="write its result to files and read them in a second job, or use timers of one clock",
                    site=node.site,
                )
            seen[node] = query
