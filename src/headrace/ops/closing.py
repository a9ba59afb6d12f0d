"""Which columns close: a value of the column will not come again once the clock has reached a time that the value tells.

The clock is the watermark, or for times that `current_timestamp()` gave the processing time.

An operator whose groups have such a column among their keys gives back what it keeps of a group when the group closes; a join whose
condition bounds how far apart two of them are gives back each row when it can meet no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch

from headrace.ops.aggregate import Aggregate
from headrace.ops.asof import AsOf
from headrace.ops.carried import EVENT as EVENT
from headrace.ops.carried import IN_STRUCT as IN_STRUCT
from headrace.ops.carried import NEXT_MICRO, NEXT_MILLI, Closes, Time, carried
from headrace.ops.carried import PROCESSING as PROCESSING
from headrace.ops.carried import SELF as SELF
from headrace.ops.carried import Columns as Columns
from headrace.ops.changes import Changes
from headrace.ops.consolidate import Consolidate
from headrace.ops.expect import Expect
from headrace.ops.explode import Explode
from headrace.ops.filter import Filter
from headrace.ops.generate import Generated
from headrace.ops.interval import Delay, Interval, interval
from headrace.ops.join import Join
from headrace.ops.ledger import Ledger
from headrace.ops.lookup import MISSED, Lookup
from headrace.ops.output import OutputOf
from headrace.ops.partition import Partition
from headrace.ops.program import Program
from headrace.ops.project import Project
from headrace.ops.sessions import Sessions
from headrace.ops.source import Source
from headrace.ops.temporal import Temporal
from headrace.ops.top import Top
from headrace.ops.union import Union
from headrace.ops.upserts import Upserts
from headrace.ops.weigh import Weighed
from headrace.ops.window import CHANGES, CLOSE, Windows
from headrace.plan import Node, order
from headrace.syntax import plain_name, quote


@dataclass(frozen=True)
class Group:
    """How the groups of an operator close: `keys` are the numbers of the key columns that close, each with how it does.

    The earliest counts. `judged` says of each input whether its rows may be late; `emit` when its result is sent, and `early_ms` how far
    apart what has changed is sent before that.
    """

    keys: tuple[tuple[int, Closes], ...]
    judged: tuple[bool, ...]
    emit: str
    early_ms: int = 0

    @property
    def final(self) -> bool:
        """Whether its result is sent once, and never taken back."""
        return self.emit == CLOSE and not self.early_ms

    @property
    def clocks(self) -> frozenset[str]:
        """The clocks that its keys close by; it can go by one."""
        return frozenset(closes.clock for _, closes in self.keys)

    def text(self, names: Sequence[str], *, late: bool = True) -> str:
        """The time at which a group closes, as text over key columns of these names; without `late`, the end of its window."""
        times = []
        for number, closes in self.keys:
            time = closes.at.of(quote(names[number]))
            times.append(f"timestampadd(MILLISECOND, {closes.lateness_ms}L, {time})" if late and closes.lateness_ms else time)
        return times[0] if len(times) == 1 else f"least({', '.join(times)})"


def closing(ends: Iterable[Node]) -> dict[Node, Columns]:
    """The columns that close, of each node that the given ones need.

    >>> import headrace as hr
    >>> charges = hr.read.memory([], "card string, ts timestamp", name="charges").watermark("ts", "5 minutes")
    >>> spent = charges.window(hr.tumble("ts", "1 hour")).group_by("card", "window_end").agg(n="count(*)").rename({"window_end": "until"})
    >>> {name: closes.at.of(name) for name, closes in closing([spent._node])[spent._node].items()}
    {'until': 'until'}
    """
    found = _Closing()
    return {node: found[node] for node in order(ends)}


class _Closing(dict[Node, Columns]):
    """The columns that close, of each node that is asked for: of those alone texts are read."""

    def __missing__(self, node: Node) -> Columns:
        for before in order([node]):
            if before not in self:
                self[before] = columns_after(before, self)
        return self[node]


def groups(ends: Iterable[Node]) -> dict[Node, Group]:
    """The operators whose groups close, and how."""
    found = _Closing()
    return {node: group for node in order(ends) if (group := group_of(node, found)) is not None}


def intervals(ends: Iterable[Node]) -> dict[Node, Interval]:
    """The joins whose rows end one by one, and when."""
    found = _Closing()
    return {node: near for node in order(ends) if isinstance(node, Join) and (near := _interval(node, found)) is not None}


def ended(node: Sessions) -> Closes | None:
    """How sessions close, by their end, and whether their rows come straight from a source; None: they never do."""
    return _ended(node, closing([node.input])[node.input])


@singledispatch
def columns_after(node: Node, found: Mapping[Node, Columns]) -> Columns:
    """The columns of a node's rows that close, those of its inputs being known."""
    raise TypeError(f"nobody says which columns of {node!r} close")


