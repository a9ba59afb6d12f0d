"""Sessions: spans of rows that are close together in time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from typing import Any

from headrace.errors import PlanError, here
from headrace.expr import Column
from headrace.ops.columns import listed, once, single, verb_arguments
from headrace.ops.facts.carried import CHANGES, CLOSE, EVENT, INSTANTS, NEXT_MILLI, SELF, Closes, Columns, carried
from headrace.ops.facts.clock import NO_TIME, NONE, WATERMARK, Clock
from headrace.ops.facts.closing import Group, Wait, closing, result
from headrace.ops.facts.keys import Keys
from headrace.ops.facts.kind import APPEND, kind_of
from headrace.ops.facts.outputs import LATE
from headrace.ops.facts.provenance import OfSpan, Provenance
from headrace.ops.facts.reading import Wanted, both, read
from headrace.ops.facts.state import GROWS, RELEASED, Basis
from headrace.ops.inlet import Checked, Inlet, inlet, numbered
from headrace.ops.operator import Unary, Ungrouped
from headrace.ops.parts import EndingText, RelationText, TimingText
from headrace.ops.relational import Relational, partition_of
from headrace.ops.tree import Tree, reads
from headrace.ops.window import COLUMNS, KINDS, NULL_TIME, Windowing, micros, no_time, shown_micros, when_sent
from headrace.plan import Fact, Node, Project, Where, node
from headrace.schema import shown
from headrace.syntax import plain_name, quote


@dataclass(frozen=True)
class SessionWindow(Windowing):
    """Sessions over a column of time, made by `hr.sessions`; the gap is in microseconds."""

    time: Any
    gap_us: int
    per: tuple[Any, ...]

    def over(self, input: Node, emit: str, early: str | timedelta | None, lateness: str | timedelta, alias: str | None) -> Sessions:
        late = when_sent(emit, lateness)
        if early is not None:
            raise not_early()
        time = single(input, self.time, alias)
        per = verb_arguments(input, self.per, {}, alias, aliases=False)
        once([*input.columns, *COLUMNS], "window")
        return Sessions(input, tuple(one.text for one in per), time.text, self.gap_us, None, COLUMNS, emit, late, site=here())


@dataclass(frozen=True, kw_only=True)
class SessionsText(RelationText):
    """The key of sessions, the times of a row's span, the names of the added columns, and when rows are sent.

    A span ends `gap_us` after its begin, or at the time `until`; the other one is null.
    """

    per: tuple[str, ...]
    time: str
    gap_us: int | None
    until: str | None
    names: tuple[str, ...]
    emit: str


@node("sessions")
class Sessions(Relational, Unary, Ungrouped):
    """Each row with its session: the session's start, end and time after the other columns.

    Law: each row has a span that starts at its time and is `gap_us` long, or ends at the time `until`. Spans of equal `per` that overlap or
    touch are one session, from the first start to the last end. Its time is the last millisecond before the end. A row without a time is a
    dead letter; one whose span has no length is dropped.

    `emit`: a row is sent at once, and again when the bounds of its session have changed, or once, when its session closes, `lateness_ms`
    after its end.

    >>> import headrace as hr
    >>> charges = hr.read.memory([], "card string, ts timestamp", name="charges").watermark("ts", "5 minutes")
    >>> # epoch 1: +(a, 12:00)   ->   +(a, 12:00, 12:00, 12:10, 12:09:59.999)
    >>> # epoch 2: +(a, 12:10)   ->   -(a, 12:00, 12:00, 12:10, 12:09:59.999) +(a, 12:00, 12:00, 12:20, 12:19:59.999)
    >>> #                             +(a, 12:10, 12:00, 12:20, 12:19:59.999)
    >>> charges.window(hr.sessions("ts", "10 minutes", per="card"))
    <Stream sessions(charges): card, ts, window_start, window_end, window_time>
    """

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

    def describe(self) -> str:
        per = f" per {', '.join(self.per)}" if self.per else ""
        length = f"until {self.until}" if self.gap_us is None else f"{shown_micros(self.gap_us)} long"
        late = f", lateness {shown(self.lateness_ms)}" if self.lateness_ms else ""
        return f"spans from {self.time} on{per}, {length}, emit={self.emit}{late}"

    @property
    def key_names(self) -> tuple[str | None, ...]:
        return tuple(plain_name(text) for text in self.per)

    def kind_after(self, kinds: Mapping[Node, str]) -> str:
        # Rows of a closed session are never retracted.
        return APPEND if self.emit == CLOSE else CHANGES

    def keys_after(self, keys: Mapping[Node, Keys]) -> Keys:
        return keys[self.input]

    @property
    def provenance(self) -> Provenance:
        return OfSpan(self.per, self.time, (self.names[0], self.names[1]))

    @property
    def ended(self) -> Closes | None:
        """How sessions close, by their end, and whether their rows come directly from a source; None: they never do."""
        return self._ended(closing([self.input])[self.input])

    def _ended(self, before: Columns) -> Closes | None:
        time = carried(self.time, before)
        if time is None or time.clock != EVENT or time.at not in INSTANTS:
            return None
        # A row whose time is the end of a session still joins it.
        own = time.lateness_ms + (0 if time.at == SELF else 1)
        return Closes(SELF, max(own, self.lateness_ms), self.emit, time.straight)

    def closing_after(self, columns: Mapping[Node, Columns]) -> Columns:
        # Rows are sent long after their own time, and their session's start may be older still.
        end = self._ended(columns[self.input])
        if end is None:
            return {}
        return result({self.names[1].lower(): end, self.names[2].lower(): replace(end, at=NEXT_MILLI)})

    @property
    def judged(self) -> tuple[bool, ...]:
        end = self.ended
        return (end is not None and end.straight,)

    @property
    def knows_rows(self) -> bool:
        return any(self.judged) and kind_of(self.input) == CHANGES

    @property
    def sent_at_close(self) -> bool:
        return self.emit == CLOSE

    def wait(self, columns: Mapping[Node, Columns]) -> Wait:
        return Wait.HERE if self.sent_at_close else Wait.NOWHERE

    def unclosed(self, columns: Mapping[Node, Columns]) -> PlanError | None:
        timeless = self.emit == CLOSE and self.names[1].lower() not in columns[self]
        return no_time(self, "the rows of a session", self.time) if timeless else None

    def columns_read(self, wanted: Wanted) -> Mapping[str, Wanted]:
        return {"input": both(wanted, read(self.input, (*self.per, self.time, self.until)))}

    def kept(self, basis: Basis) -> Fact:
        rows = f"the rows in the order of time{f', of each {partition_of(self.per)}' if self.per else ''}"
        end = self.ended
        if end is None:
            return Fact(GROWS, f"grows with the rows, as a later row may join two sessions: {rows}")
        more = f" and {shown(end.lateness_ms)} more" if end.lateness_ms else ""
        late = "; later rows are late" if end.straight else ""
        if end.straight and self.gap_us is not None:
            late += f", by the end of the last session, which is kept for {shown_micros(self.gap_us)} more"
        return Fact(RELEASED, f"released when the watermark passes the end of a session{more}{late}; until then: {rows}")

    def goes_by(self, group: Group | None) -> Clock:
        return NO_TIME if self.ended is None else WATERMARK

    def relation(self) -> SessionsText:
        return SessionsText(per=self.per, time=self.time, gap_us=self.gap_us, until=self.until, names=self.names, emit=self.emit)

    def inlets(self, at: Checked, steady: bool = True) -> tuple[Inlet, ...]:
        """Return the inlet, with the span of a row as the first columns: rows come in the order of time, then of all columns."""
        start, end = self._unused("_start"), self._unused("_end")
        until = self.until or f"timestampadd(MICROSECOND, {self.gap_us}L, {self.time})"
        columns = ((column, quote(column)) for column in self.input.columns)
        spans = (
            Where(where=f"({self.time}) IS NOT NULL", reason=NULL_TIME, place=self.place),
            Project(project=((start, self.time), (end, until), *columns), place=self.place),
            Where(where=f"{end} > {start}", place=self.place),
        )
        key, schema = numbered(self.per), at.key_schema(self)
        rows = inlet(self.input, at, delivery="null_key", key=key, key_schema=schema, order="columns", steps=spans)
        time = next(str(field.type) for field in at.schema(self).fields if field.name == self.names[0])
        return (replace(rows, schema=f"{start} {time}, {end} {time}, {rows.schema}"),)

    def _unused(self, name: str) -> str:
        """Return a name that no column has."""
        while name in (column.lower() for column in self.input.columns):
            name += "_"
        return name

    def sent(self, changes: bool, group: Group | None) -> str:
        if changes:
            return "insertions and retractions, all of a session when its bounds change"
        return "insertions only, once, when their session closes"

    def clock_kept(self, ending: EndingText | None) -> str:
        return NONE if self.ended is None else EVENT

    def late_rows(self, ending: EndingText | None) -> dict[str, Node]:
        return {LATE: self.input} if any(self.judged) else {}

    def timing(self) -> TimingText:
        end = self.ended
        if end is None:
            return TimingText(clock=NONE)
        return TimingText(clock=EVENT, lateness_ms=end.lateness_ms, judged=end.straight)


class _Required:
    """The default of `per`, which has to be given; `()` is a value."""

    def __repr__(self) -> str:
        return "<required>"


_REQUIRED: Any = _Required()


def sessions(time: Any, gap: str | timedelta, *, per: Column | str | Iterable[Column | str] = _REQUIRED) -> SessionWindow:
    """Makes session windows: each holds the rows of a key that are close together in time.

    Each row covers the time from its own to `gap` later. Rows whose times overlap or touch are in one session, as in Spark's
    `session_window`.

    Args:
        time: The time of a row: a name, SQL text or column of type timestamp.
        gap: How long after its last row a session ends: a duration such as `"10 minutes"`, at least 1 millisecond.
        per: The key: each combination of values has its own sessions. `per=()` makes sessions of the whole stream.

    Returns:
        Windows for `Stream.window`.

    Raises:
        PlanError: `BAD_KEY` without `per`; `BAD_COLUMN` if `per` contains anything other than columns.
        SchemaError: `BAD_DURATION` if `gap` is not a duration, or zero.

    Examples:
        >>> import headrace as hr
        >>> times = [("a", "2026-01-01 12:00:00"), ("a", "2026-01-01 12:08:00"), ("a", "2026-01-01 13:00:00")]
        >>> charges = hr.read.memory(times, "card string, ts timestamp", name="charges")
        >>> in_sessions = charges.window(hr.sessions("ts", "10 minutes", per="card")).group_by("card", "window_start", "window_end")
        >>> spans = in_sessions.agg(n="count(*)").select("n", until="date_format(window_end, 'H:mm')")
        >>> sorted(hr.collect(spans).rows())
        [(1, '13:10'), (2, '12:18')]
    """
    if per is _REQUIRED:
        hint = f'name them, hr.sessions({time!r}, {gap!r}, per="card"); for sessions of the whole stream: per=()'
        raise PlanError("BAD_KEY", "hr.sessions needs `per`: the columns that have sessions of their own", hint=hint, site=here())
    return SessionWindow(time, micros(gap, "the gap"), tuple(listed(per, "per")))


KINDS["sessions"] = (sessions, ("gap", "per"), ())


def not_early() -> PlanError:
    """Return the error for sessions that should be sent early."""
    hint = 'emit each change, emit="changes", or once, emit="close"'
    return PlanError("BAD_INPUT", "window: sessions cannot be sent early", hint=hint, site=here())


@reads("sessions")
def _sessions(tree: Tree) -> Node:
    if tree.early_ms:
        raise not_early()
    per, names = tuple(tree["per"]), tuple(tree["names"])
    return Sessions(tree.node("input"), per, tree["time"], tree["gap"], tree["until"], names, tree.emit, site=tree.site)
