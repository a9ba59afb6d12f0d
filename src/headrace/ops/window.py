"""Time windows: the windows of a row, and when their results are sent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from typing import Any, Self

from headrace.errors import PlanError, SchemaError, here
from headrace.ops.columns import label, once, single
from headrace.ops.facts.carried import CHANGES, CLOSE, INSTANTS, NEXT_MILLI, SELF, Columns, Time, carried
from headrace.ops.facts.reading import Wanted, both, read
from headrace.ops.handle import Handle, verb
from headrace.ops.operator import Repeating
from headrace.ops.tree import Tree, reads
from headrace.plan import Generate, Node, Where, node
from headrace.schema import milliseconds, shown

START, END, TIME = "window_start", "window_end", "window_time"
COLUMNS = (START, END, TIME)

NULL_TIME = "NULL_TIME: the event time is null"
"""Why a row is in no window and in no session."""


class Windowing(ABC):
    """The argument of `.window(...)`: windows of some kind over a column of time."""

    @abstractmethod
    def over(self, input: Node, emit: str, early: str | timedelta | None, lateness: str | timedelta, alias: str | None) -> Node:
        """Return the rows of a node with their windows."""


@dataclass(frozen=True)
class Window(Windowing):
    """Windows of a kind over a column of time, made by `hr.tumble`, `hr.hop` and `hr.cumulate`; sizes are in microseconds."""

    kind: str
    time: Any
    size_us: int
    step_us: int
    offset_us: int

    def over(self, input: Node, emit: str, early: str | timedelta | None, lateness: str | timedelta, alias: str | None) -> Windows:
        late = when_sent(emit, lateness)
        apart = 0 if early is None else between(early, emit)
        time = single(input, self.time, alias)
        once([*input.columns, *COLUMNS], "window")
        sizes = (self.size_us, self.step_us, self.offset_us)
        return Windows(input, self.kind, time.text, *sizes, COLUMNS, emit, late, apart, site=here())


@node("windows")
class Windows(Repeating):
    """A row for each window that the time of a row falls into, with the window's start, end and time after the other columns.

    The end is exclusive; the window's time is the last millisecond before it. A row without a time is a dead letter.
    `emit`: results of a window are sent as they change, or once, when the window closes, `lateness_ms` after its end. With `early_ms`
    changed results are also sent when the watermark passes a multiple of that, and from the window's end on at once.

    >>> import headrace as hr
    >>> charges = hr.read.memory([], "card string, ts timestamp", name="charges").watermark("ts", "5 minutes")
    >>> charges.window(hr.tumble("ts", "10 seconds"))          # (a, 12:00:07)   ->   (a, 12:00:07, 12:00:00, 12:00:10, 12:00:09.999)
    <Stream charges.window: card, ts, window_start, window_end, window_time>
    """

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
        late = f", lateness {shown(self.lateness_ms)}" if self.lateness_ms else ""
        early = f", early every {shown(self.early_ms)}" if self.early_ms else ""
        return f"{self.kind} {self.time} by {shown_micros(self.size_us)}{step}{offset}, emit={self.emit}{early}{late}"

    def steps(self) -> tuple[Where, Generate]:
        text = f"time_windows({self.time}, '{self.kind}', {self.size_us}L, {self.step_us}L, {self.offset_us}L)"
        timed = Where(where=f"({self.time}) IS NOT NULL", reason=NULL_TIME, place=self.place)
        return timed, Generate(generate=text, names=self.names, outer=False, place=self.place)

    def closing_after(self, columns: Mapping[Node, Columns]) -> Columns:
        before = columns[self.input]
        time = carried(self.time, before)
        if time is None or time.at not in INSTANTS:
            return before
        late = max(time.lateness_ms, self.lateness_ms)
        ended = {
            self.names[0]: Time(self.size_us),
            self.names[1]: SELF,
            self.names[2]: NEXT_MILLI,
        }
        kept = {name: replace(closes, lateness_ms=max(closes.lateness_ms, late)) for name, closes in before.items()}
        own = {name.lower(): replace(time, at=at, lateness_ms=late) for name, at in ended.items()}
        return {name: replace(closes, emit=self.emit, early_ms=self.early_ms) for name, closes in {**kept, **own}.items()}

    @property
    def sent_at_close(self) -> bool:
        return self.emit == CLOSE

    @property
    def awaited(self) -> str | None:
        return self.names[1] if self.sent_at_close else None

    def unclosed(self, columns: Mapping[Node, Columns]) -> PlanError | None:
        timeless = self.emit == CLOSE and self.names[1].lower() not in columns[self]
        return no_time(self, "the results of a window", self.time) if timeless else None

    def columns_read(self, wanted: Wanted) -> Mapping[str, Wanted]:
        return {"input": both(wanted, read(self.input, [self.time]))}


def no_time(node: Node, what: str, time: str) -> PlanError:
    """Return the error for windows and sessions with `emit="close"` whose time is not event time."""
    return PlanError(
        "NO_WATERMARK",
        f"{label(node)} sends {what} when it closes, but `{time}` is not event time, so none ever does",
        hint=f'give the source a watermark, .watermark("{time}", "5 minutes"), or emit each change: emit="changes"',
        site=node.site,
    )


def tumble(time: Any, size: str | timedelta, *, offset: str | timedelta = "0 seconds") -> Window:
    """Makes consecutive windows of one length, aligned to 1970-01-01 00:00 UTC.

    For the calendar days of a time zone, group by `"date(ts) AS day"` instead, with the zone in `spark.sql.session.timeZone`. Only
    `expires` releases the state of such groups.

    Args:
        time: The time of a row: a name, SQL text or column of type timestamp.
        size: The length, a duration such as `"10 seconds"`, at least 1 millisecond.
        offset: Shifts all windows: `"2 hours"` makes windows of a day begin at 02:00 UTC. Not negative: for days of UTC+8 write `"16
            hours"`.

    Returns:
        Windows for `Stream.window`.

    Raises:
        SchemaError: `BAD_DURATION` if `size` or `offset` is not a duration, or `size` is zero.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", "2026-01-01 12:00:07")], "card string, ts timestamp", name="charges")
        >>> windowed = charges.window(hr.tumble("ts", "10 seconds"))       # in the window from 12:00:00 to 12:00:10
    """
    length = micros(size, "the size")
    return Window("tumble", time, length, length, _offset(offset, length))


def hop(time: Any, size: str | timedelta, step: str | timedelta, *, offset: str | timedelta = "0 seconds") -> Window:
    """Makes windows of one length, one starting every `step`. Also called sliding windows.

    If `step` is shorter than `size`, the windows overlap and a row is in several. SQL takes the step before the size, as in Flink.

    Args:
        time: The time of a row: a name, SQL text or column of type timestamp.
        size: The length, a duration such as `"10 minutes"`, at least 1 millisecond.
        step: The interval between window starts, a duration of at most `size`.
        offset: Shifts all windows, which are aligned to 1970-01-01 00:00 UTC.

    Returns:
        Windows for `Stream.window`.

    Raises:
        SchemaError: `BAD_DURATION` if an argument is not a duration, `size` or `step` is zero, or `step` is longer than `size`.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", "2026-01-01 12:00:07")], "card string, ts timestamp", name="charges")
        >>> windowed = charges.window(hr.hop("ts", "10 seconds", "5 seconds"))     # from 12:00:00 to 12:00:10, from 12:00:05 to 12:00:15
    """
    length, every = micros(size, "the size"), micros(step, "the step")
    if every > length:
        raise _wrong(
            f"the step cannot be {step!r}: rows between windows of {shown_micros(length)} would be in none",
            "use a step of at most the size",
        )
    return Window("hop", time, length, every, _offset(offset, every))


def cumulate(time: Any, size: str | timedelta, step: str | timedelta, *, offset: str | timedelta = "0 seconds") -> Window:
    """Makes windows that begin together and end one step apart, up to a size: the first hour of a day, its first two hours, and so on.

    SQL takes the step before the size, as in Flink.

    Args:
        time: The time of a row: a name, SQL text or column of type timestamp.
        size: The length of the longest window, a duration such as `"1 day"`: a multiple of `step`.
        step: The interval between window ends, a duration of at least 1 millisecond.
        offset: Shifts all windows, which are aligned to 1970-01-01 00:00 UTC.

    Returns:
        Windows for `Stream.window`.

    Raises:
        SchemaError: `BAD_DURATION` if an argument is not a duration, `size` or `step` is zero, or `size` is no multiple of `step`.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", "2026-01-01 22:10:00")], "card string, ts timestamp", name="charges")
        >>> windowed = charges.window(hr.cumulate("ts", "1 day", "1 hour"))        # from 00:00 to 23:00, from 00:00 to 24:00
    """
    length, every = micros(size, "the size"), micros(step, "the step")
    if length % every:
        raise _wrong(f"the size cannot be {size!r}: it is not a multiple of the step, {shown_micros(every)}", "use a multiple of the step")
    return Window("cumulate", time, length, every, _offset(offset, length))


def between(early: str | timedelta, emit: str) -> int:
    """Return the interval between two early results, in milliseconds."""
    if emit != CLOSE:
        message = f"window: early={early!r} has no meaning with emit={emit!r}, which sends each change at once"
        hint = 'leave early out, or hold changes back: emit="close", early="1 minute"'
        raise PlanError("BAD_INPUT", message, hint=hint, site=here())
    apart = milliseconds(early, "early")
    if not apart:
        raise _wrong(f"early cannot be {early!r}", 'use at least a millisecond; for each change at once, emit="changes"')
    return apart


def when_sent(emit: str, lateness: str | timedelta) -> int:
    """Return the lateness in milliseconds; raises for an unknown `emit`."""
    if emit not in (CHANGES, CLOSE):
        raise PlanError("BAD_INPUT", f"window: `emit` cannot be {emit!r}", hint='it is "changes" or "close"', site=here())
    return milliseconds(lateness, "the lateness")


def micros(value: str | timedelta, what: str) -> int:
    micros = milliseconds(value, what) * 1000
    if not micros:
        raise _wrong(f"{what} cannot be {value!r}", "a window lasts at least a millisecond")
    return micros


def _offset(value: str | timedelta, every: int) -> int:
    return milliseconds(value, "the offset") * 1000 % every


def _wrong(message: str, hint: str) -> SchemaError:
    return SchemaError("BAD_DURATION", message, hint=hint, site=here())


def shown_micros(micros: int) -> str:
    return shown(micros // 1000) if micros % 1000 == 0 else f"{micros} microseconds"


@reads("windows")
def _windows(tree: Tree) -> Node:
    names = tuple(tree["names"])
    times = (tree["time"], tree["size"], tree["step"], tree["offset"])
    return Windows(tree.node("input"), tree["kind"], *times, names, tree.emit, early_ms=tree.early_ms, site=tree.site)


class WindowVerb(Handle):
    __slots__ = ()

    def window(
        self,
        window_: Windowing,
        *,
        emit: str = "changes",
        early: str | timedelta | None = None,
        lateness: str | timedelta = "0 seconds",
    ) -> Self:
        """Puts each row into its windows, to group, join or rank by them.

        A row in several windows becomes one row for each, with the columns `window_start`, `window_end` (exclusive) and `window_time` (the
        last millisecond). A row with a null time becomes a dead letter (`NULL_TIME`). An operator downstream that groups, joins or ranks by
        a window column releases the state of a window when the watermark closes it; rows that come later are in its output `late`.

        Sessions return the rows with the bounds of their session. With `emit="changes"` a change of the bounds retracts and re-emits the
        rows; with `emit="close"` they are emitted once, when the session closes.

        Args:
            window_: Windows of `hr.tumble`, `hr.hop`, `hr.cumulate` or `hr.sessions`.
            emit: `"changes"` sends the results of a window as they change; `"close"` sends them once, when the window closes.
            early: With `emit="close"`: also sends results before the window closes. `"1 minute"` sends changed results each time the
                watermark passes a full minute, and again at the window's end. After that, until `lateness` is over, each epoch that changes
                a result sends it. Not for sessions.
            lateness: How long a window stays open after the watermark passes its end: a duration. With `emit="changes"` or `early`, results
                that were sent are revised, as with Flink's allowed lateness. With `emit="close"` alone, the one result is sent that much
                later.

        Raises:
            PlanError: `BAD_INPUT` if `window` is no window, `emit` is unknown or `early` does not fit; `UNKNOWN_COLUMN` if the time is no
                column; `DUPLICATE_COLUMN` if the stream has window columns already. When the job is built, with `emit="close"`,
                `NO_WATERMARK` if the time is not event time and `NEVER_CLOSES` if no operator downstream has a window column among its keys
                (sessions need none).
            SchemaError: `BAD_DURATION` if `early` or `lateness` is not a duration, or `early` is zero.

        Examples:
            >>> import headrace as hr
            >>> rows = [("a", "2026-01-01 12:00:03", 7), ("a", "2026-01-01 12:00:16", 5), ("a", "2026-01-01 12:00:09", 2)]
            >>> charges = hr.read.memory(rows, "card string, ts timestamp, amount int", name="charges").watermark("ts", "5 seconds")
            >>> sums = charges.window(hr.tumble("ts", "10 seconds"), emit="close").group_by("window_end", "card").agg(spent="sum(amount)")
            >>> sorted(hr.collect(sums.select("spent", until="date_format(window_end, 'H:mm:ss')")).rows())
            [(5, '12:00:20'), (9, '12:00:10')]
        """
        return self._then(_windowing(window_).over(self._node, emit, early, lateness, self._alias), self._alias)

    @verb("window")
    def _window(
        self,
        kind: str,
        time: str,
        size: str | None = None,
        step: str | None = None,
        offset: str | None = None,
        gap: str | None = None,
        per: str | Iterable[str] | None = None,
        emit: str = "changes",
        early: str | None = None,
        lateness: str = "0 seconds",
    ) -> Self:
        """The form of files: `window: {kind: tumble, time: ts, size: 10 seconds}`."""
        options = {"size": size, "step": step, "offset": offset, "gap": gap, "per": per}
        window = of_kind(kind, time, {name: value for name, value in options.items() if value is not None})
        return self.window(window, emit=emit, early=early, lateness=lateness)


def _windowing(window: Any) -> Windowing:
    if not isinstance(window, Windowing):
        hint = 'write .window(hr.tumble("ts", "10 seconds")), or use hr.hop, hr.cumulate or hr.sessions'
        raise PlanError("BAD_INPUT", f"window expects a window, got {window!r}", hint=hint, site=here())
    return window


def of_kind(kind: str, time: str, options: Mapping[str, Any]) -> Windowing:
    """Return windows of a kind by its name."""
    if kind not in KINDS:
        *names, last = KINDS
        hint = f"the kinds are {', '.join(names)} and {last}: `window: {{kind: tumble, time: ts, size: 10 seconds}}`"
        raise PlanError("YAML_TYPE", f"unknown kind of window `{kind}`", hint=hint, site=here())
    make, needed, others = KINDS[kind]
    lacking = [f"needs `{name}`" for name in needed if name not in options]
    wrong = [f"has no `{name}`" for name in options if name not in (*needed, *others)]
    if lacking or wrong:
        hint = f"besides kind and time it has: {', '.join((*needed, *others, 'emit', 'lateness'))}"
        raise PlanError("YAML_KEY", f"`window` of the kind {kind} {(lacking + wrong)[0]}", hint=hint, site=here())
    return make(time, **options)


KINDS: dict[str, tuple[Callable[..., Windowing], tuple[str, ...], tuple[str, ...]]] = {
    "tumble": (tumble, ("size",), ("offset",)),
    "hop": (hop, ("size", "step"), ("offset",)),
    "cumulate": (cumulate, ("size", "step"), ("offset",)),
}
"""The kinds of windows in files: their functions, the options that they need beside the time, and those that they may have."""
