"""How the value of an expression closes, given the columns that close: it no longer occurs once the clock has reached a time it carries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from headrace.jvm.texts import Before, Either, End, Now, Path, Value, Window, reading
from headrace.syntax import path_of, words

CHANGES, CLOSE = "changes", "close"
"""When a result is sent: at each change, or once, when its group closes."""

EVENT, PROCESSING = "event", "processing"


@dataclass(frozen=True)
class Time:
    """The time that a value of a column carries: the value or a field of it, plus an offset.

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
        """Return the time as SQL, given the column as SQL."""
        time = f"{column}.`{self.field}`" if self.field else column
        return f"timestampadd({self.unit}, {self.later}L, {time})" if self.later else time


SELF, IN_STRUCT = Time(), Time(field="end")
NEXT_MILLI, NEXT_MICRO = Time(1, "MILLISECOND"), Time(1)

INSTANTS = (SELF, NEXT_MILLI, NEXT_MICRO)
"""When a column of event time closes: at its value, or a moment later."""


@dataclass(frozen=True)
class Closes:
    """How a column closes: `at` is the time that its values carry, `start` the one that the field `start` of a struct carries.

    `straight`: the rows come directly from a source, so one may be late; the rows of an operator come in time. `early_ms`: see `Windows`.
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
    """Return how an expression closes: a column, the current time, a window as Spark's `window()` gives it, or a field of a window.

    Names, with or without dots, are read here. Spark parses an expression only if it has nothing but columns that close, the current time
    and functions that keep a time (`_KEEPING`), or if it makes a struct. Such an expression upstream of an operator with groups may start
    Spark while verbs run, and so may a join on a condition between times (`bounds`). Nothing else does.
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
_STRUCTS = {"named_struct", "struct"}  # whose start may be any column
_KEEPING = {"start", "end", "timestamp_micros", "unix_micros", "l", "bigint", "window_time", "coalesce"}


def _closes(value: Value, columns: Columns) -> Closes | None:
    match value:
        case Now():
            # Two epochs may have the same time, so the value may occur again until the clock has passed it.
            return Closes(NEXT_MICRO, straight=False, clock=PROCESSING)
        case Path(names):
            return columns.get(names[0].lower()) if len(names) == 1 else None
        case Window():
            start, end = _closes(value.start, columns), _closes(value.end, columns)
            if end is None or end.at != SELF:
                return None
            # The start closes only if it is equal to the end in everything but its time.
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
