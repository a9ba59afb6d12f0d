"""Timer: a cell that keeps one time per key and wakes the program at it."""

from __future__ import annotations

import datetime as dt
from typing import Any

from headrace.errors import ProgramError, here
from headrace.expr import Column
from headrace.program.cell import Cell
from headrace.program.recording import Recording
from headrace.program.statement import Clear, Set
from headrace.schema.ddl import type_text


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
    With `key`, a Spark type, there is one pending time per key of the timer, too: `set(at, key)`, and `on_<name>(self, at, key)` is called;
    those of one time fire in the order of their keys.

    >>> class Unpaid(hr.Program):
    ...     due = hr.Timer(key="bigint")
    ...
    ...     def on_event(self, e):
    ...         with hr.when(e.paid):
    ...             self.due.clear(e.order)
    ...         with hr.otherwise():
    ...             self.due.set(e.ts + hr.days(14), e.order)
    ...
    ...     def on_due(self, at, order):
    ...         hr.emit(customer=self.key.customer, order=order, due=at)

    `was` is the name the timer had in an older version of the job, or, without `key`, an expression over the cells of the version before:
    the time that is pending for a key that has state. The timer is set when such a key is next worked on.
    """

    kind = "timer"
    needs = ("clock",)
    entries = False
    projected = False
    fires = True
    computable = True
    read_with = ".at()"

    @staticmethod
    def _keeps(type: str, key: str | None, sql: str | None) -> str:
        return "a timer" if key is None else f"a timer by {key}"

    def __init__(self, *, clock: str = "event", key: Any = None, was: str | Column | None = None) -> None:
        super().__init__("timestamp", key=None if key is None else type_text(key), clock=clock, was=was)
        if key is not None:
            self.read_with, self.write_with = ".at(key)", ".set(at, key)"

    def set(self, at: Any, key: Any = None) -> None:
        """Makes it fire at a time, a column or a datetime, instead of the time that is pending (for this key). None clears it."""
        recording, name = self._recording()
        if isinstance(at, dt.timedelta | int | float):
            raise ProgramError(
                "TIMER_TIME",
                f"`{name}` is set to {at!r}, which is not a time",
                hint=f"count from a time: self.{name}.set(e.ts + hr.minutes(5))",
                site=here(),
            )
        of = self._of(recording, name, key, "set(at, key)" if self.key else "set(at)")
        recording.record(Set(name, recording.text(at), of, site=here()))

    def at(self, key: Any = None) -> Column:
        """The pending time (of this key) at this place of the handler, null if there is none."""
        recording, name = self._recording()
        self._of(recording, name, key, "at(key)" if self.key else "at()")
        return recording.read(name, "get" if self.key else "value", key=key)

    def clear(self, key: Any = None) -> None:
        """Forgets the pending time (of this key). A timer with keys that is given none forgets all of them."""
        recording, name = self._recording()
        of = None if key is None else self._of(recording, name, key, "clear()")
        recording.record(Clear(name, of, site=here()))

    def _of(self, recording: Recording, name: str, key: Any, call: str) -> str | None:
        """The text of the key, which is given if and only if the timer has keys."""
        if (key is None) == (self.key is None):
            return None if key is None else recording.text(key)
        has = "has no keys" if self.key is None else f"has a key of type {self.key}"
        given = "is given none" if key is None else "is given one"
        raise ProgramError("TIMER_KEY", f"`{name}` {has} and {given}", hint=f"self.{name}.{call}", site=here())