@columns_after.register(AsOf)
@columns_after.register(Temporal)
@columns_after.register(Upserts)
def _(node: Node, found: Mapping[Node, Columns]) -> Columns:
    return {}


@columns_after.register
def _(node: Source, found: Mapping[Node, Columns]) -> Columns:
    return {} if node.watermark is None else {node.watermark.column.lower(): Closes(SELF)}


@columns_after.register(Changes)
@columns_after.register(Consolidate)
@columns_after.register(Expect)
@columns_after.register(Filter)
@columns_after.register(Generated)
@columns_after.register(Ledger)
@columns_after.register(Lookup)
@columns_after.register(Weighed)
def _(node: Changes | Consolidate | Expect | Filter | Generated | Ledger | Lookup | Weighed, found: Mapping[Node, Columns]) -> Columns:
    return found[node.input]


@columns_after.register
def _(node: Explode, found: Mapping[Node, Columns]) -> Columns:
    gone = (node.replaces or "").lower()
    return {name: closes for name, closes in found[node.input].items() if name != gone}


@columns_after.register
def _(node: Project, found: Mapping[Node, Columns]) -> Columns:
    return _named(node.items, found[node.input])


@columns_after.register
def _(node: Union, found: Mapping[Node, Columns]) -> Columns:
    first, *others = (found[branch] for branch in node.branches)
    return {name: closes for name, closes in first.items() if all(other.get(name) == closes for other in others)}


@columns_after.register
def _(node: Windows, found: Mapping[Node, Columns]) -> Columns:
    before = found[node.input]
    time = carried(node.time, before)
    if time is None or time.at not in (SELF, NEXT_MILLI, NEXT_MICRO):
        return before
    late = max(time.lateness_ms, node.lateness_ms)
    ended = {
        node.names[0]: Time(node.size_us),
        node.names[1]: SELF,
        node.names[2]: NEXT_MILLI,
    }
    kept = {name: replace(closes, lateness_ms=max(closes.lateness_ms, late)) for name, closes in before.items()}
    made = {name.lower(): replace(time, at=at, lateness_ms=late) for name, at in ended.items()}
    return {name: replace(closes, emit=node.emit, early_ms=node.early_ms) for name, closes in {**kept, **made}.items()}


@columns_after.register
def _(node: Sessions, found: Mapping[Node, Columns]) -> Columns:
    # Its rows are sent long after their own time, and with a start that may be older still.
    end = _ended(node, found[node.input])
    if end is None:
        return {}
    return _made({node.names[1].lower(): end, node.names[2].lower(): replace(end, at=NEXT_MILLI)})


def _ended(node: Sessions, before: Columns) -> Closes | None:
    time = carried(node.time, before)
    if time is None or time.clock != EVENT or time.at not in (SELF, NEXT_MILLI, NEXT_MICRO):
        return None
    # A row whose time is the end of a session still joins it.
    own = time.lateness_ms + (0 if time.at == SELF else 1)
    return Closes(SELF, max(own, node.lateness_ms), node.emit, time.straight)


@columns_after.register
def _(node: Aggregate, found: Mapping[Node, Columns]) -> Columns:
    return _made(_named(node.keys, found[node.input]))


@columns_after.register(Partition)
@columns_after.register(Top)
def _(node: Partition | Top, found: Mapping[Node, Columns]) -> Columns:
    # Of the other columns a value may still be taken away when its own time has passed.
    return _made(_named([(plain_name(text) or "", text) for text in node.per], found[node.input]))


