"""Each row with a version: the row of another stream whose time is next to its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from typing import Any, Self

from headrace.errors import PlanError, here
from headrace.expr import Column, of_text
from headrace.ops.columns import checked, column_name, duplicate, label, single
from headrace.ops.facts.carried import CHANGES, CLOSE, EVENT, Columns
from headrace.ops.facts.clock import NO_TIME, WATERMARK, Clock
from headrace.ops.facts.closing import Group
from headrace.ops.facts.keys import Keys
from headrace.ops.facts.outputs import DEAD_LETTER, LATE
from headrace.ops.facts.provenance import OfPair, Provenance
from headrace.ops.facts.reading import Wanted, both, read
from headrace.ops.facts.state import GROWS, KEYS, RELEASED, Basis
from headrace.ops.facts.time import event_time
from headrace.ops.feeding import fed
from headrace.ops.handle import Handle, other_stream, verb
from headrace.ops.inlet import Checked, Inlet, inlet
from headrace.ops.on import names_of, sides_of
from headrace.ops.operator import Ungrouped, operator, time_cure
from headrace.ops.parts import EndingText, RelationText
from headrace.ops.relational import LEFT, TwoSided
from headrace.ops.tree import Tree, reads
from headrace.plan import Fact, Node, Project, node
from headrace.schema import milliseconds, shown
from headrace.syntax import plain_name, quote

HOWS = ("left", "inner")
DIRECTIONS = ("backward", "forward", "nearest")
EMITS = (CHANGES, CLOSE)
LATE_VERSIONS = "late_versions"


@dataclass(frozen=True, kw_only=True)
class AsOfText(RelationText):
    """Both texts of each key, and both times; `within_us` is null if the distance to a version is unlimited."""

    how: str
    keys: tuple[tuple[str, str], ...]
    time: tuple[str, str]
    direction: str
    within_us: int | None
    shared: tuple[str, ...]
    emit: str
    clock: str


@node("join_asof")
class AsOf(Ungrouped, TwoSided):
    """Each left row with one right row, its version: among those with equal keys, the one whose time is next to its own.

    Law: the version is that of the greatest time at or before the row's (backward), the least at or after it (forward) or the nearest
    (backward on a tie), at most `within_us` away. Of versions of one time it is the last one by all columns, ascending, nulls first.
    `how`: without a version, left gives nulls and inner nothing. A null as time or in a key matches nothing. `shared` are the key columns
    of the right side that the result leaves out.

    `clock` is "event" if both times are event time: a row that the watermark has passed is final. `emit`: a result is sent at once and
    revised ("changes"), or once, when it is final ("close").

    >>> import headrace as hr
    >>> orders = hr.read.memory([], "pair string, ts timestamp", name="orders")
    >>> rates = hr.read.memory([], "pair string, at timestamp, rate double", name="rates")
    >>> # epoch 1: rates +(x, 1:00, 0.5), orders +(x, 3:00)   ->   +(x, 3:00, 1:00, 0.5)
    >>> # epoch 2: rates +(x, 2:00, 0.6)                      ->   -(x, 3:00, 1:00, 0.5) +(x, 3:00, 2:00, 0.6)
    >>> orders.join_asof(rates, on="pair", time=("ts", "at"))
    <Stream join_asof(orders, rates): pair, ts, at, rate>
    """

    how: str = field(metadata={"of": HOWS})
    time: tuple[str, str]
    direction: str = field(default="backward", metadata={"of": DIRECTIONS})
    within_us: int | None = field(default=None, metadata={"least": 0})
    shared: tuple[str, ...] = ()
    emit: str = field(default="changes", metadata={"of": EMITS})
    clock: str = field(default="none", metadata={"of": ("event", "none")})

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return (*self.left.columns, *(name for name in self.right.columns if name not in self.shared))

    @property
    def fits(self) -> bool:
        return set(self.shared) <= set(self.right.columns)

    @property
    def outputs(self) -> tuple[str, ...]:
        return (LATE, LATE_VERSIONS, DEAD_LETTER) if self.clock == EVENT else (DEAD_LETTER,)

    def rows_of(self, output: str) -> Node | None:
        return {LATE: self.left, LATE_VERSIONS: self.right}.get(output)

    def describe(self) -> str:
        met = " AND ".join(f"{left} = {right}" for left, right in self.keys)
        within = "" if self.within_us is None else f" within {shown(self.within_us // 1000)}"
        once = ", sent once" if self.emit == "close" else ""
        return f"{self.how} join of {self.time[0]} as of {self.time[1]}, {self.direction}{within}, on {met}{once}"

    def kind_after(self, kinds: Mapping[Node, str]) -> str:
        return kinds[self.left] if self.emit == CLOSE else CHANGES

    def keys_after(self, keys: Mapping[Node, Keys]) -> Keys:
        return keys[self.left]  # a row has one version at most

    def time_after(self, times: Mapping[Node, str | None]) -> str | None:
        # With `close` and backward, rows are sent when the watermark passes them, in the order of time, as a program's are. In other
        # directions a row waits for its version, and is older than the watermark when it is sent.
        return times[self.left] if self.emit == CLOSE and self.direction == "backward" else None

    def closing_after(self, columns: Mapping[Node, Columns]) -> Columns:
        return {}

    def columns_read(self, wanted: Wanted) -> Mapping[str, Wanted]:
        # Versions of one time are ordered by all their columns.
        return {"left": both(wanted, read(self.left, [*(left for left, _ in self.keys), self.time[0]]))}

    def goes_by(self, group: Group | None) -> Clock:
        return WATERMARK if self.clock == EVENT else NO_TIME

    def kept(self, basis: Basis) -> Fact:
        if self.clock != EVENT:
            return Fact(
                GROWS, "grows with the rows of both sides, as any row may get another version; a watermark on both sides would bound it"
            )
        of = f"a key of {', '.join(left for left, _ in self.keys)}"
        late = "; rows and versions that arrive after it has passed them are late"
        if self.direction == "backward":
            waits = "rows when it has passed them"
            if self.within_us is None:
                return Fact(KEYS, f"grows with the number of keys: the last version of {of}; released by the watermark: {waits}{late}")
        else:
            waits = "rows when no other version can match them"
            if self.within_us is None:
                waiting = f"those after the last version of {of}" if self.direction == "forward" else f"those of {of} without versions"
                bound = "; `within` would bound it"
                return Fact(
                    GROWS, f"grows with the rows that wait for a version: {waiting}{bound}; released by the watermark: {waits}{late}"
                )
        return Fact(RELEASED, f"released by the watermark: {waits}, versions when no row can need them{late}")

    @property
    def provenance(self) -> Provenance:
        right = tuple(name for name in self.right.columns if name not in self.shared)
        return OfPair(self.keys, right=right, kept=(0,) if self.how == "left" else ())

    def relation(self) -> AsOfText:
        return AsOfText(
            how=self.how,
            keys=self.keys,
            time=self.time,
            direction=self.direction,
            within_us=self.within_us,
            shared=self.shared,
            emit=self.emit,
            clock=self.clock,
        )

    def inlets(self, at: Checked, steady: bool = True) -> tuple[Inlet, ...]:
        return tuple(self._inlet(name, side, stream, at) for name, side, stream in self.sides)

    def _inlet(self, name: str, side: int, stream: Node, at: Checked) -> Inlet:
        """Return the inlet of a side, with its time as the first column: rows come in the order of time, then of all columns."""
        text = self.time[0 if side == LEFT else 1]
        time = "_time"
        while time in (column.lower() for column in stream.columns):
            time += "_"
        items = ((time, text), *((column, quote(column)) for column in stream.columns))
        timed = Project(project=items, place=self.place)
        key, schema, steps = self.met(side, stream, at)
        steps = (*steps, timed)
        rows = inlet(stream, at, delivery="null_key", key=key, key_schema=schema, name=name, side=side, order="columns", steps=steps)
        return replace(rows, schema=f"{time} timestamp, {rows.schema}")

    def clock_kept(self, ending: EndingText | None) -> str:
        return self.clock

    def late_rows(self, ending: EndingText | None) -> dict[str, Node]:
        return {LATE: self.left, LATE_VERSIONS: self.right} if self.clock == EVENT else {}

    def late_inputs(self, at: Checked) -> Mapping[str, bool]:
        apart = "join each separately and union the results"
        return {name: self.clock == EVENT and at.may_be_late(self, name, stream, apart) for name, _, stream in self.sides}


def join_asof(
    left: Node,
    right: Node,
    on: Any,
    time: Any,
    how: Any,
    direction: Any,
    within: str | timedelta | None,
    emit: Any,
    aliases: tuple[str | None, str | None],
    times: tuple[str | None, str | None],
) -> AsOf:
    """Return the join that a user asks for; `times` are the event-time columns of both sides."""
    for option, value, known in (("how", how, HOWS), ("direction", direction, DIRECTIONS), ("emit", emit, EMITS)):
        if value not in known:
            message = f"join_asof: `{option}` cannot be {value!r}"
            raise PlanError("BAD_JOIN", message, hint=f"it is one of: {', '.join(known)}", site=here())
    texts = _times(left, right, time, aliases)
    names = names_of(left, right, on, "join_asof")
    shared = () if names is None else tuple(column_name(right, name) for name in names)
    taken = {name.lower(): name for name in left.columns}
    for name in right.columns:
        if name not in shared and name.lower() in taken:
            hint = f'rename it on one side: {label(right)}.rename({{"{name}": "..."}})'
            problem = duplicate(name, taken[name.lower()], "join_asof")
            raise PlanError("DUPLICATE_COLUMN", problem.message, hint=hint, site=here())
    if names is None:
        keys = _keys(left, right, str(of_text(checked(on))._expression.text), aliases)
    else:
        keys = tuple((quote(mine), quote(theirs)) for mine, theirs in zip(names, shared, strict=True))
    sides = tuple(zip((left, right), times, texts, strict=True))
    untimed = next(((s, m, t) for s, m, t in sides if m is None or m.lower() != (plain_name(t) or "").lower()), None)
    if emit == "close" and untimed is not None:
        side, mark, text = untimed
        has = f"{label(side)} has no event time" if mark is None else f"that of {label(side)} is `{mark}`, not `{text}`"
        cure = time_cure(side) if mark is None else f"join by `{mark}`"
        raise PlanError(
            "NO_WATERMARK",
            f'emit="close" needs event time, and {has}',
            hint=f'{cure}; or emit each change: emit="changes"',
            site=here(),
        )
    reach = None if within is None else milliseconds(within, "join_asof: `within`") * 1000
    return AsOf(left, right, how, keys, texts, direction, reach, shared, emit, "event" if untimed is None else "none", site=here())


def versions(node: Node) -> Node:
    """Return a stream's versions: if each row replaces the one before it, all rows that came, as each was valid in its time."""
    return operator(node).each_version


