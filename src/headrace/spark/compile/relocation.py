"""Relocation: the operators and sinks of a new version of a job, found in the queries of a checkpoint wherever they lie.

A start keeps queries and levels as they are, since a store belongs to a level of a query (`identify`). A deploy writes the stores anew, so
an operator keeps its state wherever it lay, and a sink its past.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from headrace.errors import HeadraceError
from headrace.spark.compile.identity import (
    DEAD_LETTERS,
    Entry,
    Identity,
    Numbers,
    QueryIdentity,
    entered,
    followed,
    free_name,
    fresh_query,
    refuse,
)
from headrace.spark.compile.shapes import LOOKUP, SINK, QueryShape


@dataclass(frozen=True)
class Relocated:
    """A query of the new version. `before`: its stored parts as one query; None for a new query.

    `origins`: the stored queries that these parts come from, first the one whose name it keeps. `moved`: its operators were elsewhere,
    so its stores have to be written anew.
    """

    identity: QueryIdentity
    before: QueryIdentity | None = None
    origins: tuple[str, ...] = ()
    moved: bool = False


@dataclass(frozen=True)
class Relocation:
    """The queries of a new version, by their names in the job, and all that the checkpoint will know."""

    queries: dict[str, Relocated]
    identity: Identity
    gone: tuple[str, ...]
    """The stored queries whose parts other queries continue."""
    first_new: int
    """The first id of an operator or sink that is new."""
    errors: Mapping[str, HeadraceError]
    """Why an operator cannot read the state under its name; it counts as new."""

    @property
    def names(self) -> dict[str, str]:
        """The name in the checkpoint of each query of the job."""
        return {name: one.identity.name for name, one in self.queries.items()}

    @property
    def before(self) -> Identity:
        """What is stored, divided into the queries of the new version."""
        return Identity(tuple(one.before for one in self.queries.values() if one.before is not None), self.first_new)


def relocate(stored: Identity, queries: Sequence[QueryShape], shards: int = 0, anew: Collection[str] = ()) -> Relocation:
    """Find the operators and sinks of `queries` in the stored version, and number the new ones.

    `shards`: the number of groups among which operators without keys divide their rows, if the number of partitions changes. `anew`: the
    operators that are new although there is state of theirs.
    """
    numbers = Numbers(stored.next)
    claims = _origins(stored, queries)
    continued = _continued(queries, claims)
    kept = {query.name: query for query in stored.queries}
    errors: dict[str, HeadraceError] = {}
    relocated: dict[str, Relocated] = {}
    for query in queries:
        origins = claims[query.name]
        name = continued.get(query.name) or free_name(query.name, kept)
        kept.setdefault(name, QueryIdentity(name, (), 0, "none", ()))
        if not origins:
            relocated[query.name] = Relocated(fresh_query(query, name, numbers))
            continue
        first = tuple(sorted(origins, key=lambda one: one.name != name))
        elsewhere = {name for other in queries if other is not query for name in _parts(other)}
        before = _before(name, query, first, set(continued.values()), elsewhere)
        entries = _followed(before, query, numbers, errors, shards, anew)
        moved = len(origins) > 1 or origins[0].name != name or _lies_elsewhere(origins[0], entries, query, elsewhere)
        here = {entry.op for entry in entries}
        past = [replace(entry, retired=True) for entry in before.entries if entry.op not in here and not (moved and entry.shape.keeps)]
        entries = tuple(_at_home(entry, name, first) for entry in (*past, *entries))
        identity = QueryIdentity(name, query.sources, query.levels, query.clock, entries)
        relocated[query.name] = Relocated(identity, before, tuple(one.name for one in first), moved)
    taken = {one.identity.name for one in relocated.values()}
    gone = {origin for one in relocated.values() for origin in one.origins} - taken
    idle = [_left_out(query) for query in stored.queries if query.name not in taken | gone]
    whole = Identity((*(one.identity for one in relocated.values()), *idle), numbers.next)
    return Relocation(relocated, whole, tuple(sorted(gone)), stored.next, errors)


def _origins(stored: Identity, queries: Sequence[QueryShape]) -> dict[str, tuple[QueryIdentity, ...]]:
    """Return for each query the stored queries that have operators or sinks of it; else the one with its sources, if it is nobody's."""
    claims = {query.name: tuple(old for old in stored.queries if _shared(old, query)) for query in queries}
    claimed = {old.name for origins in claims.values() for old in origins}
    for query in queries:
        alike = [old for old in stored.queries if set(old.sources) == set(query.sources) and old.name not in claimed]
        if alike and not claims[query.name]:
            claims[query.name] = (alike[0],)
            claimed.add(alike[0].name)
    return claims