@columns_after.register
def _(node: Join, found: Mapping[Node, Columns]) -> Columns:
    meeting = dict(_meeting(node, found))
    sides = (0,) if node.how in ("semi", "anti", "existence") else (0, 1)
    named = {plain_name(node.keys[number][side]): closes for side in sides for number, closes in meeting.items()}
    if (near := _interval(node, found)) is not None:
        # A row goes out at the latest when it is forgotten.
        kept = {near.times[side]: near.kept_us[side] for side in sides}
        named = {name: Closes(SELF, -(-micros // 1000)) for name, micros in kept.items() if micros is not None}
    return _made({name.lower(): closes for name, closes in named.items() if name is not None})


@columns_after.register
def _(node: Program, found: Mapping[Node, Columns]) -> Columns:
    return _emitted(node, "main")


@columns_after.register
def _(node: OutputOf, found: Mapping[Node, Columns]) -> Columns:
    if isinstance(node.input, Lookup) and node.output == MISSED:
        return found[node.input.input]
    return _emitted(node.input, node.output) if isinstance(node.input, Program) else {}


def _emitted(node: Program, output: str) -> Columns:
    time = node.output_time(output)
    # A program that takes rows as they come takes the oldest ones, too.
    return {} if time is None else {time.lower(): Closes(SELF, straight=node.order == "arrival")}


def _named(items: Iterable[tuple[str, str]], columns: Columns) -> Columns:
    return {name.lower(): closes for name, text in items if name and (closes := carried(text, columns)) is not None}


def _made(columns: Columns) -> Columns:
    # What is sent early is not held again by those behind.
    return {
        name: replace(closes, straight=False, emit=CHANGES if closes.early_ms else closes.emit, early_ms=0)
        for name, closes in columns.items()
    }


@singledispatch
def group_of(node: Node, found: Mapping[Node, Columns]) -> Group | None:
    """How the groups of a node close, the columns of its inputs that close being known; None: it has none, or they never do."""
    raise TypeError(f"nobody says how the groups of {node!r} close")


@group_of.register(AsOf)
@group_of.register(Changes)
@group_of.register(Consolidate)
@group_of.register(Expect)
@group_of.register(Explode)
@group_of.register(Filter)
@group_of.register(Generated)
@group_of.register(Ledger)
@group_of.register(Lookup)
@group_of.register(OutputOf)
@group_of.register(Program)
@group_of.register(Project)
@group_of.register(Sessions)
@group_of.register(Source)
@group_of.register(Temporal)
@group_of.register(Union)
@group_of.register(Upserts)
@group_of.register(Weighed)
@group_of.register(Windows)
def _(node: Node, found: Mapping[Node, Columns]) -> Group | None:
    return None


@group_of.register
def _(node: Aggregate, found: Mapping[Node, Columns]) -> Group | None:
    return _of_one([text for _, text in node.keys], found[node.input])


@group_of.register(Partition)
@group_of.register(Top)
def _(node: Partition | Top, found: Mapping[Node, Columns]) -> Group | None:
    return _of_one(node.per, found[node.input])


@group_of.register
def _(node: Join, found: Mapping[Node, Columns]) -> Group | None:
    keys = tuple(_meeting(node, found))
    judged = tuple(any(closes.straight for closes in found[side].values()) for side in (node.left, node.right))
    return _group_of(keys, judged)


def _of_one(texts: Sequence[str], columns: Columns) -> Group | None:
    keys = tuple((number, closes) for number, text in enumerate(texts) if (closes := carried(text, columns)) is not None)
    return _group_of(keys, (any(closes.straight for _, closes in keys),))


def _group_of(keys: tuple[tuple[int, Closes], ...], judged: tuple[bool, ...]) -> Group | None:
    if not keys:
        return None
    if any(closes.emit != CLOSE for _, closes in keys):
        return Group(keys, judged, CHANGES)
    return Group(keys, judged, CLOSE, min((closes.early_ms for _, closes in keys if closes.early_ms), default=0))


def _meeting(node: Join, found: Mapping[Node, Columns]) -> Iterable[tuple[int, Closes]]:
    """The keys of a join that close alike on both sides, which then wait for the later of the two."""
    for number, (left, right) in enumerate(node.keys):
        one, other = carried(left, found[node.left]), carried(right, found[node.right])
        if one is not None and other is not None and (one.at, one.start, one.clock) == (other.at, other.start, other.clock):
            emit = CLOSE if node.emit == CLOSE or one.emit == other.emit == CLOSE else CHANGES
            late, early = max(one.lateness_ms, other.lateness_ms), max(one.early_ms, other.early_ms)
            yield number, replace(one, lateness_ms=late, emit=emit, early_ms=early)


def _interval(node: Join, found: Mapping[Node, Columns]) -> Interval | None:
    """The interval of a join, if its groups do not end as a whole."""
    if node.expires_ms is not None or any(_meeting(node, found)):
        return None
    left, right = (
        {name: Delay(us, closes.straight) for name, closes in found[side].items() if (us := _delay(closes)) is not None}
        for side in (node.left, node.right)
    )
    return interval(node, left, right)


def _delay(closes: Closes) -> int | None:
    """How long behind a column's time the watermark is when the column closes, in microseconds; None where none tells."""
    if closes.at.field or closes.clock != EVENT:
        return None
    return closes.at.later_us + closes.lateness_ms * 1000
