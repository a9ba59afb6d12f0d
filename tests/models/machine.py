"""A state machine with timers in plain Python: what a program over keyed inputs must give.

A model is written like a program, with one object per key instead of cells, and real values. `run` hands it its rows as DESIGN 9 says.
In the order of time, rows and timers of a key come in one order (rows before timers, the main input before the others), held until the
watermark has passed; rows behind the watermark of the epochs before are late. In the order of arrival rows come at once, none is late,
and timers come at the end of the epoch. At the end everything is flushed.

It is written for clearness only: all rows lie in lists that are searched from the front.
"""

from __future__ import annotations

import copy
import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

Row = tuple[Any, ...]
MILLI = dt.timedelta(milliseconds=1)
MICRO = dt.timedelta(microseconds=1)
ZERO = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
END = dt.datetime.max.replace(tzinfo=dt.UTC)


class Rejected(Exception):
    """A model does not take the row or the timer that it handles."""


@dataclass
class Model:
    """The state of one key. Handlers are `on_event`, `on_<input>`, `on_<timer>` and `on_late`."""

    # input -> (place of the key, None for a program without keys; place of the event time); the main one first, the others by name
    inputs: ClassVar[Mapping[str, tuple[int | None, int]]]
    # in the order of their declaration, which is the order of those that fire at one time
    timers: ClassVar[tuple[str, ...]] = ()
    # attribute -> how long it lasts. It is, or its elements are, or its values are a pair: something and the time when that was set
    brief: ClassVar[Mapping[str, dt.timedelta]] = {}

    key: Any
    out: list[tuple[str, Row]]
    # timer and its key, None for a timer without keys -> the time, and whether a timer set it
    pending: dict[tuple[str, Any], tuple[dt.datetime, bool]] = field(default_factory=dict)
    held: list[tuple[dt.datetime, int, Row]] = field(default_factory=list)
    in_timer: bool = False
    # the moment of the row or timer that is handled
    now: dt.datetime = ZERO

    def emit(self, *row: Any, to: str = "main") -> None:
        self.out.append((to, row))

    def set(self, timer: str, at: dt.datetime, key: Any = None) -> None:
        self.pending[timer, key] = (at, self.in_timer)

    def clear(self, timer: str, key: Any = None) -> None:
        self.pending.pop((timer, key), None)

    def clear_all(self, timer: str) -> None:
        for pending in [one for one in self.pending if one[0] == timer]:
            del self.pending[pending]

    def at(self, timer: str, key: Any = None) -> dt.datetime | None:
        return self.pending[timer, key][0] if (timer, key) in self.pending else None

    def expire(self, before: dt.datetime) -> None:
        """What lasts until a time before this one is gone."""
        for name, lasts in self.brief.items():
            kept = getattr(self, name)
            if isinstance(kept, dict):
                left: Any = {key: pair for key, pair in kept.items() if pair[1] + lasts >= before}
            elif isinstance(kept, list):
                left = [pair for pair in kept if pair[1] + lasts >= before]
            else:
                left = None if kept is None or kept[1] + lasts < before else kept
            setattr(self, name, left)


def sortable(row: Row) -> tuple[tuple[bool, Any], ...]:
    """Columns as Spark orders them: nulls first."""
    return tuple((value is not None, value) for value in row)


def floor(time: dt.datetime) -> dt.datetime:
    """Spark keeps watermarks in whole milliseconds."""
    return time - (time - ZERO) % MILLI


@dataclass(frozen=True)
class Times:
    """The watermark before the first epoch and after each one, None where there is none yet, and the latest event, in whole milliseconds
    too: the next one after it.
    """

    marks: Sequence[dt.datetime | None]
    last: dt.datetime


def times(epochs: Sequence[Mapping[str, Iterable[dt.datetime]]], delay: dt.timedelta) -> Times:
    """Of the times that each source of a query gives in each epoch: the slowest source tells the watermark."""
    latest: dict[str, dt.datetime] = {}
    marks: list[dt.datetime | None] = [None]
    for epoch in epochs:
        for source, source_times in epoch.items():
            for time in source_times:
                latest[source] = max(time, latest.get(source, time))
        mark = marks[-1]
        if set(latest) == set(epochs[0]):
            reached = min(floor(time) for time in latest.values()) - delay
            mark = reached if mark is None else max(mark, reached)
        marks.append(mark)
    return Times(marks, floor(max(latest.values()) + MILLI - MICRO) if latest else ZERO)


