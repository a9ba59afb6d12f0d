"""What a new version of a job has to rebuild from the history of its sources: operators without usable state, and rows in sinks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from headrace.durable.marks import Mark
from headrace.errors import HeadraceError
from headrace.ops import Sink, groups, lookups_of, sources_of
from headrace.ops.dedupe import forgets_keys_after
from headrace.ops.facts.carried import PROCESSING
from headrace.ops.facts.closing import Group
from headrace.ops.operator import Operator, operator
from headrace.ops.relational import stateful
from headrace.plan import Node, Plan, Role, order
from headrace.schema import Array, Map, Struct
from headrace.spark.checkpoint.forerunner import Forerunner, forerunner_of, moved_along
from headrace.spark.checkpoint.readings import reread
from headrace.spark.checkpoint.record import Totals, place_of
from headrace.spark.compile.job import SparkJob
from headrace.spark.compile.origin import ways
from headrace.spark.compile.relocation import Relocated, Relocation
from headrace.spark.compile.shapes import PROGRAM, Shape
from headrace.spark.deploy.deployment import CHOICES, FROM_NOW, REPLACE, RETRACT
from headrace.spelling import suggestion

_KEEP = "nothing was changed: continue with the version that wrote the checkpoint; or start over with fresh=True"


@dataclass(frozen=True)
class Rebuild:
    """`operators`: those that are filled from history. `sinks`: those with other rows, and what becomes of each, one of `CHOICES`.
    `filled`: those of them that hold no rows of an earlier version. `unasked`: those that are corrected although the user did not say so.
    `empty`: operators that begin empty, and why. `waiting`: the sinks that are as before, and did not get their last correction.
    """

    operators: frozenset[str] = frozenset()
    sinks: Mapping[str, str] = field(default_factory=dict)
    filled: frozenset[str] = frozenset()
    empty: Mapping[str, str] = field(default_factory=dict)
    unasked: frozenset[str] = frozenset()
    waiting: frozenset[str] = frozenset()
    errors: tuple[HeadraceError, ...] = ()

    @property
    def corrected(self) -> frozenset[str]:
        """The sinks that get rows computed from the history: the difference, or all."""
        return frozenset(name for name, how in self.sinks.items() if how != FROM_NOW)

    @property
    def replaced(self) -> frozenset[str]:
        """Those that hold these rows alone afterwards."""
        return frozenset(name for name, how in self.sinks.items() if how == REPLACE) - self.filled


@dataclass(frozen=True)
class Rebuilding:
    """The comparison that decides what is rebuilt. `before`: the stored plan; `totals`: the counts of its queries. `choices`: what becomes
    of sinks. `waiting`: the sinks to which corrections of an earlier deploy were not delivered; `whole`: those of them whose rows these
    replace.
    """

    job: SparkJob
    before: Mapping[str, Any]
    totals: Mapping[str, Totals]
    choices: Mapping[str, str]
    waiting: Collection[str]
    whole: Collection[str] = ()

    @cached_property
    def _reread(self) -> Mapping[str, str]:
        """The nodes whose rows are read in another way."""
        return reread(self.job.plan, self.before)

    @cached_property
    def _programs(self) -> frozenset[str]:
        """The programs, which take rows as they come; other operators are functions of their rows, whatever the order of these."""
        return programs_of(self.job)

    @cached_property
    def _closing(self) -> Mapping[Node, Group]:
        """The operators whose groups close."""
        return groups([self.job.plan.nodes[name] for name in self.job.plan.sinks])

    def _is_of_query(self, node: Node) -> bool:
        return node.role is Role.STATEFUL and str(node.name) not in self._programs

    def otherwise_fed(self) -> frozenset[str]:
        """Return the operators whose state is that of other rows than under their name before. The optimiser may filter the input of an
        operator of a query for one sink and not for another, and a source may be read in another way. A `dedupe` may have dropped repeats
        within another time.
        """
        stored, plan = Plan.from_json(self.before), self.job.plan
        was, now = ways(stored, stored), ways(plan, plan)
        other = {name for name, way in now.items() if was.get(name, way) != way} | self._reread.keys()
        within = {name: time for name, node in stored.nodes.items() if (time := _within(node)) is not None}
        dedupes = frozenset(name for name, time in within.items() if name in plan.nodes and _within(plan.nodes[name]) not in (None, time))
        return dedupes | frozenset(name for name in other if self._is_of_query(plan.nodes[name]))

    def mismatched(self, relocation: Relocation, known: Sequence[Forerunner], mark: Callable[[str], Mark | None]) -> frozenset[str]:
        """Return operators of queries with state that does not match what is rebuilt: those that an operator without state feeds; and those
        that feed an operator filled from history, or a sink that is corrected, and may send other rows in a rebuild, in which no row is
        late, and all are of one epoch. `known` and `mark`: as for `of`.
        """
        plan, fresh = self.job.plan, self._fresh(relocation)
        filled = (plan.nodes[name] for name in self._needed(fresh, known))
        changed = (sink for sink, past in self._changed(relocation, known, cache(mark)) if self._how(sink, past) in (RETRACT, REPLACE))
        ends = [node for node in (*filled, *changed) if obstacle(self.job, node) is None]
        other = {node for node in map(operator, order(ends)) if self._is_of_query(node) and self._depends_on_epochs(node, relocation)}
        reached: set[Node] = set()
        for name, node in plan.nodes.items():
            if name in fresh or node in other or (str(node.name) not in self._programs and any(one in reached for one in node.inputs)):
                reached.add(node)
        return frozenset(str(node.name) for node in reached if self._is_of_query(node)) - fresh

    def of(self, relocation: Relocation, known: Sequence[Forerunner], mark: Callable[[str], Mark | None]) -> Rebuild:
        """Return what a version has to rebuild. `known`: the sinks of the old version. `mark`: what a sink holds, None if it is unknown."""
        fresh, mark = self._fresh(relocation), cache(mark)
        needed = self._needed(fresh, known)
        sinks: dict[str, str] = {}
        filled: set[str] = set()
        errors: list[HeadraceError] = []
        for sink, past in self._changed(relocation, known, mark):
            name, how = str(sink.name), self._how(sink, past)
            if how is None:
                continue
            sinks[name] = how
            begun = past is not None and sink.connect().traits.lasting and not (_is_elsewhere(sink, past) and _is_empty(mark(name)))
            if not begun or (name in self.waiting and name not in self.whole and _only_adds(sink)):
                filled.add(name)
            if how != FROM_NOW:
                errors += _uncorrectable(self.job, sink, how, name in filled, explicit=name in self.choices)
            elif name not in filled and not _only_adds(sink):
                errors.append(_refused(sink, f"{name} takes changes, which would not match its rows of the earlier version"))
        nodes = self.job.plan.nodes
        empty = {name: why for name in needed if (why := obstacle(self.job, nodes[name])) is not None}
        stored = {name for one in relocation.queries.values() if one.before is not None for name in one.before.live()}
        errors += [_lost(nodes[name], why) for name, why in empty.items() if name in stored - relocation.errors.keys()]
        empty |= dict.fromkeys(fresh - needed, "so do its sinks")
        unasked = frozenset(name for name, how in sinks.items() if how == RETRACT and name not in self.choices and name not in filled)
        waiting = frozenset(self.waiting) & sinks.keys() - frozenset(
            str(sink.name) for sink, past in self._changed(relocation, known, mark, waiting=False) if past is not None
        )
        return Rebuild(frozenset(needed - empty.keys()), sinks, frozenset(filled), empty, unasked, waiting, tuple(errors))

    def _fresh(self, relocation: Relocation) -> frozenset[str]:
        """Return the operators without state in queries that have read something."""
        return frozenset(
            name
            for one in relocation.queries.values()
            if self._has_read(one)
            for name, entry in one.identity.live().items()
            if entry.shape.keeps and entry.op >= relocation.first_new and operator(self.job.plan.nodes[name]).keeps
        )

    def _has_read(self, one: Relocated) -> bool:
        return any(self.totals[origin].epoch >= 0 for origin in one.origins)

    def _needed(self, fresh: Collection[str], known: Sequence[Forerunner]) -> frozenset[str]:
        """Return those of the operators without state that need the rows read so far: not those of new sinks that begin now."""
        sinks = [sink for query in self.job.queries for sink in query.sinks]
        past = {sink: forerunner_of(sink, known, self.job.plan.sinks) for sink in sinks}
        ends = [sink for sink in sinks if past[sink] is not None or self.choices.get(str(sink.name)) != FROM_NOW]
        return frozenset(str(node.name) for node in order(ends)) & frozenset(fresh)

    def _changed(
        self, relocation: Relocation, known: Sequence[Forerunner], mark: Callable[[str], Mark | None], *, waiting: bool = True
    ) -> Iterator[tuple[Sink, Forerunner | None]]:
        """Yield the sinks that get other rows than those that they hold, and `waiting` ones, with their forerunners."""
        fresh = self._fresh(relocation)
        for query in self.job.queries:
            one = relocation.queries[query.name]
            for sink in query.sinks if self._has_read(one) else ():
                past = moved_along(sink, forerunner_of(sink, known, self.job.plan.sinks), known, mark)
                shape = one.identity.live()[str(sink.name)].shape
                if (
                    past is None
                    or (waiting and sink.name in self.waiting)
                    or _differs(sink, past, shape, fresh, self._reread, self._programs)
                ):
                    yield sink, past

    def _how(self, sink: Sink, past: Forerunner | None) -> str | None:
        """Return what becomes of a sink with other rows; None if it only shows the output of a run."""
        choice = self.choices.get(str(sink.name))
        shows = past is not None and not sink.connect().traits.lasting and _only_adds(sink) and sink.name not in self.waiting
        return choice or (REPLACE if sink.name in self.whole else None if shows else RETRACT)

    def _depends_on_epochs(self, node: Operator, relocation: Relocation) -> bool:
        """Return whether the rows that an operator has sent may depend on the cut into epochs."""
        ops = {one.identity.live()[name].op for one in relocation.queries.values() for name in one.identity.live() if name == node.name}
        lost = any(one.of_operators(ops, kind) for one in self.totals.values() for kind in ("late", "dead"))
        group = self._closing.get(node)
        early = group is not None and bool(group.early_ms)
        return lost or early or bool(node.caveat) or node.forgets_after is not None


def _within(node: Node) -> int | None:
    return forgets_keys_after(stateful(node)) if node.role is Role.STATEFUL else None


def programs_of(job: SparkJob) -> frozenset[str]:
    """Return the names of the programs of a job."""
    return frozenset(shape.name for query in job.shapes for shape in query.shapes if shape.kind == PROGRAM)


def _differs(
    sink: Sink, past: Forerunner, shape: Shape, fresh: Collection[str], other: Mapping[str, str], programs: Collection[str]
) -> bool:
    """Return whether the rows of a sink are not those of its forerunner."""
    if past.entry.retired or sink.name in other or not shape.reads_like(past.entry.shape):
        return True
    if _is_elsewhere(sink, past) and not _only_adds(sink):
        return True
    return any(str(node.name) in fresh for node in _up_to(sink, set(programs) - set(fresh)))


def _up_to(end: Node, programs: Collection[str]) -> list[Node]:
    """Return the nodes upstream of one, up to programs that keep their state: these take rows as they come, and send none again."""
    seen: dict[Node, None] = {}
    stack = list(end.inputs)
    while stack:
        node = stack.pop()
        if node not in seen:
            seen[node] = None
            stack += () if str(node.name) in programs else node.inputs
    return list(seen)


def _is_elsewhere(sink: Sink, past: Forerunner) -> bool:
    """Return whether a sink writes to another place than its forerunner."""
    return past.place not in ("", place_of(sink.connect()))


def _is_empty(held: Mark | None) -> bool:
    return held is None or held.epoch < 0


def _only_adds(sink: Sink) -> bool:
    """Return whether a sink cannot take back a row. Changes as rows are taken back by another row."""
    return sink.mode == "append" and not shows_changes(sink)


def shows_changes(sink: Sink) -> bool:
    """Return whether a sink gets each change as a row with the word for it."""
    return sink.mode == "append" and operator(sink.input).shows_changes


def obstacle(job: SparkJob, end: Node) -> str | None:
    """Return why the rows of a node cannot be computed again from the beginning, or None."""
    times, programs = job.clocks, programs_of(job)
    for node in order([end]):
        name = job.shown(str(node.name))
        for source in sources_of([node]):
            if not source.connect().traits.replayable:
                return f"{name} cannot be read again: {source.connect().traits.why}"
        if any(not lookup.repeatable for lookup in lookups_of([node])):
            return f"{name} cannot be asked again for its earlier answers"
        if node.name in programs and operator(node).caveat:
            return f"{name} handles rows as they arrive, and may get them in another order"
        if node.name in job.schemas.timed or (str(node.name) in times and times[str(node.name)].name == PROCESSING):
            return f"{name} goes by processing time"
    return None


def _uncorrectable(job: SparkJob, sink: Sink, how: str, filled: bool, *, explicit: bool) -> Iterator[HeadraceError]:
    """Yield the error for a sink that cannot get the rows of a version as `how` says. `explicit`: the user says so."""
    name, connected = str(sink.name), sink.connect()
    # one that replaces rows only because an earlier deploy was to, and has none here, is filled
    if how == REPLACE and (explicit or not filled) and (stays := connected.unswappable()) is not None:
        now, difference = "writes the rows of this version from now on", "corrects them by the difference"
        other, does = (FROM_NOW, now) if filled or _only_adds(sink) else (RETRACT, difference)
        hint = f'nothing was changed: on_change={{"{name}": "{other}"}} {does}; or write to another place'
        yield HeadraceError("CANNOT_REBUILD", f"the rows of {name} cannot be replaced: {stays}", hint=hint, site=sink.site)
        return
    if how == RETRACT and not filled and _only_adds(sink):
        if not explicit:
            hint = f'to keep its earlier rows and write those of this version from now on: on_change={{"{name}": "{FROM_NOW}"}}'
            if connected.unswappable() is None:
                hint = f'to replace its rows: on_change={{"{name}": "{REPLACE}"}}; {hint}'
            message = f"{name} gets other rows than before, and can only add rows"
            yield HeadraceError("SINK_ONLY_ADDS", message, hint=hint, site=sink.site)
        else:
            yield _refused(sink, f"{name} can only add rows, so none can be retracted")
        return
    why = obstacle(job, sink)
    if why is None and how == RETRACT and not filled:
        why = connected.uncomparable(sink.mode)
    if why is None:
        why = unordered(job.schemas.of[name])
    if why is not None and filled:
        hint = f'nothing was changed: on_change={{"{name}": "{FROM_NOW}"}} lets it, and the operators that only it needs, begin now'
        message = f"{name} is new, and the rows read before cannot be computed for it: {why}"
        yield HeadraceError("CANNOT_REBUILD", message, hint=hint, site=sink.site)
    elif why is not None:
        done = "replaced" if how == REPLACE else "corrected"
        yield _refused(sink, f"{name} gets other rows than before, and they cannot be {done}: {why}")


def unordered(schema: Struct) -> str | None:
    """Return why rows of these columns cannot be compared, or None."""
    return "rows with maps or variants cannot be compared" if _is_unordered(schema) else None


def _is_unordered(type: object) -> bool:
    if isinstance(type, Struct):
        return any(_is_unordered(field.type) for field in type.fields)
    return isinstance(type, Map) or (_is_unordered(type.element) if isinstance(type, Array) else str(type) == "variant")


def _lost(node: Node, why: str) -> HeadraceError:
    message = f"{node.name} has state that does not fit this version, and it cannot be made anew: {why}"
    return HeadraceError("CANNOT_REBUILD", message, hint=_KEEP, site=node.site)


def _refused(sink: Sink, message: str) -> HeadraceError:
    now = f'on_change={{"{sink.name}": "{FROM_NOW}"}} writes the rows of this version from now on'
    hint = now if _only_adds(sink) else _KEEP
    return HeadraceError("CANNOT_REBUILD", message, hint=hint, site=sink.site)


def chosen(job: SparkJob, on_change: Mapping[str, str]) -> dict[str, str]:
    """Return what a user says of sinks, by their names in the plan. Raises BAD_SETTING."""
    names = {job.shown(name): name for name in job.plan.sinks} | {name: name for name in job.plan.sinks}
    for name, how in on_change.items():
        if name not in names:
            hint = suggestion(name, names, f"the sinks are: {', '.join(map(job.shown, job.plan.sinks))}")
            raise HeadraceError("BAD_SETTING", f"on_change: the job has no sink {name}", hint=hint)
        if how not in CHOICES:
            raise HeadraceError("BAD_SETTING", f"on_change: {name} cannot be {how!r}", hint=f"it is one of: {', '.join(CHOICES)}")
    return {names[name]: how for name, how in on_change.items()}
