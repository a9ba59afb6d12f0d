"""What windows that close should give, as a plain model of the watermark: it moves between commits, and a row is judged by where it stood."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

Row = tuple[str, dt.datetime, int]

BEGIN = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
SECOND = dt.timedelta(seconds=1)
_MILLI = dt.timedelta(milliseconds=1)


@dataclass(frozen=True)
class Kind:
    """Windows of a kind, in seconds; aligned by the epoch, moved by `offset`."""

    kind: str
    size: int
    step: int
    offset: int = 0

    def of(self, time: dt.datetime) -> Iterator[tuple[dt.datetime, dt.datetime]]:
        moved = (time - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // _MILLI - self.offset * 1000
        every = self.size if self.kind == "cumulate" else self.step
        start = time - moved % (every * 1000) * _MILLI
        if self.kind == "cumulate":
            ends = (start + n * self.step * SECOND for n in range(1, self.size // self.step + 1))
            yield from ((start, end) for end in ends if time < end)
        while self.kind != "cumulate" and start + self.size * SECOND > time:
            yield start, start + self.size * SECOND
            start -= self.step * SECOND


@dataclass
class Watermark:
    """The least of the sources' newest times, less their delays; none before all have had a row."""

    delays: dict[str, int]
    newest: dict[str, dt.datetime] = field(default_factory=dict)
    at: dt.datetime | None = None

    def passed(self, time: dt.datetime) -> bool:
        return self.at is not None and self.at >= time

    def see(self, source: str, times: list[dt.datetime]) -> None:
        self.newest[source] = max([*times, *([self.newest[source]] if source in self.newest else [])])

    def move(self) -> None:
        """The end of a commit."""
        if self.newest.keys() == self.delays.keys():
            self.at = min(newest - self.delays[name] * SECOND for name, newest in self.newest.items())


Windowed = tuple[str, dt.datetime, int, dt.datetime, dt.datetime, dt.datetime]


@dataclass
class Input:
    """The rows of one windowed stream: those that were in time for a window, and those that were not, each with its window."""

    kind: Kind
    lateness: int = 0
    on_time: list[Windowed] = field(default_factory=list)
    late: list[Windowed] = field(default_factory=list)

    def take(self, rows: list[Row], mark: Watermark) -> None:
        for key, time, amount in rows:
            for start, end in self.kind.of(time):
                row = (key, time, amount, start, end, end - _MILLI)
                (self.late if mark.passed(end + self.lateness * SECOND) else self.on_time).append(row)

    def closed(self, mark: Watermark) -> list[Windowed]:
        """The rows in time of the windows that have closed."""
        return [row for row in self.on_time if mark.passed(row[4] + self.lateness * SECOND)]


def commits(rng: random.Random, count: int) -> list[list[Row]]:
    """Rows out of order, cut at random: some come long after their time."""
    now, cut = 0, []
    for _ in range(count):
        rows = []
        for _ in range(rng.randrange(0, 9)):
            now += rng.randrange(0, 4)
            back = rng.choice([0, 0, 1, 3, 6, 15, 40])
            rows.append((rng.choice("abc"), BEGIN + max(now - back, 0) * SECOND + rng.randrange(1000) * _MILLI, rng.randrange(5)))
        cut.append(rows)
    return cut
