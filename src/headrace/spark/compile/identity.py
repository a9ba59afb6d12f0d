"""Identity: which operator of the job owns which state of the checkpoint.

State on disk is found by op id and level. A name gets an id once; ids are never reused and entries are never removed, so the state of a
removed operator is never mistaken for another's. A job that would misread state is refused before anything is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.durable.marks import readable
from headrace.errors import HeadraceError, Site
from headrace.plan.codec import typed
from headrace.plan.naming import spelled
from headrace.spark.compile import layout, rekey, reshape
from headrace.spark.compile.layout import Layout
from headrace.spark.compile.shapes import SINK, InputShape, QueryShape, Shape

# The sink for dead letters without a consumer; no node of a plan can have this name.
DEAD_LETTERS = "#dead_letters"

_TEXTS = tuple[str, ...]
# of a shape; empty if unknown
_HASHES = ("content", "origin", "way", "says")


def repaired_scan(source: str) -> str:
    """Return the name of the scan of a source's repaired rows; no source can have it."""
    return f"{source}#repaired"


def correction_scan(sink: str) -> str:
    """Return the name of the scan of a sink's correction; no source can have it."""
    return f"{sink}#correction"


@dataclass(frozen=True)
class Entry:
    """An operator or sink that this checkpoint has known. A retired one was removed; its name may return with a new id.

    `home`: the query that a sink was in when it began, if it has moved since. Its place knows it by that name. `shards`: the number of
    groups among which an operator without keys divides its rows, if it is not the number of partitions: what that was when it began.
    """

    op: int
    shape: Shape
    layouts: tuple[Layout, ...] = ()
    retired: bool = False
    home: str = ""
    shards: int = 0

    def to_json(self) -> dict[str, Any]:
        shape = self.shape
        value: dict[str, Any] = {"op": self.op, "name": shape.name, "kind": shape.kind, "retired": self.retired}
        if shape.keeps:
            value |= {"level": shape.level, "key": shape.key, "order": shape.order, "clock": shape.clock}
            value["inputs"] = {name: one.to_json() for name, one in shape.inputs.items()}
            value["layouts"] = [one.to_json() for one in self.layouts]
        if self.home:
            value["home"] = self.home
        if self.shards:
            value["shards"] = self.shards
        return value | {name: text for name in _HASHES if (text := getattr(shape, name))}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Entry:
        inputs = {name: InputShape.from_json(one) for name, one in value.get("inputs", {}).items()}
        shape = Shape(
            typed(value["name"], str),
            typed(value["kind"], str),
            typed(value.get("level", 0), int),
            typed(value.get("key", ""), str),
            typed(value.get("order", ""), str),
            typed(value.get("clock", "none"), str),
            inputs,
            **{name: typed(value.get(name, ""), str) for name in _HASHES},
        )
        layouts = tuple(Layout.from_json(one) for one in value.get("layouts", []))
        if shape.keeps and not layouts:
            raise ValueError(f"{shape.name} has no layout of its state")
        op, retired = typed(value["op"], int), typed(value["retired"], bool)
        return cls(op, shape, layouts, retired, typed(value.get("home", ""), str), typed(value.get("shards", 0), int))


@dataclass(frozen=True)
class QueryIdentity:
    """A query as the checkpoint knows it: its folder's name, sources, levels, clock and entries."""

    name: str
    sources: tuple[str, ...]
    levels: int
    clock: str
    entries: tuple[Entry, ...]

    def live(self) -> dict[str, Entry]:
        return {entry.shape.name: entry for entry in self.entries if not entry.retired}

    def retired(self, level: int) -> list[int]:
        """Return the ids of the operators that earlier versions of the job had at a level; rows they held may still be there."""
        return [entry.op for entry in self.entries if entry.retired and entry.shape.keeps and entry.shape.level == level]

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "sources": list(self.sources),
            "levels": self.levels,
            "clock": self.clock,
            "entries": [entry.to_json() for entry in self.entries],
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> QueryIdentity:
        entries = tuple(Entry.from_json(one) for one in value["entries"])
        sources, levels = typed(value["sources"], _TEXTS), typed(value["levels"], int)
        if value["clock"] not in CLOCKS:
            raise ValueError(f"a query has the clock {value['clock']!r}")
        return cls(spelled(value["name"]), sources, levels, value["clock"], entries)


