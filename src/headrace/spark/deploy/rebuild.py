"""What a new version of a job has to rebuild from the history of its sources: operators without usable state, and rows in sinks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from headrace.analysis.clocks import clocks
from headrace.durable.marks import Mark
from headrace.errors import HeadraceError
from headrace.ops import Lookup, Sink, Source, groups
from headrace.ops.changes import CHANGE, Changes
from headrace.ops.facts.carried import PROCESSING
from headrace.ops.ledger import Ledger
from headrace.ops.operator import Operator, operator
from headrace.ops.upserts import Upserts
from headrace.plan import Node, Plan, Role, order
from headrace.schema import Array, Map, Struct
from headrace.spark.checkpoint.forerunner import Forerunner, forerunner_of, moved_along
from headrace.spark.checkpoint.readings import reread
from headrace.spark.checkpoint.record import Totals, place_of
from headrace.spark.compile.job import SparkJob
from headrace.spark.compile.origin import ways
from headrace.spark.compile.relocation import Relocation
from headrace.spark.compile.shapes import Shape
from headrace.spark.deploy.deployment import CHOICES, FROM_NOW, RETRACT
from headrace.spelling import suggestion


@dataclass(frozen=True)
class Rebuild:
    """`operators`: those that are filled from history. `sinks`: those with other rows, and what becomes of each, one of `CHOICES`.
    `filled`: those of them that hold no rows of an earlier version. `unasked`: those that are corrected although the user did not say so.
    `empty`: operators that begin empty, and why.
    """

    operators: frozenset[str] = frozenset()
    sinks: Mapping[str, str] = field(default_factory=dict)
    filled: frozenset[str] = frozenset()
    empty: Mapping[str, str] = field(default_factory=dict)
    unasked: frozenset[str] = frozenset()
    errors: tuple[HeadraceError, ...] = ()

    @property
    def corrected(self) -> frozenset[str]:
        """The sinks that get the difference."""
        return frozenset(name for name, how in self.sinks.items() if how == RETRACT)


def otherwise_fed(job: SparkJob, before: Mapping[str, Any]) -> set[str]:
    """Return the operators of queries that get other rows than under their name before, in the stored plan `before`: the optimiser may
    filter their input for one sink and not for another, and a source may be read in another way.
    """
    stored = Plan.from_json(before)
    was, now = ways(stored, stored), ways(job.plan, job.plan)
    other = {name for name, way in now.items() if was.get(name, way) != way} | reread(job.plan, before).keys()
    return {name for name in other if _is_of_query(job.plan.nodes[name])}


def mismatched(
    job: SparkJob, relocation: Relocation, totals: Mapping[str, Totals], known: Iterable[Forerunner], choices: Mapping[str, str]
) -> frozenset[str]:
    """Return operators of queries whose state does not match that of operators without usable state: those that they feed; and those that
    feed an operator which is filled from history, and may send other rows in a rebuild, in which no row is late, and all are of one epoch.
    """
    fresh = {job.plan.nodes[name] for name in _fresh(job, relocation, totals)}
    filled = _needed(job, {str(node.name) for node in fresh}, list(known), choices)
    ends = [job.plan.nodes[name] for name in filled if _obstacle(job, job.plan.nodes[name]) is None]
    early = {node for node, group in groups([job.plan.nodes[name] for name in job.plan.sinks]).items() if group.early_ms}
    numbers = {name: entry.op for one in relocation.queries.values() for name, entry in one.identity.live().items()}

    def differs(node: Operator) -> bool:
        number = {numbers.get(str(node.name), 0)}
        lost = any(one.of_operators(number, kind) for one in totals.values() for kind in ("late", "dead"))
        return bool(node.caveat) or node.forgets_after is not None or node in early or lost

    other = {node for node in map(operator, order(ends)) if _is_of_query(node) and differs(node)}
    reached: set[Node] = set()
    for node in job.plan.nodes.values():
        if node in fresh | other or (not _is_program(node) and any(one in reached for one in node.inputs)):
            reached.add(node)
    return frozenset(str(node.name) for node in reached - fresh if _is_of_query(node))


def _needed(job: SparkJob, fresh: Collection[str], known: Sequence[Forerunner], choices: Mapping[str, str]) -> set[str]:
    """Return those of the operators without state that need the rows read so far: not those of new sinks that begin now."""
    needed: set[str] = set()
    for name in job.plan.sinks:
        sink = job.plan.nodes[name]
        assert isinstance(sink, Sink)
        if choices.get(name) != FROM_NOW or forerunner_of(sink, known, job.plan.sinks) is not None:
            needed |= {str(node.name) for node in order([sink])} & set(fresh)
    return needed


def _is_program(node: Node) -> bool:
    return node.role is Role.STATEFUL and not node.by_content and not isinstance(node, Ledger)


def _is_of_query(node: Node) -> bool:
    """Return whether an operator is a function of its rows, whatever their order: those of queries are, and ledgers."""
    return node.role is Role.STATEFUL and not _is_program(node)


def rebuild_of(
    job: SparkJob,
    relocation: Relocation,
    totals: Mapping[str, Totals],
    known: Iterable[Forerunner],
    other: Mapping[str, str],
    choices: Mapping[str, str],
    mark: Callable[[str], Mark | None],
    waiting: Collection[str],
) -> Rebuild:
    """Return what a version has to rebuild. `totals`: the counts of the stored queries. `known`: their sinks. `other`: the nodes whose rows
    are read in another way. `choices`: what becomes of sinks. `mark`: what a sink holds, None if that is unknown. `waiting`: the
    sinks to which corrections of an earlier deploy were not delivered.
    """
    known, mark = list(known), cache(mark)
    fresh = _fresh(job, relocation, totals)
    sinks: dict[str, str] = {}
    filled: set[str] = set()
    needed = _needed(job, fresh, known, choices)
    errors: list[HeadraceError] = []
    for query in job.queries:
        one = relocation.queries[query.name]
        for sink in query.sinks if any(totals[origin].epoch >= 0 for origin in one.origins) else ():
            name, connected = str(sink.name), sink.connect()
            past = moved_along(sink, forerunner_of(sink, known, job.plan.sinks), known, mark)
            choice, lasting = choices.get(name), connected.traits.lasting
            shape = one.identity.live()[name].shape
            if past is not None and name not in waiting and not _differs(sink, past, shape, fresh, other):
                continue
            if choice is None and past is not None and not lasting and _only_adds(sink):
                continue  # it shows the output of a run
            sinks[name] = choice or RETRACT
            begun = past is not None and lasting and not (_is_elsewhere(sink, past) and _is_empty(mark(name)))
            if not begun or (name in waiting and _only_adds(sink)):
                filled.add(name)
            if sinks[name] == RETRACT:
                error = _uncorrectable(job, sink, choice, name in filled)
                errors += [] if error is None else [error]
            elif name not in filled and not _only_adds(sink):
                errors.append(_refused(sink, f"{name} takes changes, which would not match its rows of the earlier version"))
    empty = {name: why for name in needed if (why := _obstacle(job, job.plan.nodes[name])) is not None}
    stored = {
        name for one in relocation.queries.values() if one.before is not None for name in one.before.live()
    } - relocation.errors.keys()
    errors += [_lost(job.plan.nodes[name], why) for name, why in empty.items() if name in stored]
    empty |= dict.fromkeys(fresh - needed, "so do its sinks")
    unasked = frozenset(name for name, how in sinks.items() if how == RETRACT and name not in choices and name not in filled)
    return Rebuild(frozenset(needed - empty.keys()), sinks, frozenset(filled), empty, unasked, tuple(errors))


def _fresh(job: SparkJob, relocation: Relocation, totals: Mapping[str, Totals]) -> set[str]:
    """Return the operators without state in queries that have read something. `totals`: the counts of the stored queries."""
    return {
        name
        for one in relocation.queries.values()
        if any(totals[origin].epoch >= 0 for origin in one.origins)
        for name, entry in one.identity.live().items()
        if entry.shape.keeps and entry.op >= relocation.first_new and operator(job.plan.nodes[name]).keeps
    }


def _differs(sink: Sink, past: Forerunner, shape: Shape, fresh: Collection[str], other: Mapping[str, str]) -> bool:
    """Return whether the rows of a sink are not those of its forerunner."""
    if past.entry.retired or sink.name in other or not shape.reads_like(past.entry.shape):
        return True
    if _is_elsewhere(sink, past) and not _only_adds(sink):
        return True
    return any(str(node.name) in fresh for node in _up_to_programs(sink, fresh))


def _up_to_programs(end: Node, fresh: Collection[str]) -> list[Node]:
    """Return the nodes upstream of one, up to programs that keep their state: these take rows as they come, and send none again."""
    seen: dict[Node, None] = {}
    stack = list(end.inputs)
    while stack:
        node = stack.pop()
        if node not in seen:
            seen[node] = None
            stack += () if _is_program(node) and str(node.name) not in fresh else node.inputs
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
    return sink.mode == "append" and CHANGE in sink.columns and isinstance(sink.input, Changes | Upserts)


def _obstacle(job: SparkJob, end: Node) -> str | None:
    """Return why the rows of a node cannot be computed again from the beginning, or None."""
    times = clocks(job.plan)
    for node in order([end]):
        name = job.shown(str(node.name))
        if isinstance(node, Source) and not node.connect().traits.replayable:
            return f"{name} cannot be read again: {node.connect().traits.why}"
        if isinstance(node, Lookup) and not node.repeatable:
            return f"{name} cannot be asked again for its earlier answers"
        if _is_program(node) and operator(node).caveat:
            return f"{name} handles rows as they arrive, and may get them in another order"
        if node.name in job.schemas.timed or (str(node.name) in times and times[str(node.name)].name == PROCESSING):
            return f"{name} goes by processing time"
    return None


def _uncorrectable(job: SparkJob, sink: Sink, choice: str | None, filled: bool) -> HeadraceError | None:
    """Return why a sink cannot get the difference between two versions, or None."""
    name, connected = str(sink.name), sink.connect()
    if not filled and _only_adds(sink):
        if choice is None:
            hint = f'to keep its earlier rows and write those of this version from now on: on_change={{"{name}": "{FROM_NOW}"}}'
            return HeadraceError("SINK_ONLY_ADDS", f"{name} gets other rows than before, and can only add rows", hint=hint, site=sink.site)
        return _refused(sink, f"{name} can only add rows, so none can be retracted")
    why = _obstacle(job, sink)
    if why is None and not filled:
        why = connected.uncomparable(sink.mode)
    if why is None and any(_is_unordered(field.type) for field in job.schemas.of[name].fields):
        why = "rows with maps or variants cannot be compared"
    return None if why is None else _refused(sink, f"{name} gets other rows than before, and they cannot be corrected: {why}")


def _is_unordered(type: object) -> bool:
    if isinstance(type, Struct):
        return any(_is_unordered(field.type) for field in type.fields)
    return isinstance(type, Map) or (_is_unordered(type.element) if isinstance(type, Array) else str(type) == "variant")


def _lost(node: Node, why: str) -> HeadraceError:
    hint = "nothing was changed: continue with the version that wrote the checkpoint; or start over with fresh=True"
    message = f"{node.name} has state that does not fit this version, and it cannot be made anew: {why}"
    return HeadraceError("CANNOT_REBUILD", message, hint=hint, site=node.site)


def _refused(sink: Sink, message: str) -> HeadraceError:
    hint = "nothing was changed: continue with the version that wrote the checkpoint; or start over with fresh=True"
    if _only_adds(sink):
        hint = f'on_change={{"{sink.name}": "{FROM_NOW}"}} writes the rows of this version from now on'
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
