"""Windows of time: which ones a row falls into, and what becomes of what is computed of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Any

from headrace.errors import PlanError, SchemaError, here
from headrace.ops.columns import once, single
from headrace.plan import Generate, Node, Where, node, steps
from headrace.schema import milliseconds, shown

START, END, TIME = "window_start", "window_end", "window_time"
COLUMNS = (START, END, TIME)
CHANGES, CLOSE = "changes", "close"

NULL_TIME = "NULL_TIME: the event time is null"
"""Why a row is in no window, and in no session."""


@dataclass(frozen=True)
class Window:
    """A kind of windows over a column of time, made by `hr.tumble`, `hr.hop` and `hr.cumulate`; all in microseconds."""

    kind: str
    time: Any
    size_us: int
    step_us: int
    offset_us: int


@node("windows")
class Windows(Node):
    """A row for each window that the time of a row falls into, with the window's start, end and time behind the other columns.

    The end is not part of the window; its time is the last millisecond before it. A row without a time is a dead letter.
    `emit`: what is computed of a window is sent as it changes, or once, when the window closes; it closes `lateness_ms` after its end.
    With `early_ms` what has changed is also sent whenever the watermark passes a multiple of that, and from the window's end on at once.

    >>> import headrace as hr
    >>> charges = hr.read.memory([], "card string, ts timestamp", name="charges").watermark("ts", "5 minutes")
    >>> charges.window(hr.tumble("ts", "10 seconds"))          # (a, 12:00:07)   ->   (a, 12:00:07, 12:00:00, 12:00:10, 12:00:09.999)
    <Stream charges.window: card, ts, window_start, window_end, window_time>
    """

    input: Node
    kind: str = field(metadata={"of": ("tumble", "hop", "cumulate")})
    time: str
    size_us: int = field(metadata={"least": 1})
    step_us: int = field(metadata={"least": 1})
    offset_us: int
    names: tuple[str, ...] = COLUMNS
    emit: str = field(default=CHANGES, metadata={"of": (CHANGES, CLOSE)})
    lateness_ms: int = field(default=0, metadata={"least": 0})
    early_ms: int = field(default=0, metadata={"later": True, "least": 0})

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return (*self.input.columns, *self.names)

    @property
    def fits(self) -> bool:
        return len(self.names) == len(COLUMNS) and self.step_us <= self.size_us

    @property
    def verb(self) -> str:
        return "window"

    def describe(self) -> str:
        step = "" if self.step_us == self.size_us else f" every {shown_micros(self.step_us)}"
        offset = f" from {shown_micros(self.offset_us)} on" if self.offset_us else ""
        late = f", {shown(self.lateness_ms)} late at the most" if self.lateness_ms else ""
        early = f", early every {shown(self.early_ms)}" if self.early_ms else ""
        return f"{self.kind} {self.time} by {shown_micros(self.size_us)}{step}{offset}, emit={self.emit}{early}{late}"


@steps.register
def _(node: Windows) -> tuple[Where, Generate]:
    text = f"time_windows({node.time}, '{node.kind}', {node.size_us}L, {node.step_us}L, {node.offset_us}L)"
    return Where(f"({node.time}) IS NOT NULL", node.site, NULL_TIME), Generate(text, node.names, False, node.site)


def tumble(time: Any, size: str | timedelta, *, offset: str | timedelta = "0 seconds") -> Window:
    """Windows one behind the other: `charges.window(hr.tumble("ts", "10 seconds"))`. `offset` moves all of them."""
    length = micros(size, "the size")
    return Window("tumble", time, length, length, _offset(offset, length))


def hop(time: Any, size: str | timedelta, step: str | timedelta, *, offset: str | timedelta = "0 seconds") -> Window:
    """Windows of a size that begin at every step, so that a row is in several: `hr.hop("ts", "10 minutes", "5 minutes")`."""
    length, every = micros(size, "the size"), micros(step, "the step")
    if every > length:
        raise _wrong(
            f"the step cannot be {step!r}: between windows of {shown_micros(length)} rows would be in none", "a step of the size or less"
        )
    return Window("hop", time, length, every, _offset(offset, every))


def cumulate(time: Any, size: str | timedelta, step: str | timedelta, *, offset: str | timedelta = "0 seconds") -> Window:
    """Windows that begin together and end one step apart, up to the size: `hr.cumulate("ts", "1 day", "1 hour")`."""
    length, every = micros(size, "the size"), micros(step, "the step")
    if length % every:
        raise _wrong(f"the size cannot be {size!r}: it is no multiple of the step, {shown_micros(every)}", "a size of whole steps")
    return Window("cumulate", time, length, every, _offset(offset, length))


def window(input: Node, asked: Any, emit: str, early: str | timedelta | None, lateness: str | timedelta, alias: str | None) -> Windows:
    if not isinstance(asked, Window):
        hint = '.window(hr.tumble("ts", "10 seconds")), or hr.hop, hr.cumulate or hr.sessions'
        raise PlanError("BAD_INPUT", f"window was given {asked!r}, which is no window", hint=hint, site=here())
    late = when_sent(emit, lateness)
    apart = 0 if early is None else between(early, emit)
    time = single(input, asked.time, alias)
    once([*input.columns, *COLUMNS], "window")
    sizes = (asked.size_us, asked.step_us, asked.offset_us)
    return Windows(input, asked.kind, time.text, *sizes, COLUMNS, emit, late, apart, site=here())


def between(early: str | timedelta, emit: str) -> int:
    """How many milliseconds lie between two early results."""
    if emit != CLOSE:
        message = f"window: early={early!r} has no meaning with emit={emit!r}, which sends each change at once"
        hint = 'leave early out, or hold what changes between: emit="close", early="1 minute"'
        raise PlanError("BAD_INPUT", message, hint=hint, site=here())
    apart = milliseconds(early, "early")
    if not apart:
        raise _wrong(f"early cannot be {early!r}", 'a millisecond at least; each change at once is emit="changes"')
    return apart


def when_sent(emit: str, lateness: str | timedelta) -> int:
    """The lateness in milliseconds."""
    if emit not in (CHANGES, CLOSE):
        raise PlanError("BAD_INPUT", f"window: emit cannot be {emit!r}", hint='it is "changes" or "close"', site=here())
    return milliseconds(lateness, "the lateness")


def micros(value: str | timedelta, what: str) -> int:
    micros = milliseconds(value, what) * 1000
    if not micros:
        raise _wrong(f"{what} cannot be {value!r}", "a window lasts a millisecond at least")
    return micros


def _offset(value: str | timedelta, every: int) -> int:
    return milliseconds(value, "the offset") * 1000 % every


def _wrong(message: str, hint: str) -> SchemaError:
    return SchemaError("BAD_DURATION", message, hint=hint, site=here())


def shown_micros(micros: int) -> str:
    return shown(micros // 1000) if micros % 1000 == 0 else f"{micros} microseconds"
