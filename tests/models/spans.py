"""What sessions should be, as a plain model of rows with spans: all of a key are looked at anew each time.

A commit is judged by where the watermark stood before it; then the watermark moves, and what it has passed closes.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

Row = tuple[Any, ...]
Span = tuple[dt.datetime, dt.datetime]

MILLI = dt.timedelta(milliseconds=1)
NONE = dt.timedelta(0)


def merged(spans: Iterable[Span]) -> list[Span]:
    """Spans that overlap or touch, as one."""
    result: list[Span] = []
    for start, end in sorted(spans):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(result[-1][1], end))
        else:
            result.append((start, end))
    return result


def around(sessions: list[Span], time: dt.datetime) -> Span:
    return next(one for one in sessions if one[0] <= time <= one[1])


@dataclass
class Sessions:
    """Rows of which `key` says whose sessions they are in, and `span` the start and end of each, or None.

    `reach`: how long all spans are, no time where they differ. `lateness`: None where nothing closes.
    """

    key: Callable[[Row], Any]
    span: Callable[[Row], Span | None]
    reach: dt.timedelta
    lateness: dt.timedelta | None = NONE
    kept: Counter[Row] = field(default_factory=Counter)
    closed: Counter[Row] = field(default_factory=Counter)
    in_time: Counter[Row] = field(default_factory=Counter)
    late: Counter[Row] = field(default_factory=Counter)
    judged_late: int = 0
    marks: dict[Any, dt.datetime] = field(default_factory=dict)

    def take(self, changes: Iterable[tuple[str, Row]], watermark: dt.datetime | None) -> None:
        net: Counter[Row] = Counter()
        for sign, row in changes:
            net[row] += 1 if sign == "+" else -1
        limit = None if watermark is None or self.lateness is None else watermark - self.lateness
        rows = sorted((row for row, n in net.items() if n and self.span(row)), key=self._order)
        for key in {self.key(row) for row in rows}:
            mine = [row for row in rows if self.key(row) == key]
            self._add(key, {row: net[row] for row in mine if net[row] > 0}, limit)
            for row in mine:
                if net[row] < 0:
                    self._remove(key, row, -net[row], limit)

    def close(self, watermark: dt.datetime | None) -> None:
        if watermark is None or self.lateness is None:
            return
        limit = watermark - self.lateness
        for key in {self.key(row) for row in self.kept} | set(self.marks):
            sessions = self._sessions(key)
            for row in [row for row in self.kept if self.key(row) == key]:
                session = around(sessions, self._start(row))
                if session[1] <= limit:
                    self.closed[(*row, *session, session[1] - MILLI)] += self.kept.pop(row)
            for _, end in sessions:
                if end <= limit:
                    self.marks[key] = max(end, self.marks.get(key, end))
            if key in self.marks and not self._sessions(key) and self.marks[key] <= limit - self.reach:
                del self.marks[key]

    def finish(self) -> None:
        self.close(dt.datetime.max.replace(tzinfo=dt.UTC) - dt.timedelta(days=1))

    def rows(self) -> list[Row]:
        """All rows that were in time, each with its session as it is now."""
        answer = self.closed.copy()
        for row, n in self.kept.items():
            session = around(self._sessions(self.key(row)), self._start(row))
            answer[(*row, *session, session[1] - MILLI)] += n
        assert answer == self._at_once(), "what has closed is the answer over all rows in time"
        return list(answer.elements())

    def _at_once(self) -> Counter[Row]:
        """The answer over all rows that were in time, without a watermark."""
        counts: Counter[Row] = Counter()
        for row, n in (+self.in_time).items():
            spans = [self.span(one) for one, m in self.in_time.items() if m and self.key(one) == self.key(row)]
            session = around(merged(spans), self._start(row))  # type: ignore[arg-type]  # rows in time have spans
            counts[(*row, *session, session[1] - MILLI)] += n
        return +counts

    def _add(self, key: Any, rows: dict[Row, int], limit: dt.datetime | None) -> None:
        mark = self.marks.get(key)
        if limit is not None and not self._sessions(key):
            mark = max(limit - self.reach, mark or limit - self.reach)
        new = {row: n for row, n in rows.items() if mark is None or self._start(row) > mark}
        sessions = self._sessions(key, new)
        for row, n in rows.items():
            if row not in new or (limit is not None and around(sessions, self._start(row))[1] <= limit):
                self._tell_late(row, n)
            else:
                self.kept[row] += n
                self.in_time[row] += n
                if mark is not None:
                    self.marks[key] = mark

    def _remove(self, key: Any, row: Row, n: int, limit: dt.datetime | None) -> None:
        """Late is also what would leave a session that had closed without the row."""
        gone = min(n, self.kept[row])
        if gone:
            was = around(self._sessions(key), self._start(row))
            self.kept[row] -= gone
            self.kept = +self.kept
            left = [one for one in self._sessions(key) if was[0] <= one[0] <= was[1]]
            if limit is not None and (was[1] <= limit or any(end <= limit for _, end in left)):
                self.kept[row] += gone
                gone = 0
        self.kept = +self.kept
        self.in_time[row] -= gone
        if limit is not None and gone < n:
            self._tell_late(row, gone - n)

    def _tell_late(self, row: Row, n: int) -> None:
        self.late[row] += n
        self.judged_late += abs(n)

    def _sessions(self, key: Any, more: Iterable[Row] = ()) -> list[Span]:
        return merged(span for row in (*self.kept, *more) if self.key(row) == key and (span := self.span(row)))

    def _start(self, row: Row) -> dt.datetime:
        span = self.span(row)
        assert span is not None
        return span[0]

    def _order(self, row: Row) -> tuple[Any, ...]:
        return (self.span(row), tuple((value is not None, value) for value in row))
