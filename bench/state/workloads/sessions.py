"""Sessions of a key: events less than half an hour apart, emitted when the next one begins or a timer ends them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

import headrace as hr
from bench.state.workloads.workload import Input, Workload, in_frames

GAP = timedelta(minutes=30)


class Sessions(hr.Program):
    """The first and last time, and the number of events, of each session."""

    start = hr.Value("timestamp")
    last = hr.Value("timestamp")
    n = hr.Value("bigint", default=0)
    over = hr.Timer()

    def on_event(self, e: hr.Row) -> None:
        with hr.when(e.ts > self.last.get() + hr.minutes(30)):
            hr.emit(k=self.key.k, start=self.start.get(), last=self.last.get(), n=self.n.get())
            self.start.clear()
            self.n.clear()
        with hr.when(~self.start.exists()):
            self.start.set(e.ts)
        self.last.set(e.ts)
        self.n.set(self.n.get() + 1)
        self.over.set(e.ts + hr.minutes(30))

    def on_over(self, at: hr.Column) -> None:
        hr.emit(k=self.key.k, start=self.start.get(), last=self.last.get(), n=self.n.get())
        self.start.clear()
        self.last.clear()
        self.n.clear()


class SessionsRow(StatefulProcessor):
    """The timer is moved once for all rows of a call."""

    def init(self, handle: Any) -> None:
        self.handle = handle
        self.session = handle.getValueState("session", "start timestamp, last timestamp, n bigint")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
        start, last, n = self.session.get() or (None, None, 0)
        before = last
        for row in rows:
            if last is not None and row.ts > last + GAP:
                yield Row(k=key[0], start=start, last=last, n=n)
                start, n = None, 0
            if start is None:
                start = row.ts
            last = row.ts
            n += 1
        self.session.update((start, last, n))
        if before is not None:
            self.handle.deleteTimer(round((before + GAP).timestamp() * 1000))
        self.handle.registerTimer(round((last + GAP).timestamp() * 1000))

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        start, last, n = self.session.get()
        self.session.clear()
        yield Row(k=key[0], start=start, last=last, n=n)

    def close(self) -> None:
        pass


SESSIONS = Workload(
    "sessions",
    "sessions with a gap",
    {
        "event": Input(
            {"k": ("int", "k"), "ts": ("timestamp", "timestamp_millis(1767225600000 + j * 60000 + (j div 5) * 3600000 + k % 1000)")}
        )
    },
    {"k": "int", "start": "timestamp", "last": "timestamp", "n": "bigint"},
    ("k", "start", "last", "n"),
    Sessions,
    SessionsRow,
    in_frames(SessionsRow),
    timed=True,
)
