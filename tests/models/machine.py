"""A state machine with timers in plain Python: what a program over keyed inputs in time order must give.

A model is written like a program, with one object per key instead of cells, and real values. `run` hands it its rows as DESIGN 9 says:
rows and timers of a key in one order of time (rows before timers, the main input before the others), held until the watermark has passed;
rows behind the watermark of the epochs before are late; at the end everything is flushed.

It is written for clearness only: all rows lie in lists that are searched from the front.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

Row = tuple[Any, ...]
MILLI = dt.timedelta(milliseconds=1)
ZERO = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass
class Model:
    """The state of one key. Handlers are `on_event`, `on_<input>`, `on_<timer>` and `on_late`."""

    # input -> (place of the key, place of the event time); the main one first, the others by name
    inputs: ClassVar[Mapping[str, tuple[int, int]]]
    # in the order of their declaration, which is the order of those that fire at one time
    timers: ClassVar[tuple[str, ...]] = ()

    key: Any
    out: list[tuple[str, Row]]
    pending: dict[str, tuple[dt.datetime, bool]] = field(default_factory=dict)
    held: list[tuple[dt.datetime, int, Row]] = field(default_factory=list)
    in_timer: bool = False

    def emit(self, *row: Any, to: str = "main") -> None:
        self.out.append((to, row))

    def set(self, timer: str, at: dt.datetime) -> None:
        self.pending[timer] = (at, self.in_timer)

    def clear(self, timer: str) -> None:
        self.pending.pop(timer, None)


def sortable(row: Row) -> tuple[tuple[bool, Any], ...]:
    """Columns as Spark orders them: nulls first."""
    return tuple((value is not None, value) for value in row)


def floor(time: dt.datetime) -> dt.datetime:
    """Spark keeps watermarks in whole milliseconds."""
    return time - (time - ZERO) % MILLI


class Machine:
    """A model over all keys, epoch by epoch."""

    def __init__(self, model: type[Model], delays: Mapping[str, dt.timedelta]) -> None:
        self.model = model
        self.delays = delays
        self.names = list(model.inputs)
        self.keys: dict[Any, Model] = {}
        self.out: list[tuple[str, Row]] = []
        self.latest: dict[str, dt.datetime] = {}
        self.watermark: dt.datetime | None = None

    def epoch(self, rows: Mapping[str, Iterable[Row]]) -> None:
        """One commit: the rows of each input, judged by the watermark of the epochs before, and then all that has become due."""
        late: list[tuple[dt.datetime, int, Row, Model]] = []
        for side, name in enumerate(self.names):
            key_at, time_at = self.model.inputs[name]
            for row in rows.get(name, ()):
                time = row[time_at]
                self.latest[name] = max(time, self.latest.get(name, time))
                state = self.keys.setdefault(row[key_at], self.model(row[key_at], self.out))
                if self.watermark is not None and time <= self.watermark:
                    late.append((time, side, row, state))
                else:
                    state.held.append((time, side, row))
        for _, side, row, state in sorted(late, key=lambda item: (item[0], item[1], sortable(item[2]))):
            self.out.append(("late" if side == 0 else f"late_{self.names[side]}", row))
            if side == 0 and hasattr(state, "on_late"):
                state.on_late(row)
        if self.watermark is not None:
            self._due(self.watermark)
        if set(self.latest) == set(self.names):
            reached = min(floor(self.latest[name]) - self.delays[name] for name in self.names)
            self.watermark = reached if self.watermark is None else max(self.watermark, reached)
            self._due(self.watermark)

    def finish(self) -> None:
        """The end of bounded input: everything held is handled and every timer fires, but those that timers set behind the last event."""
        if self.latest:
            self._due(dt.datetime.max.replace(tzinfo=dt.UTC), last=floor(max(self.latest.values())))

    def _due(self, limit: dt.datetime, last: dt.datetime | None = None) -> None:
        for state in self.keys.values():
            while self._step(state, limit, last):
                pass

    def _step(self, state: Model, limit: dt.datetime, last: dt.datetime | None) -> bool:
        """Handles the first row or timer of a key that is due."""
        rows = [(time, 0, side, sortable(row), row) for time, side, row in state.held if time <= limit]
        timers = [
            (at, 1, self.model.timers.index(name), (), name)
            for name, (at, by_timer) in state.pending.items()
            if at <= limit and (last is None or not by_timer or at <= last)
        ]
        if not rows and not timers:
            return False
        time, is_timer, number, _, what = min([*rows, *timers], key=lambda item: item[:4])
        if is_timer:
            del state.pending[str(what)]
            state.in_timer = True
            getattr(state, f"on_{what}")(time)
            state.in_timer = False
        else:
            assert isinstance(what, tuple)
            state.held.remove((time, number, what))
            getattr(state, f"on_{self.names[number]}")(what)
        return True

    def outputs(self) -> dict[str, Counter[Row]]:
        """The rows of each output so far, with how often each is there."""
        found: dict[str, Counter[Row]] = {}
        for output, row in self.out:
            found.setdefault(output, Counter())[row] += 1
        return found


def run(
    model: type[Model], epochs: Sequence[Mapping[str, Sequence[Row]]], delays: Mapping[str, dt.timedelta], *, finish: bool = True
) -> dict[str, Counter[Row]]:
    """What a model gives for these epochs."""
    machine = Machine(model, delays)
    for rows in epochs:
        machine.epoch(rows)
    if finish:
        machine.finish()
    return machine.outputs()
