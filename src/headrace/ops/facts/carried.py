"""How the value of a text closes, by the columns that do: it will not come again once the clock has reached a time that it tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from headrace.jvm.texts import Before, Either, End, Now, Path, Value, Window, reading
from headrace.syntax import path_of, words

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


def carried(text: str, columns: Columns) -> Closes | None:
    """How the value of a text closes: a column, the current time, a field of a window as Spark's `window()` gives it, or such a window.

    Names, with dots or without, are read here. Spark is asked of a text that consists of nothing but columns that close, the current time
    and the functions that keep a time (`_KEEPING`). Such a text in front of an operator with groups may start Spark while verbs run, and
    so may the condition of a join between times in front of one (`bounds`); nothing else does.
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
