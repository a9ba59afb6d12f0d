"""What becomes of each part of a job in its new version, and the work of the kernel on its state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from headrace.errors import HeadraceError
from headrace.plan import DisplayNames
from headrace.spark.compile.identity import DEAD_LETTERS, Entry, Identity, QueryIdentity
from headrace.spark.compile.relocation import Relocated, Relocation
from headrace.spark.compile.shapes import SINK
from headrace.spark.deploy.deployment import DROPPED, EVOLVED, KEPT, MOVED, NEW, REFUSED, Verdict
from headrace.spark.deploy.rewrite import Rewrite, rewrites
from headrace.spark.deploy.stores import Counts

Rewrites = Mapping[str, Sequence[Rewrite]]
"""The rewrites of each query, by its name in the checkpoint."""


def rewrites_of(relocation: Relocation) -> Rewrites:
    """Return what has to be converted in each query."""
    before = relocation.before
    return {query.name: rewrites(before, relocation.identity, query) for query in before.queries}


def verdicts(stored: Identity, relocation: Relocation, rewrites: Rewrites, before: int, partitions: int) -> tuple[Verdict, ...]:
    """Return the verdicts on sources, operators and sinks. `before` and `partitions`: the numbers of partitions."""
    was = {source for query in stored.queries for source in query.sources}
    now = {source for one in relocation.queries.values() for source in one.identity.sources}
    sources = [Verdict("source", name, KEPT if name in was else NEW) for name in sorted(now)]
    sources += [Verdict("source", name, DROPPED) for name in sorted(was - now)]
    operators: list[Verdict] = []
    sinks: list[Verdict] = []
    for one in relocation.queries.values():
        changes = {rewrite.op: rewrite for rewrite in rewrites.get(one.identity.name, ())}
        for entry in one.identity.live().values():
            if entry.shape.keeps:
                error = relocation.errors.get(entry.shape.name)
                refused = None if error is None else Verdict("operator", entry.shape.name, REFUSED, (objection(error),))
                operators.append(refused or _operator(entry, one, stored, changes.get(entry.op), before, partitions))
            elif entry.shape.kind == SINK and entry.shape.name != DEAD_LETTERS:
                sinks.append(Verdict("sink", entry.shape.name, KEPT if _known(entry, one) else NEW))
    known = [entry for query in stored.queries for entry in query.live().values()]
    here = {entry.op for one in relocation.queries.values() for entry in one.identity.live().values()}
    gone = [entry for entry in known if entry.op not in here and entry.shape.name not in relocation.errors]
    operators += [Verdict("operator", entry.shape.name, DROPPED) for entry in gone if entry.shape.keeps]
    sinks += [Verdict("sink", entry.shape.name, DROPPED) for entry in gone if entry.shape.kind == SINK and entry.shape.name != DEAD_LETTERS]
    return (*sources, *operators, *sinks)


def objection(error: HeadraceError) -> str:
    """Return what an error says, without what it says of the checkpoint."""
    return error.message.removesuffix(", but the checkpoint holds state of the earlier version")


def counted(all: Sequence[Verdict], counts: Counts, shown: DisplayNames) -> tuple[Verdict, ...]:
    """Return verdicts with the sizes of the state that was written, and display names."""
    sized = (replace(one, **counts.get(one.name, {})) if one.part == "operator" else one for one in all)  # type: ignore[arg-type]  # numbers
    return tuple(replace(one, name=shown(one.name), reasons=tuple(map(shown.text, one.reasons))) for one in sized)


def _known(entry: Entry, one: Relocated) -> bool:
    return one.before is not None and any(other.op == entry.op for other in one.before.entries)


def _operator(entry: Entry, one: Relocated, stored: Identity, change: Rewrite | None, before: int, partitions: int) -> Verdict:
    name = entry.shape.name
    if not _known(entry, one):
        return Verdict("operator", name, NEW)
    moves = tuple(_moves(entry, one.identity, stored, before, partitions))
    evolves = () if change is None else (*change.rewritten, *change.projected)
    return Verdict("operator", name, EVOLVED if evolves else MOVED if moves else KEPT, (*evolves, *moves))


def _moves(entry: Entry, query: QueryIdentity, stored: Identity, before: int, partitions: int) -> Iterator[str]:
    was = next((old, known) for old in stored.queries for known in old.entries if known.op == entry.op)
    if was[0].name != query.name:
        yield f"query {query.name} instead of {was[0].name}"
    if was[1].shape.level != entry.shape.level:
        yield f"level {entry.shape.level} instead of {was[1].shape.level}"
    if before != partitions:
        yield f"{partitions} partition{'s' if partitions > 1 else ''} instead of {before}"