def version_time(node: Node, time: str | None) -> str | None:
    """Return the column with the time from which a row is valid: the stream's event time, or that of the source whose changes it is."""
    source = fed(node)
    mark = None if source is None else source.watermark
    return time if time is not None or mark is None or mark.column not in node.columns else mark.column


def _times(left: Node, right: Node, time: Any, aliases: tuple[str | None, str | None]) -> tuple[str, str]:
    """Return the expressions of both times."""
    if not isinstance(time, tuple | list) or len(time) != 2:
        hint = 'give one for each side: time=("ts", "valid_from")'
        raise PlanError("BAD_JOIN", f"join_asof: `time` cannot be {time!r}", hint=hint, site=here())
    mine, theirs = (single(side, text, alias) for side, text, alias in zip((left, right), time, aliases, strict=True))
    return mine.text, theirs.text


def _keys(left: Node, right: Node, text: str, aliases: tuple[str | None, str | None]) -> tuple[tuple[str, str], ...]:
    """Return the keys of a condition; raises if it has any other part."""
    keys, safe, rest = sides_of(left, right, text, aliases)
    wrong = rest[0] if rest else f"{keys[safe[0]][0]} <=> {keys[safe[0]][1]}" if safe else None
    if wrong is not None:
        example = " = ".join(keys[0]) if keys else "a.id = b.id"
        raise PlanError(
            "BAD_JOIN",
            f"join_asof matches equal keys, but `{wrong}` does not compare the two sides by =",
            hint=f'filter {label(right)} before the join, or its result after it; `on` has only equalities: on="{example}"',
            site=here(),
        )
    return tuple(keys)


