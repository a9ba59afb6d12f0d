"""Timer: a cell that keeps one time per key and wakes the program at it."""

from __future__ import annotations

import datetime as dt
from typing import Any

from headrace.errors import ProgramError, here
from headrace.expr import Column
from headrace.program.cell import Cell
from headrace.program.statement import Clear, Set


class Timer(Cell):
    """At most one pending time per key; when it comes, `on_<name>(self, at)` is called and the timer is no longer pending.

    >>> import headrace as hr
    >>> class Silence(hr.Program):
    ...     quiet = hr.Timer()
    ...
    ...     def on_event(self, e):
    ...         self.quiet.set(e.ts + hr.minutes(5))      # replaces a pending one
    ...
    ...     def on_quiet(self, at):
    ...         hr.emit(card=self.key.card, silent_since=at - hr.minutes(5))

    `clock="event"` goes by the watermark, so the result does not depend on when rows arrive; `clock="processing"` by the wall clock.
    """

    kind = "timer"
    fires = True
    read_with = ".at()"

    def __init__(self, *, clock: str = "event", was: str | None = None) -> None:
        super().__init__("timestamp", clock=clock, was=was)

    def set(self, at: Any) -> None:
        """Makes it fire at a time, a column or a datetime, instead of the time that is pending. None clears it."""
        recording, name = self._recording()
        if isinstance(at, dt.timedelta | int | float):
            raise ProgramError(
                "TIMER_TIME",
                f"`{name}` is set to {at!r}, which is not a time",
                hint=f"count from a time: self.{name}.set(e.ts + hr.minutes(5))",
                site=here(),
            )
        text = recording.text(at)
        recording.record(Set(name, text, site=here()))

    def at(self) -> Column:
        """The pending time at this place of the handler, null if there is none."""
        recording, name = self._recording()
        return recording.read(name)

    def clear(self) -> None:
        """Forgets the pending time."""
        recording, name = self._recording()
        recording.record(Clear(name, site=here()))