def _continued(queries: Iterable[QueryShape], claims: dict[str, tuple[QueryIdentity, ...]]) -> dict[str, str]:
    """Return for each query of the job the stored query that it continues, with the most of its parts: each is continued at most once."""
    pairs = [(len(_shared(old, query)), query.name, old.name) for query in queries for old in claims[query.name]]
    continued: dict[str, str] = {}
    for _, query, old in sorted(pairs, key=lambda pair: -pair[0]):
        if query not in continued and old not in continued.values():
            continued[query] = old
    return continued


def _parts(query: QueryShape) -> set[str]:
    """Return the names of a query's operators and sinks. Several queries may have one lookup."""
    return {shape.name for shape in query.shapes if shape.kind != LOOKUP} - {DEAD_LETTERS}


def _shared(old: QueryIdentity, query: QueryShape) -> set[str]:
    """Return the names of the parts of a query that a stored one has. A sink that was left out for a while comes back to its place."""
    known = {entry.shape.name for entry in old.entries if not entry.retired or entry.shape.kind == SINK}
    return _parts(query) & known


def _left_out(query: QueryIdentity) -> QueryIdentity:
    """Return a query of which nothing is left: what comes back starts with empty state."""
    entries = (replace(entry, retired=True) if entry.shape.keeps else entry for entry in query.entries)
    return replace(query, entries=tuple(entries))


def _before(
    name: str, query: QueryShape, origins: Sequence[QueryIdentity], continued: Collection[str], elsewhere: Collection[str]
) -> QueryIdentity:
    """Return what is stored of a query, as if it had been one. Removed parts stay with the query that keeps the name of theirs.

    `continued`: the stored queries that a query continues. `elsewhere`: the names of parts of other queries.
    """
    names = _parts(query)
    entries: list[Entry] = []
    for origin in origins:
        rest = origin.name == name or origin.name not in continued
        for entry in origin.entries:
            if entry.shape.name == DEAD_LETTERS or entry.shape.kind == LOOKUP:
                belongs = origin.name == name
            elif entry.retired or entry.shape.name not in names:
                belongs = rest and entry.shape.name not in elsewhere
            else:
                belongs = True
            entries += [entry] if belongs else []
    sources = tuple(dict.fromkeys(source for origin in origins for source in origin.sources))
    return QueryIdentity(name, sources, origins[0].levels, origins[0].clock, tuple(entries))


def _followed(
    before: QueryIdentity, query: QueryShape, numbers: Numbers, errors: dict[str, HeadraceError], shards: int, anew: Collection[str]
) -> tuple[Entry, ...]:
    """Return the entries of a query's operators and sinks, with the state of those that are stored and can be read."""
    live = before.live()
    entries: list[Entry] = []
    for shape in query.shapes:
        entry = live.get(shape.name)
        if entry is None or entry.shape.kind != shape.kind or shape.name in anew:
            entries.append(entered(shape, numbers))
            continue
        try:
            if entry.shape.clock == "event" != query.clock:
                raise refuse(f"{shape.name} no longer has timers, and no other part of its query uses event time", shape.site)
            kept = followed(entry, shape, offline=True)
            entries.append(replace(kept, shards=kept.shards or shards) if shape.keeps else kept)
        except HeadraceError as error:
            errors[shape.name] = error
            entries.append(entered(shape, numbers))
    return tuple(entries)


def _at_home(entry: Entry, name: str, origins: Sequence[QueryIdentity]) -> Entry:
    """Return the entry of a sink with the query that it began in."""
    if entry.shape.kind != SINK or entry.shape.name == DEAD_LETTERS:
        return entry
    same = [
        (one, origin.name) for origin in origins for one in origin.entries if (one.shape.kind, one.shape.name) == (SINK, entry.shape.name)
    ]
    # one that was left out for a while comes back to its place
    known, query = max(same, key=lambda place: (not place[0].retired, place[0].op), default=(entry, name))
    home = known.home or query
    return replace(entry, home="" if home == name else home)


def _lies_elsewhere(old: QueryIdentity, new: Iterable[Entry], query: QueryShape, elsewhere: Collection[str]) -> bool:
    """Return whether a query cannot go on in its folder: it has other sources, another clock, other levels, or state that moves."""
    if (set(old.sources), old.levels) != (set(query.sources), query.levels) or (old.levels and old.clock != query.clock):
        return True
    if any(name in elsewhere for name, entry in old.live().items() if entry.shape.keeps):
        return True
    levels = {entry.op: entry.shape.level for entry in old.entries}
    return any(entry.shape.level != levels.get(entry.op, entry.shape.level) for entry in new)
