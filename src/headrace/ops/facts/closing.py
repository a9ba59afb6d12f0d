"""Which columns close: a value of the column will not come again once the clock has reached a time that the value tells.

The clock is the watermark, or for times that `current_timestamp()` gave the processing time.

An operator whose groups have such a column among their keys gives back what it keeps of a group when the group closes; a join whose
condition bounds how far apart two of them are gives back each row when it can meet no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from headrace.jvm.texts import Before, Either, End, Now, Path, Value, Window, reading
from headrace.ops.facts.contract import contract, contracts
from headrace.ops.facts.interval import Delay, Interval
from headrace.plan import Node, order
from headrace.syntax import path_of, quote, words

CHANGES, CLOSE = "changes", "close"
"""When a result is sent: as it changes, or once, when its group closes."""

EVENT, PROCESSING = "event", "processing"


@dataclass(frozen=True)
class Time:
    """The time that a value of a column tells: the value, or a field of it, and so many units later.

    >>> Time().of("ts"), Time(field="end").of("w"), Time(1, "MILLISECOND").of("ts")
    ('ts', 'w.`end`', 'timestampadd(MILLISECOND, 1L, ts)')
    """

    later: int = 0
    unit: str = "MICROSECOND"
    field: str = ""

    def __str__(self) -> str:
        return self.of("{}")

    @property
    def later_us(self) -> int:
        return self.later * (1000 if self.unit == "MILLISECOND" else 1)

    def of(self, column: str) -> str:
        """The text of the time, of a column by its text."""
        time = f"{column}.`{self.field}`" if self.field else column
        return f"timestampadd({self.unit}, {self.later}L, {time})" if self.later else time


SELF, IN_STRUCT = Time(), Time(field="end")
NEXT_MILLI, NEXT_MICRO = Time(1, "MILLISECOND"), Time(1)

INSTANTS = (SELF, NEXT_MILLI, NEXT_MICRO)
"""When a column of event time closes: when its value has passed, or a moment later."""


@dataclass(frozen=True)
class Closes:
    """How a column closes: `at` is the time that its values tell; `start` the one that the field `start` of a struct tells.

    `straight`: the rows come straight from a source, so one may be late; what operators make comes in time. `early_ms`: see `Windows`.
    """

    at: Time
    lateness_ms: int = 0
    emit: str = CHANGES
    straight: bool = True
    start: Time | None = None
    early_ms: int = 0
    clock: str = EVENT


Columns = Mapping[str, Closes]
"""The columns that close, by name in lower case."""


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
                self[before] = contract(before).closing_after(self)
        return self[node]


def groups(ends: Iterable[Node]) -> dict[Node, Group]:
    """The operators whose groups close, and how."""
    found = _Closing()
    return {node: group for node in contracts(ends) if (group := node.group(found)) is not None}


def intervals(ends: Iterable[Node]) -> dict[Node, Interval]:
    """The joins whose rows end one by one, and when."""
    found = _Closing()
    return {node: near for node in contracts(ends) if (near := node.interval(found)) is not None}


def carried(text: str, columns: Columns) -> Closes | None:
    """How the value of a text closes: a column, the current time, a field of a window as Spark's `window()` gives it, or such a window.

    Names, with dots or without, are read here. Spark is asked of a text that consists of nothing but columns that close, the current time
    and the functions that keep a time (`_KEEPING`): verbs on such a column of a group start it, as they do nowhere else.
    """
    path = (text.strip(),) if text.strip().lower() in columns else path_of(text)
    if path is not None:
        *whole, last = path
        named = whole and last.lower() in ("start", "end")
        return _closes(End(last.lower(), Path(tuple(whole))) if named else Path(path), columns)
    if not _may_close(text, columns):
        return None
    value = reading(text).value
    return None if value is None else _closes(value, columns)


def _may_close(text: str, columns: Columns) -> bool:
    named = words(text)
    if named is None:
        return True
    keeps = named <= {*_KEEPING, *_NOW, *columns} or not named.isdisjoint(_STRUCTS)
    return keeps and not named.isdisjoint({*_NOW, *columns})


_NOW = {"now", "current_timestamp"}
_STRUCTS = {"named_struct", "struct"}  # the start of one may be any column
_KEEPING = {"start", "end", "timestamp_micros", "unix_micros", "l", "bigint", "window_time", "coalesce"}


def _closes(value: Value, columns: Columns) -> Closes | None:
    match value:
        case Now():
            # Two epochs may have one time, so the value may come again until the clock has left it.
            return Closes(NEXT_MICRO, straight=False, clock=PROCESSING)
        case Path(names):
            return columns.get(names[0].lower()) if len(names) == 1 else None
        case Window():
            start, end = _closes(value.start, columns), _closes(value.end, columns)
            if end is None or end.at != SELF:
                return None
            # The start counts where it closes as the end does, but for the time that it tells.
            alike = start is not None and replace(start, at=SELF) == end
            return replace(end, at=IN_STRUCT, start=start.at if start is not None and alike else None)
        case End(name, Window() as window):
            return _closes(window.start if name == "start" else window.end, columns)
        case End(name, of):
            whole = _closes(of, columns)
            if whole is None or whole.at != IN_STRUCT:
                return None
            at = whole.start if name == "start" else SELF
            return replace(whole, at=at, start=None) if at is not None else None
        case Before(of):
            end = _closes(of, columns)
            return replace(end, at=NEXT_MICRO) if end is not None and end.at == SELF else None
        case Either(of):
            first, *others = (_closes(one, columns) for one in of)
            return first if all(other == first for other in others) else None


def named(items: Iterable[tuple[str, str]], columns: Columns) -> Columns:
    """The columns of rows with these names and texts that close, by those that close of the rows they are made of."""
    return {name.lower(): closes for name, text in items if name and (closes := carried(text, columns)) is not None}


def result(columns: Columns) -> Columns:
    """The columns of an operator's result: none of its rows comes straight from a source."""
    # What is sent early is not held again by those behind.
    return {
        name: replace(closes, straight=False, emit=CHANGES if closes.early_ms else closes.emit, early_ms=0)
        for name, closes in columns.items()
    }


def group_by_texts(texts: Sequence[str], columns: Columns) -> Group | None:
    """How groups of equal texts over one input close."""
    keys = tuple((number, closes) for number, text in enumerate(texts) if (closes := carried(text, columns)) is not None)
    return group_by_keys(keys, (any(closes.straight for _, closes in keys),))


def group_by_keys(keys: tuple[tuple[int, Closes], ...], judged: tuple[bool, ...]) -> Group | None:
    """How groups close of which these keys do."""
    if not keys:
        return None
    if any(closes.emit != CLOSE for _, closes in keys):
        return Group(keys, judged, CHANGES)
    return Group(keys, judged, CLOSE, min((closes.early_ms for _, closes in keys if closes.early_ms), default=0))


def delays(columns: Columns) -> Mapping[str, Delay]:
    """Of the columns that close by event time, how long behind its value the watermark then is."""
    return {name: Delay(us, closes.straight) for name, closes in columns.items() if (us := _delay(closes)) is not None}


def _delay(closes: Closes) -> int | None:
    """How long behind a column's time the watermark is when the column closes, in microseconds; None where none tells."""
    if closes.at.field or closes.clock != EVENT:
        return None
    return closes.at.later_us + closes.lateness_ms * 1000
