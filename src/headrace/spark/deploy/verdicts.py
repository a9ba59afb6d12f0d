"""What becomes of each part of a job in its new version, and the work of the kernel on its state."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from headrace.errors import HeadraceError
from headrace.ops import sources_of
from headrace.plan import DisplayNames, Plan, order
from headrace.plan.codec import without_sites
from headrace.spark.checkpoint.folder import Stored
from headrace.spark.checkpoint.record import Totals
from headrace.spark.compile.identity import CLOCKS, DEAD_LETTERS, Entry, Identity, QueryIdentity
from headrace.spark.compile.relocation import Relocated, Relocation
from headrace.spark.compile.shapes import SINK
from headrace.spark.deploy.deployment import (
    CORRECTED,
    DROPPED,
    EVOLVED,
    FROM_NOW,
    KEPT,
    MOVED,
    NEW,
    REBUILT,
    REFUSED,
    REPLACED,
    WAITS,
    Verdict,
)
from headrace.spark.deploy.rebuild import Rebuild
from headrace.spark.deploy.rewrite import Rewrite, rewrites
from headrace.spark.deploy.stores import Counts

Nodes = Mapping[str, Mapping[str, Any]]
"""The nodes of a plan as JSON, by name."""

_LONGEST = 100
"""The most characters of a field in a reason."""

Rewrites = Mapping[str, Sequence[Rewrite]]
"""The rewrites of each query, by its name in the checkpoint."""


def rewrites_of(relocation: Relocation) -> Rewrites:
    """Return what has to be converted in each query."""
    before = relocation.before
    return {query.name: rewrites(before, relocation.identity, query) for query in before.queries}


def nodes_of(plan: Mapping[str, Any]) -> Nodes:
    """Return the nodes of a plan as JSON, without the places in the user's code."""
    return {node["name"]: node for node in without_sites(json.loads(json.dumps(plan)))["nodes"]}


def verdicts(
    stored: Stored,
    totals: Mapping[str, Totals],
    plan: Plan,
    relocation: Relocation,
    rewrites: Rewrites,
    rebuild: Rebuild,
    partitions: int,
) -> tuple[Verdict, ...]:
    """Return the verdicts on sources, operators and sinks of a plan. `totals`: the counts of the stored queries."""
    identity, before = stored.identity, stored.partitions
    nodes = [nodes_of(one) for one in (stored.plan, plan.to_json())]
    was = {source for query in identity.queries for source in query.sources if source in nodes[0]}
    now = {source for one in relocation.queries.values() for source in one.identity.sources}
    sources = [Verdict("source", name, KEPT if name in was else NEW) for name in sorted(now)]
    sources += [Verdict("source", name, DROPPED) for name in sorted(was - now)]
    operators: list[Verdict] = []
    sinks: list[Verdict] = []
    for one in relocation.queries.values():
        changes = {rewrite.op: rewrite for rewrite in rewrites.get(one.identity.name, ())}
        for name, entry in one.identity.live().items():
            if entry.shape.keeps:
                fresh = _fresh(name, totals, plan, relocation, rebuild, nodes)
                operators.append(fresh or _operator(entry, one, identity, changes.get(entry.op), before, partitions))
            elif entry.shape.kind == SINK and name != DEAD_LETTERS:
                sinks.append(_changed(_sink(entry, one, identity), rebuild))
    known = [entry for query in identity.queries for entry in query.live().values()]
    here = {entry.op for one in relocation.queries.values() for entry in one.identity.live().values()}
    # a query that was left out before is known, but not a part of the stored version
    gone = [
        entry
        for entry in known
        if entry.op not in here and entry.shape.name in nodes[0].keys() - relocation.errors.keys() - rebuild.operators
    ]
    operators += [Verdict("operator", entry.shape.name, DROPPED) for entry in gone if entry.shape.keeps]
    sinks += [Verdict("sink", entry.shape.name, DROPPED) for entry in gone if entry.shape.kind == SINK and entry.shape.name != DEAD_LETTERS]
    return (*sources, *operators, *sinks)