@dataclass(frozen=True)
class Identity:
    """All that the checkpoint knows of the job's queries; `next` is the first unused id."""

    queries: tuple[QueryIdentity, ...] = ()
    next: int = 1

    def query(self, name: str) -> QueryIdentity:
        return next(query for query in self.queries if query.name == name)

    def to_json(self) -> dict[str, Any]:
        return {"next": self.next, "queries": [query.to_json() for query in self.queries]}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Identity:
        return cls(tuple(QueryIdentity.from_json(one) for one in value["queries"]), typed(value["next"], int))


_KEEP = "fresh=True starts over with an empty checkpoint; to keep the state, keep the earlier version of this part"


def refuse(what: str, site: Site | None = None, cure: str | None = None) -> HeadraceError:
    hint = f"{cure}; {_KEEP}" if cure else _KEEP
    return HeadraceError("STATE_CHANGED", f"{what}, but the checkpoint holds state of the earlier version", hint=hint, site=site)


class Numbers:
    """The ids that are given to new operators and sinks."""

    def __init__(self, first: int) -> None:
        self.next = first

    def take(self) -> int:
        self.next += 1
        return self.next - 1


def identify(stored: Identity, queries: Sequence[QueryShape]) -> tuple[Identity, dict[str, str]]:
    """Number every operator and sink, keeping the numbers of `stored`. Also returns the name of the folder in which each query continues.

    Everything that keeps the job from continuing is raised as one error.
    """
    numbers = Numbers(stored.next)
    errors: list[HeadraceError] = []
    names: dict[str, str] = {}
    kept: dict[str, QueryIdentity] = {query.name: query for query in stored.queries}
    taken: dict[str, str] = {}
    for query in queries:
        try:
            old = _counterpart(stored, query)
            if old is not None and old.name in taken:
                raise refuse(f"the query {old.name} was split in two")
            name = old.name if old is not None else free_name(query.name, kept)
            taken[name] = query.name
            kept[name] = _follow(old, query, name, numbers) if old is not None else fresh_query(query, name, numbers)
            _stay(stored, query, name)
            names[query.name] = name
        except HeadraceError as error:
            errors.extend([error, *error.also])
    if errors:
        raise together(errors)
    return Identity(tuple(kept.values()), numbers.next), names


def together(errors: Sequence[HeadraceError]) -> HeadraceError:
    """Return several errors as one."""
    first, *rest = errors
    return HeadraceError(first.code, first.message, hint=first.hint, site=first.site, also=rest)


def free_name(name: str, kept: dict[str, QueryIdentity]) -> str:
    number, free = 2, name
    while free in kept:
        free = f"{name}_{number}"
        number += 1
    return free


def _counterpart(stored: Identity, query: QueryShape) -> QueryIdentity | None:
    """Return the stored query that this one continues: the one with the same operators, else the same sources, else the same sinks."""
    programs = {shape.name for shape in query.shapes if shape.keeps}
    same = [old for old in stored.queries if programs & {n for n, entry in old.live().items() if entry.shape.keeps}]
    if len(same) > 1:
        raise refuse(f"the queries {' and '.join(old.name for old in same)} were merged")
    if same:
        return same[0]
    sinks = {shape.name for shape in _sinks(query)}
    alike = [old for old in stored.queries if set(old.sources) == set(query.sources)]
    # Some share only sinks: they are found so that the refusal can name what became of their sources.
    return next((old for old in (*alike, *stored.queries) if sinks & set(old.live())), alike[0] if len(alike) == 1 else None)


def _sinks(query: QueryShape) -> list[Shape]:
    """Return the sinks of the plan; every query has one more, for dead letters."""
    return [shape for shape in query.shapes if shape.kind == SINK and shape.name != DEAD_LETTERS]


