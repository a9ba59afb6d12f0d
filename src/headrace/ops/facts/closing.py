"""Which columns close: a value of the column will not come again once the clock has reached a time that the value tells.

The clock is the watermark, or for times that `current_timestamp()` gave the processing time.

An operator whose groups have such a column among their keys gives back what it keeps of a group when the group closes; a join whose
condition bounds how far apart two of them are gives back each row when it can meet no other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from headrace.ops.facts.contract import contracts
from headrace.ops.facts.interval import Delay, Interval
from headrace.plan import Node
from headrace.syntax import plain_name, quote

CHANGES, CLOSE = "changes", "close"
"""When a result is sent: as it changes, or once, when its group closes."""

SELF, IN_STRUCT = "{}", "{}.`end`"
EVENT, PROCESSING = "event", "processing"
NEXT_MILLI, _NEXT_MICRO = "timestampadd(MILLISECOND, 1L, {})", "timestampadd(MICROSECOND, 1L, {})"

INSTANTS = (SELF, NEXT_MILLI, _NEXT_MICRO)
"""When a column of event time closes: when its value has passed, or a moment later."""


@dataclass(frozen=True)
class Closes:
    """How a column closes: `at` is the text of the time, in which `{}` stands for the column; `start` that of the struct's field `start`.

    `straight`: the rows come straight from a source, so one may be late; what operators make comes in time. `early_ms`: see `Windows`.
    """

    at: str
    lateness_ms: int = 0
    emit: str = CHANGES
    straight: bool = True
    start: str = ""
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
            time = closes.at.format(quote(names[number]))
            times.append(f"timestampadd(MILLISECOND, {closes.lateness_ms}L, {time})" if late and closes.lateness_ms else time)
        return times[0] if len(times) == 1 else f"least({', '.join(times)})"


def closing(ends: Iterable[Node]) -> dict[Node, Columns]:
    """The columns that close, of each node that the given ones need.

    >>> import headrace as hr
    >>> charges = hr.read.memory([], "card string, ts timestamp", name="charges").watermark("ts", "5 minutes")
    >>> spent = charges.window(hr.tumble("ts", "1 hour")).group_by("card", "window_end").agg(n="count(*)").rename({"window_end": "until"})
    >>> {name: closes.at for name, closes in closing([spent._node])[spent._node].items()}
    {'until': '{}'}
    """
    found: dict[Node, Columns] = {}
    for node in contracts(ends):
        found[node] = node.closing_after(found)
    return found


def groups(ends: Iterable[Node]) -> dict[Node, Group]:
    """The operators whose groups close, and how."""
    ends = list(ends)
    found = closing(ends)
    return {node: group for node in contracts(ends) if (group := node.group(found)) is not None}


def intervals(ends: Iterable[Node]) -> dict[Node, Interval]:
    """The joins whose rows end one by one, and when."""
    ends = list(ends)
    found = closing(ends)
    return {node: near for node in contracts(ends) if (near := node.interval(found)) is not None}


def carried(text: str, columns: Columns) -> Closes | None:
    """How the value of a text closes: a column, the current time, a field of a window as Spark's `window()` gives it, or such a window."""
    text = text.strip()
    if _NOW.fullmatch(text):
        # Two epochs may have one time, so the value may come again until the clock has left it.
        return Closes(_NEXT_MICRO, straight=False, clock=PROCESSING)
    # Spark writes the column `window` of its own without quotes, though it is a word of SQL.
    name = text if text.lower() in columns else plain_name(text)
    if name is not None:
        return columns.get(name.lower())
    if found := _STRUCT.fullmatch(text):
        start, end = (carried(part, columns) for part in found.groups())
        return replace(end, at=IN_STRUCT, start=start.at if start else "") if end and end.at == SELF else None
    if found := _FIELD.fullmatch(text):
        if parts := _STRUCT.fullmatch(found[1]):
            return carried(parts[1 if found[2] == "start" else 2], columns)
        whole = carried(found[1], columns)
        if whole is None or whole.at != IN_STRUCT:
            return None
        at = whole.start if found[2] == "start" else SELF
        return replace(whole, at=at, start="") if at else None
    if found := _WINDOW_TIME.fullmatch(text):
        end = carried(found[1], columns)
        return replace(end, at=_NEXT_MICRO) if end and end.at == SELF else None
    if found := _COALESCE.fullmatch(text):
        one, other = (carried(part, columns) for part in found.groups())
        return one if one == other else None
    return None


_NOW = re.compile(r"(?i)current_timestamp(\(\s*\))?|now\(\s*\)")
_NAME = r"(?:\w+|`(?:[^`]|``)+`)"
_PATH = rf"{_NAME}(?:\.{_NAME})*"
_STRUCT = re.compile(rf"named_struct\('start', ({_PATH}), 'end', ({_PATH})\)")
_FIELD = re.compile(r"(.+)\.`?(start|end)`?")
_WINDOW_TIME = re.compile(r"timestamp_micros\(unix_micros\((.+)\) - 1L\)")
_MOVED = re.compile(r"timestampadd\((MILLISECOND|MICROSECOND), (\d+)L, \{\}\)")
_COALESCE = re.compile(rf"coalesce\(({_NAME}), ({_NAME})\)")


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
    moved = _MOVED.fullmatch(closes.at)
    if (closes.at != SELF and moved is None) or closes.clock != EVENT:
        return None
    later = 0 if moved is None else int(moved[2]) * (1000 if moved[1] == "MILLISECOND" else 1)
    return later + closes.lateness_ms * 1000