def _fresh(
    name: str, totals: Mapping[str, Totals], plan: Plan, relocation: Relocation, rebuild: Rebuild, nodes: Sequence[Nodes]
) -> Verdict | None:
    """Return the verdict on an operator that keeps no state; None for others."""
    error = relocation.errors.get(name)
    objections = () if error is None else _objections(name, error, *nodes)
    if name in rebuild.operators:
        sources = sources_of(order([plan.nodes[name]]))
        read = sum(max((one.of_source(str(source.name), "read") for one in totals.values()), default=0) for source in sources)
        known = name in nodes[0]
        return Verdict("operator", name, REBUILT if known else NEW, objections, read=read)
    if error is not None:
        return Verdict("operator", name, REFUSED, objections)
    if name in rebuild.empty:
        return Verdict("operator", name, NEW, (f"it begins empty: {rebuild.empty[name]}",))
    return None


def _changed(verdict: Verdict, rebuild: Rebuild) -> Verdict:
    """Return the verdict on a sink, which may get rows that are computed differently."""
    how = rebuild.sinks.get(verdict.name)
    if how == FROM_NOW:
        return replace(verdict, reasons=(*verdict.reasons, "it gets rows of this version from now on"))
    reasons = (*verdict.reasons, *([WAITS] if verdict.name in rebuild.waiting else []))
    if how is None or verdict.verdict == NEW:
        return verdict
    return replace(verdict, verdict=REPLACED if verdict.name in rebuild.replaced else CORRECTED, reasons=reasons)


def _objections(name: str, error: HeadraceError, before: Nodes, now: Nodes) -> tuple[str, ...]:
    """Return what an error says of an operator, and how its definition differs from the stored one."""
    objection = error.message.removesuffix(", but the checkpoint holds state of the earlier version").removeprefix(f"{name} ")
    was, is_now = before.get(name, {}), now.get(name, {})
    other = [field for field in is_now if field in was and field not in ("name", "inputs") and was[field] != is_now[field]]
    return (objection, *(f"{field} is {_short(is_now[field])} instead of {_short(was[field])}" for field in other))


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def counted(all: Sequence[Verdict], counts: Counts) -> tuple[Verdict, ...]:
    """Return verdicts with the sizes of the state that was written, and the rows with which sinks were corrected."""
    return tuple(replace(one, **counts.get(one.name, {})) if one.part != "source" else one for one in all)  # type: ignore[arg-type]  # numbers


def displayed(all: Sequence[Verdict], plans: Sequence[DisplayNames]) -> tuple[Verdict, ...]:
    """Return verdicts with display names: those of the first plan that has some for a part."""
    verdicts = tuple(all)
    for shown in plans:
        verdicts = tuple(replace(one, name=shown(one.name), reasons=tuple(map(shown.text, one.reasons))) for one in verdicts)
    return verdicts


def _known(entry: Entry, one: Relocated) -> bool:
    return one.before is not None and any(other.op == entry.op for other in one.before.entries)


def _sink(entry: Entry, one: Relocated, stored: Identity) -> Verdict:
    name = entry.shape.name
    if not _known(entry, one):
        return Verdict("sink", name, NEW)
    was, _ = _stored(entry, stored)
    moves = () if was.name == one.identity.name else (f"query {one.identity.name} instead of {was.name}",)
    return Verdict("sink", name, MOVED if moves else KEPT, moves)


def _stored(entry: Entry, stored: Identity) -> tuple[QueryIdentity, Entry]:
    """Return the stored query and entry of an operator or sink."""
    return next((old, known) for old in stored.queries for known in old.entries if known.op == entry.op)


def _operator(entry: Entry, one: Relocated, stored: Identity, change: Rewrite | None, before: int, partitions: int) -> Verdict:
    name = entry.shape.name
    if not _known(entry, one):
        return Verdict("operator", name, NEW)
    moves = tuple(_moves(entry, one.identity, stored, before, partitions))
    evolves = () if change is None else (*change.rewritten, *change.projected)
    return Verdict("operator", name, EVOLVED if evolves else MOVED if moves else KEPT, (*evolves, *moves))


def _moves(entry: Entry, query: QueryIdentity, stored: Identity, before: int, partitions: int) -> Iterator[str]:
    was, known = _stored(entry, stored)
    if was.name != query.name:
        yield f"query {query.name} instead of {was.name}"
    if was.clock != query.clock:
        yield f"its query has {CLOCKS[query.clock]} instead of {CLOCKS[was.clock]}"
    if known.shape.level != entry.shape.level:
        yield f"level {entry.shape.level} instead of {known.shape.level}"
    if before != partitions:
        yield f"{partitions} partition{'s' if partitions > 1 else ''} instead of {before}"