def _stay(stored: Identity, query: QueryShape, name: str) -> None:
    """Refuse a sink that another query wrote: each query numbers its own epochs, so the sink would take new epochs for written ones."""
    for shape in _sinks(query):
        for other in stored.queries:
            known = {entry.shape.name for entry in other.entries if entry.shape.kind == SINK}
            if other.name != name and shape.name in known:
                raise refuse(
                    f"the sink {shape.name} was written by query {other.name} and would now be written by query {name}", shape.site
                )


def as_stored(shapes: Sequence[QueryShape], stored: Identity) -> tuple[QueryShape, ...]:
    """Return the shapes of a stored plan with the hashes stored with it: those are of the plan before the optimiser changed it."""
    known = {entry.shape.name: entry.shape for query in stored.queries for entry in query.entries if not entry.retired}

    def hashed(shape: Shape) -> Shape:
        return replace(shape, **{name: getattr(known[shape.name], name) for name in _HASHES}) if shape.name in known else shape

    return tuple(replace(query, shapes=tuple(map(hashed, query.shapes))) for query in shapes)


def fresh_query(query: QueryShape, name: str, numbers: Numbers) -> QueryIdentity:
    entries = tuple(entered(shape, numbers) for shape in query.shapes)
    return QueryIdentity(name, query.sources, query.levels, query.clock, entries)


def entered(shape: Shape, numbers: Numbers) -> Entry:
    return Entry(numbers.take(), shape, (layout.first(shape.cells),) if shape.keeps else ())


def _follow(old: QueryIdentity, query: QueryShape, name: str, numbers: Numbers) -> QueryIdentity:
    errors: list[HeadraceError] = []
    gone, come = sorted(set(old.sources) - set(query.sources)), sorted(set(query.sources) - set(old.sources))
    if gone or come:
        changed = [f"the source {one} is gone" for one in gone] + [f"the source {one} is new" for one in come]
        errors.append(refuse(f"{' and '.join(changed)} in query {name}"))
    if old.levels != query.levels:
        errors.append(_relevelled(old, query, name))
    elif old.levels and old.clock != query.clock:
        was, now = CLOCKS[old.clock], CLOCKS[query.clock]
        errors.append(refuse(f"query {name} had {was} and now has {now}"))
    live = old.live()
    homes = {entry.shape.name: entry.home for entry in old.entries if entry.home}
    entries: list[Entry] = []
    for shape in query.shapes:
        entry = live.pop(shape.name, None)
        if entry is None or entry.shape.kind != shape.kind:
            entries.append(replace(entered(shape, numbers), home=homes.get(shape.name, "")))
            continue
        try:
            if entry.shape.keeps and entry.shape.level != shape.level:
                raise refuse(f"{shape.name} moved from level {entry.shape.level} to level {shape.level}", shape.site)
            entries.append(followed(entry, shape))
        except HeadraceError as error:
            errors.append(error)
    if errors:
        raise together(errors)
    here = {entry.op for entry in entries}
    past = [replace(entry, retired=True) for entry in old.entries if entry.op not in here]
    return QueryIdentity(name, query.sources, query.levels, query.clock, (*past, *entries))


def _relevelled(old: QueryIdentity, query: QueryShape, name: str) -> HeadraceError:
    """Return the error for a query whose number of levels has changed: state is stored by level, from the first epoch on."""
    before = {one for one, entry in old.live().items() if entry.shape.keeps}
    now = {shape.name: shape.site for shape in query.shapes if shape.keeps}
    come, gone = sorted(now.keys() - before), sorted(before - now.keys())
    changes = [f"{readable(one)} is new" for one in come] + [f"{readable(one)} is gone" for one in gone]
    why = f": {' and '.join(changes)}" if changes else ""
    site = now[come[0]] if come else None
    if not old.levels:
        message = f"query {name} kept no state and now has operators with state{why}"
        return HeadraceError("STATE_CHANGED", message, hint=_KEEP, site=site)
    levels = f"{old.levels} level{'s' if old.levels > 1 else ''} of operators with state"
    return refuse(f"query {name} had {levels} and now has {query.levels or 'none'}{why}", site)