@reads("join_asof")
def _join_asof(tree: Tree) -> Node:
    left = tree.node("left")
    right = replace(tree, streams={name: versions(node) for name, node in tree.streams.items()}).node("right")
    mine, theirs = tree["time"]
    timed = all(time is not None and plain_name(text) == time for text, time in ((mine, event_time(left)), (theirs, event_time(right))))
    clock = "event" if timed else "none"
    return AsOf(left, right, tree["how"], tree.tuples("keys"), (mine, theirs), clock=clock, site=tree.site)


class AsOfVerb(Handle):
    __slots__ = ()

    @verb("join_asof")
    def join_asof(
        self,
        versions: Self,
        *,
        on: Column | str | Iterable[str],
        time: tuple[Column | str, Column | str],
        how: str = "left",
        direction: str = "backward",
        within: str | timedelta | None = None,
        emit: str = "changes",
    ) -> Self:
        """Joins each row with the version that is valid at its time.

        After every epoch the result is what a batch query over all rows so far would return. If both times are the event time of their
        streams, the watermark releases state; rows and versions at or before the watermark are in the outputs `late` and `late_versions`.
        Of several versions with the same time, the last one in the order of all columns is used. A null in the time or the key matches
        nothing.

        Args:
            versions: The stream of versions. Columns outside `on` need different names on both sides.
            on: Columns that both streams have, or a condition of equalities: `"o.pair = r.code"`.
            time: The times of a row and of a version: two names, SQL texts or columns of type timestamp.
            how: `"left"` gives nulls to a row without a version; `"inner"` drops it.
            direction: `"backward"` takes the last version at or before the row, `"forward"` the first at or after it, `"nearest"` the
                closer one, backward on a tie.
            within: The maximum time difference, a duration such as `"1 hour"`. Default: no limit.
            emit: `"changes"` sends a result at once and revises it; `"close"` sends each row once, when its version is final.

        Raises:
            PlanError: `BAD_JOIN` if an option has an unknown value or `on` has more than equalities; `UNKNOWN_COLUMN` if a column does not
                exist; `DUPLICATE_COLUMN` if a column outside `on` has the same name on both sides; `BAD_INPUT` if `versions` is no stream;
                `NO_WATERMARK` if `emit="close"` and a time is not event time.
            SchemaError: `BAD_DURATION` if `within` is not a duration.

        Examples:
            >>> import headrace as hr
            >>> orders = hr.read.memory([("EURUSD", "2026-01-01 10:30:00")], "pair string, ts timestamp", name="orders")
            >>> rows = [("EURUSD", "2026-01-01 10:00:00", 1.1), ("EURUSD", "2026-01-01 11:00:00", 1.2)]
            >>> rates = hr.read.memory(rows, "pair string, at timestamp, rate double", name="rates")
            >>> hr.collect(orders.join_asof(rates, on="pair", time=("ts", "at")).select("pair", "rate")).rows()
            [('EURUSD', 1.1)]
        """
        stream = other_stream(versions, "join_asof", 'orders.join_asof(rates, on="pair", time=("ts", "at"))')
        aliases, times = (self._alias, stream._alias), (event_time(self._node), event_time(stream._node))
        return self._then(join_asof(self._node, stream._node, on, time, how, direction, within, emit, aliases, times))
