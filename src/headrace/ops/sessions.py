"""Sessions: rows that come close together in time, and end when none has come for a while."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Any, ClassVar

from headrace.errors import PlanError, here
from headrace.expr import Column
from headrace.ops.columns import given, listed, once, single
from headrace.ops.source import DEAD_LETTER
from headrace.ops.window import CHANGES, CLOSE, COLUMNS, micros, shown_micros, when_sent
from headrace.plan import Node, Role, node
from headrace.schema import shown


@dataclass(frozen=True)
class SessionWindow:
    """Sessions over a column of time, made by `hr.sessions`; the gap in microseconds."""

    time: Any
    gap_us: int
    per: tuple[Any, ...]


@node("sessions", Role.STATEFUL)
class Sessions(Node):
    """Each row with its session: the session's start, end and time behind the other columns.

    Law: each row has a span, `gap_us` long from its time on, or until the time `until`. Spans of equal `per` that overlap or touch are one
    session, from the first start to the last end. Its time is the last millisecond before the end. A row without a time is a dead letter;
    one whose span has no length is in no session.

    `emit`: a row is sent at once, and anew when the bounds of its session have changed, or once, when its session closes; that is
    `lateness_ms` after its end.

    >>> import headrace as hr
    >>> charges = hr.read.memory([], "card string, ts timestamp", name="charges").watermark("ts", "5 minutes")
    >>> # epoch 1: +(a, 12:00)   ->   +(a, 12:00, 12:00, 12:10, 12:09:59.999)
    >>> # epoch 2: +(a, 12:10)   ->   -(a, 12:00, 12:00, 12:10, 12:09:59.999) +(a, 12:00, 12:00, 12:20, 12:19:59.999)
    >>> #                             +(a, 12:10, 12:00, 12:20, 12:19:59.999)
    >>> charges.window(hr.sessions("ts", "10 minutes", per="card"))
    <Stream sessions: card, ts, window_start, window_end, window_time>
    """

    by_content: ClassVar[bool] = True

    input: Node
    per: tuple[str, ...]
    time: str
    gap_us: int | None = field(metadata={"least": 1})
    until: str | None = None
    names: tuple[str, ...] = COLUMNS
    emit: str = field(default=CHANGES, metadata={"of": (CHANGES, CLOSE)})
    lateness_ms: int = field(default=0, metadata={"least": 0})

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return (*self.input.columns, *self.names)

    @property
    def fits(self) -> bool:
        return len(self.names) == len(COLUMNS) and (self.gap_us is None) != (self.until is None)

    @property
    def outputs(self) -> tuple[str, ...]:
        return (DEAD_LETTER,)

    def describe(self) -> str:
        per = f" per {', '.join(self.per)}" if self.per else ""
        length = f"until {self.until}" if self.gap_us is None else f"{shown_micros(self.gap_us)} long"
        late = f", {shown(self.lateness_ms)} late at the most" if self.lateness_ms else ""
        return f"spans from {self.time} on{per}, {length}, emit={self.emit}{late}"


_UNSAID: Any = object()


def sessions(time: Any, gap: str | timedelta, *, per: Column | str | Iterable[Column | str] = _UNSAID) -> SessionWindow:
    """Sessions that end after a gap without rows: `charges.window(hr.sessions("ts", "10 minutes", per="card"))`.

    `per` is the column or columns whose rows have sessions of their own; `per=()` is one session at a time of the whole stream.
    """
    if per is _UNSAID:
        hint = f'name them, hr.sessions({time!r}, {gap!r}, per="card"), or give the whole stream one session at a time: per=()'
        raise PlanError("BAD_KEY", "sessions of what is not said: which columns have sessions of their own", hint=hint, site=here())
    return SessionWindow(time, micros(gap, "the gap"), tuple(listed(per, "per")))


def in_sessions(
    input: Node, asked: SessionWindow, emit: str, early: str | timedelta | None, lateness: str | timedelta, alias: str | None
) -> Sessions:
    late = when_sent(emit, lateness)
    if early is not None:
        raise not_early()
    time = single(input, asked.time, alias)
    per = given(input, asked.per, {}, alias)
    once([*input.columns, *COLUMNS], "window")
    return Sessions(input, tuple(one.text for one in per), time.text, asked.gap_us, None, COLUMNS, emit, late, site=here())


def not_early() -> PlanError:
    """The error for sessions that are to be sent before they close, and then anew."""
    hint = 'send each change, emit="changes", or once, emit="close"'
    return PlanError("BAD_INPUT", "rows of sessions are not sent early", hint=hint, site=here())