CLOCKS = {"none": "neither a watermark nor timers", "event": "a watermark", "processing": "timers of processing time"}
"""The clocks of a query, in words."""

# Changes that are refused while there is state, in the words of the error; each rule describes the change, or returns None.
_RULES: tuple[Callable[[Shape, Shape], str | None], ...] = (
    lambda old, new: _other_columns(old, new) or "computes something different" if not new.computes_like(old) else None,
    # A program takes rows as they come. Checkpoints of earlier versions have no origins.
    lambda old, new: "reads rows that are computed differently" if old.content and not new.reads_like(old) else None,
    lambda old, new: f'has order="{new.order}" instead of "{old.order}"' if old.order != new.order else None,
    lambda old, new: (
        f"{'has' if _clock(new) == 'processing' else 'no longer has'} timers of processing time" if _clock(old) != _clock(new) else None
    ),
)


def _other_columns(old: Shape, new: Shape) -> str | None:
    """Describe how the columns that an operator of a query reads have changed; its own text may be the same."""
    for name, before in old.inputs.items():
        difference = reshape.difference(before.schema, new.inputs[name].schema) if name in new.inputs else None
        if difference:
            return f"reads rows with other columns: {difference}"
    return None


def _clock(shape: Shape) -> str:
    return "processing" if shape.clock == "processing" else "event"


def followed(entry: Entry, shape: Shape, *, offline: bool = False) -> Entry:
    """Return the entry of an operator for its current version. Raises if that cannot read its state; if `offline`, not even converted."""
    return Entry(entry.op, shape, _layouts(entry, shape, offline), home=entry.home, shards=entry.shards)


def _layouts(entry: Entry, shape: Shape, offline: bool) -> tuple[Layout, ...]:
    old = entry.shape
    if not shape.keeps:
        return ()
    for rule in _RULES:
        objection = rule(old, shape)
        if objection:
            raise refuse(f"{shape.name} {objection}", shape.site)
    keys = key_columns(old, shape) if offline else None
    if keys is None and old.key != shape.key:
        raise refuse(f"{shape.name} is now keyed by {shape.key or 'nothing'} instead of {old.key or 'nothing'}", shape.site)
    for name, before in old.inputs.items():
        now = shape.inputs.get(name)
        if keys is None and now is not None and now.key != before.key:
            raise refuse(rekey.difference(shape.name, name, before.key, now.key), shape.site)
        if shape.order != "time":
            continue
        if now is None:
            raise refuse(f"{shape.name} no longer has the input {name}, whose rows it may hold", shape.site)
        if now.schema != before.schema and (keys is None or held_columns(before, now, keys) is None):
            raise refuse(
                f"{shape.name} may hold rows of its input {name}, which had the columns {before.schema} and now has {now.schema}",
                shape.site,
            )
        if now.time != before.time:
            raise refuse(f"the input {name} of {shape.name} takes its event time from elsewhere", shape.site)
    if shape.order == "time" and set(shape.inputs) != set(old.inputs):
        raise refuse(f"{shape.name} has the new input {', '.join(sorted(set(shape.inputs) - set(old.inputs)))}", shape.site)
    try:
        return layout.follow(entry.layouts, shape.cells, offline=offline)
    except layout.Unreadable as problem:
        raise refuse(f"in {shape.name}, {problem}", shape.site, problem.cure) from None


def key_columns(old: Shape, new: Shape) -> tuple[int, ...] | None:
    """Return the old place of each key column, if the keys of two versions are the same values (`rekey`)."""
    before, after = ({name: one.key for name, one in shape.inputs.items()} for shape in (old, new))
    return rekey.columns(old.key, new.key, before, after)


def held_columns(before: InputShape, now: InputShape, keys: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the old place of each column of an input, if held rows can be read in its new columns (`reshape`)."""
    return reshape.columns(before.schema, now.schema, rekey.renamed(before.key, now.key, keys))
