"""Timer: a cell that keeps a time per key, at which a handler of the program runs."""

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
    """A timer for each key. At its time `on_<name>(self, at)` runs, and the timer is no longer pending.

    With `key` the timer has one pending time for each of its own keys: `set(at, key)` sets one, and `on_<name>(self, at, key)` runs for it.

    Timers fire in the order of their times; at equal times in the order of their declaration, and those of one timer in the order of their
    keys. A time in the past fires at once.

    Args:
        clock: `"event"`: fires when the watermark passes the time; with `order="time"` the result then does not depend on when rows arrive.
            `"processing"`: fires by the wall clock.
        key: The type of the timer's own keys, as DDL or as a type of `pyspark.sql.types`. Default: no keys.
        was: The timer's name in an older version of the job, whose state it takes over. A timer without `key` also accepts an expression
            over the cells of that version, which gives the pending time of each key with state when the key is next processed.

    Raises:
        SchemaError: `BAD_TYPE` for an invalid type of `key`.
        ProgramError: `BAD_CLOCK` for an unknown clock, `BAD_WAS` for an invalid `was`. `process` raises `CLOCKS_MIXED` if the timers and
            expiring cells of a program use both clocks, and `HANDLER_MISSING` without `on_<name>`.

    Examples:
        >>> import headrace as hr
        >>> class Unpaid(hr.Program):
        ...     due = hr.Timer(key="bigint")
        ...
        ...     def on_event(self, e):
        ...         with hr.when(e.paid):
        ...             self.due.clear(e.id)
        ...         with hr.elsewhen(self.due.at(e.id).is_null()):
        ...             self.due.set(e.ts + hr.days(14), e.id)
        ...
        ...     def on_due(self, at, id):
        ...         hr.emit(customer=self.key.customer, id=id, due=hr.f.to_date(at))
        >>> invoices = hr.read.memory(
        ...     [("a", 1, False, "2026-01-01 10:00:00"), ("a", 2, False, "2026-01-02 10:00:00"), ("a", 1, True, "2026-01-08 10:00:00")],
        ...     "customer string, id bigint, paid boolean, ts timestamp",
        ...     name="invoices",
        ... ).watermark("ts", "1 hour")
        >>> hr.collect(invoices.key_by("customer").process(Unpaid)).rows()
        [('a', 2, datetime.date(2026, 1, 16))]
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
        """Sets the time at which the timer fires, in place of the pending one.

        Args:
            at: A column of the handler or a datetime. Null and None clear the timer.
            key: The key of the timer, if it has keys: a column or a Python value.

        Raises:
            ProgramError: `TIMER_TIME` if `at` is a duration or a number; `TIMER_KEY` if the timer has keys and `key` is missing, or the
                reverse.
        """
        recording, name = self._recording()
        if isinstance(at, dt.timedelta | int | float):
            raise ProgramError(
                "TIMER_TIME",
                f"`{name}` is set to {at!r}, which is not a time",
                hint=f"add to a time: self.{name}.set(e.ts + hr.minutes(5))",
                site=here(),
            )
        of = self._of(recording, name, key, "set(at, key)" if self.key else "set(at)")
        recording.record(Set(name, recording.text(at), of, site=here()))

    def at(self, key: Any = None) -> Column:
        """Returns the pending time at this point of the handler, null if there is none.

        Args:
            key: The key of the timer, if it has keys: a column or a Python value.

        Raises:
            ProgramError: `TIMER_KEY` if the timer has keys and `key` is missing, or the reverse.
        """
        recording, name = self._recording()
        self._of(recording, name, key, "at(key)" if self.key else "at()")
        return recording.read(name, "get" if self.key else "value", key=key)

    def clear(self, key: Any = None) -> None:
        """Deletes the pending time.

        Args:
            key: The key of the timer, if it has keys. Without it, the times of all keys are deleted.

        Raises:
            ProgramError: `TIMER_KEY` if a key is given and the timer has none.
        """
        recording, name = self._recording()
        of = None if key is None else self._of(recording, name, key, "clear()")
        recording.record(Clear(name, of, site=here()))

    def _of(self, recording: Recording, name: str, key: Any, call: str) -> str | None:
        """Returns the text of the key, which must be given if and only if the timer has keys."""
        if (key is None) == (self.key is None):
            return None if key is None else recording.text(key)
        has = "takes no key" if self.key is None else f"takes a key of type {self.key}"
        actual = "none is given" if key is None else "one is given"
        raise ProgramError("TIMER_KEY", f"`{name}` {has}, but {actual}", hint=f"self.{name}.{call}", site=here())