class Machine:
    """A model over all keys, epoch by epoch."""

    def __init__(self, model: type[Model], order: str) -> None:
        self.model = model
        self.order = order
        self.names = list(model.inputs)
        self.keys: dict[Any, Model] = {}
        self.out: list[tuple[str, Row]] = []

    def epoch(self, rows: Mapping[str, Iterable[Row]], before: dt.datetime | None, after: dt.datetime | None) -> None:
        """One commit: the rows of each input, judged by the watermark before it, and then all that the one after it makes due."""
        came: list[tuple[dt.datetime, int, Row, Model]] = []
        for side, name in enumerate(self.names):
            key_at, time_at = self.model.inputs[name]
            for row in rows.get(name, ()):
                key = None if key_at is None else row[key_at]
                came.append((row[time_at], side, row, self.keys.setdefault(key, self.model(key, self.out))))
        for time, side, row, state in sorted(came, key=self._place):
            if self.order == "arrival":
                self._row(state, time, side, row)
            elif before is not None and time <= before:
                self._late(state, time, side, row)
            else:
                state.held.append((time, side, row))
        for mark in (before, after):
            if mark is not None:
                self._due(mark)

    def _place(self, came: tuple[dt.datetime, int, Row, Model]) -> Any:
        """Within an epoch, rows in the order of arrival come by input and columns, so that a repeated epoch is the same."""
        time, side, row, _ = came
        return (time, side, sortable(row)) if self.order == "time" else (side, sortable(row))

    def finish(self, last: dt.datetime) -> None:
        """The end of bounded input: everything held is handled and every timer fires, but those that timers set behind the last event."""
        self._due(END, last)

    def _due(self, limit: dt.datetime, last: dt.datetime | None = None) -> None:
        for state in self.keys.values():
            reached = ZERO
            while (time := self._step(state, limit, last, reached)) is not None:
                reached = max(reached, time)
            if limit != END:
                state.expire(limit + MICRO)

    def _step(self, state: Model, limit: dt.datetime, last: dt.datetime | None, reached: dt.datetime) -> dt.datetime | None:
        """Handles the first row or timer of a key that is due, and tells its time. In time order one for the past does not turn time back."""
        rows = [(time, 0, side, sortable(row), row) for time, side, row in state.held if time <= limit]
        timers = [
            (at, 1, self.model.timers.index(name), sortable((key,)), (name, key))
            for (name, key), (at, by_timer) in state.pending.items()
            if at <= limit and (last is None or not by_timer or at <= last)
        ]
        if not rows and not timers:
            return None
        time, is_timer, number, _, what = min([*rows, *timers], key=lambda item: item[:4])
        if is_timer:
            name, key = what
            del state.pending[name, key]
            handler = getattr(state, f"on_{name}")
            moment = max(time, reached) if self.order == "time" else time
            self._handle(state, moment, lambda: handler(time) if key is None else handler(time, key), in_timer=True)
        else:
            state.held.remove((time, number, what))
            self._row(state, time, number, what)
        return time

    def _row(self, state: Model, time: dt.datetime, side: int, row: Row) -> None:
        handler = getattr(state, f"on_{self.names[side]}")
        self._handle(state, time, lambda: handler(row))

    def _late(self, state: Model, time: dt.datetime, side: int, row: Row) -> None:
        name = "late" if side == 0 else f"late_{self.names[side]}"

        def handle() -> None:
            state.emit(*row, to=name)
            if side == 0 and hasattr(state, "on_late"):
                state.on_late(row)

        self._handle(state, time, handle)

    def _handle(self, state: Model, now: dt.datetime, handler: Callable[[], None], *, in_timer: bool = False) -> None:
        """What is rejected leaves a dead letter and nothing else."""
        state.expire(now)
        state.now, state.in_timer = now, in_timer
        emitted = len(self.out)
        before = {name: copy.deepcopy(value) for name, value in vars(state).items() if name not in ("out", "held")}
        try:
            handler()
        except Rejected as reason:
            del self.out[emitted:]
            vars(state).update(before)
            self.out.append(("dead_letter", (str(reason),)))

    def outputs(self) -> dict[str, Counter[Row]]:
        """The rows of each output so far, with how often each is there."""
        emitted: dict[str, Counter[Row]] = {}
        for output, row in self.out:
            emitted.setdefault(output, Counter())[row] += 1
        return emitted


def run(model: type[Model], epochs: Sequence[Mapping[str, Sequence[Row]]], times: Times, *, order: str = "time") -> dict[str, Counter[Row]]:
    """What a model gives for these epochs."""
    machine = Machine(model, order)
    for number, rows in enumerate(epochs):
        machine.epoch(rows, times.marks[number], times.marks[number + 1])
    machine.finish(times.last)
    return machine.outputs()
