"""A large charge within a minute of a small one, per card: two cells and a timer that forgets the small charge.

Rows are handled in the order of arrival, in which a timer may fire late; so a handler compares the times itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

import headrace as hr
from bench.state.workloads.workload import Input, Workload, in_frames

SMALL, LARGE = 100, 50_000
MINUTE = timedelta(minutes=1)


class SmallThenLarge(hr.Program):
    """Cards with a large charge within a minute of a small one."""

    small_at = hr.Value("timestamp")
    alerts = hr.Value("bigint", default=0)
    forget = hr.Timer()

    def on_event(self, e: hr.Row) -> None:
        with hr.when((e.cents > LARGE) & (e.ts <= self.small_at.get() + hr.minutes(1))):
            n = self.alerts.get() + 1
            self.alerts.set(n)
            self.small_at.clear()
            hr.emit(k=self.key.k, cents=e.cents, at=e.ts, n=n)
        with hr.when(e.cents < SMALL):
            self.small_at.set(e.ts)
            self.forget.set(e.ts + hr.minutes(1))

    def on_forget(self, at: hr.Column) -> None:
        self.small_at.clear()


class SmallThenLargeRow(StatefulProcessor):
    """The timer is moved once for all rows of a call."""

    def init(self, handle: Any) -> None:
        self.handle = handle
        self.small_at = handle.getValueState("small_at", "at timestamp, timer bigint")
        self.alerts = handle.getValueState("alerts", "n bigint")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
        small_at, pending = self.small_at.get() or (None, None)
        before = self.alerts.get()
        n = before[0] if before else 0
        alerts, timer, touched = n, pending, False
        for row in rows:
            if row.cents > LARGE and small_at is not None and row.ts <= small_at + MINUTE:
                n += 1
                small_at, touched = None, True
                yield Row(k=key[0], cents=row.cents, at=row.ts, n=n)
            if row.cents < SMALL:
                small_at, touched = row.ts, True
                timer = round((row.ts + MINUTE).timestamp() * 1000)
        if n != alerts:
            self.alerts.update((n,))
        if touched:
            self.small_at.update((small_at, timer))
        if timer != pending:
            if pending is not None:
                self.handle.deleteTimer(pending)
            self.handle.registerTimer(timer)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        self.small_at.clear()
        return iter(())

    def close(self) -> None:
        pass


FRAUD = Workload(
    "fraud",
    "a large charge after a small one: two cells and a timer",
    {
        "event": Input(
            {
                "k": ("int", "k"),
                "ts": ("timestamp", "timestamp_millis(1767225600000 + j * 20000 + k % 1000)"),
                "cents": ("bigint", "element_at(array(50L, 60000L, 2000L, 2000L, 2000L), cast(pmod(xxhash64(id), 5) AS int) + 1)"),
            }
        )
    },
    {"k": "int", "cents": "bigint", "at": "timestamp", "n": "bigint"},
    ("k", "at", "n"),
    SmallThenLarge,
    SmallThenLargeRow,
    in_frames(SmallThenLargeRow),
    timed=True,
)
