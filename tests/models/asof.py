"""As-of joins in plain Python: lists that are looked through from one end to the other."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.testing.collected import in_order
from tests.models.machine import sortable

Row = tuple[Any, ...]
Change = tuple[str, Row]


@dataclass(frozen=True)
class AsOfJoin:
    """A join by the first columns of both sides, as of the second ones; of the right row the columns from the second on are given."""

    how: str = "left"
    direction: str = "backward"
    within: dt.timedelta | None = None

    def version(self, row: Row, versions: Iterable[Row]) -> Row | None:
        """The version of a row."""
        near = [one for one in versions if self.reaches(row, one)]
        if not near:
            return None

        def place(one: Row) -> tuple[Any, ...]:
            # Nearest first; of two the one that is not behind the row; of those the last by all columns.
            return -abs(one[1] - row[1]), one[1] <= row[1], sortable(one)

        return max(near, key=place)

    def reaches(self, row: Row, version: Row) -> bool:
        if None in (row[0], row[1], version[0], version[1]) or row[0] != version[0]:
            return False
        if self.within is not None and abs(row[1] - version[1]) > self.within:
            return False
        return self.direction == "nearest" or (version[1] <= row[1] if self.direction == "backward" else version[1] >= row[1])

    def joined(self, row: Row, versions: Iterable[Row], width: int) -> list[Row]:
        """The rows that come of one: one, or none."""
        version = self.version(row, versions)
        if version is None:
            return [(*row, *(None,) * (width - 1))] if self.how == "left" else []
        return [(*row, *version[1:])]

    def answer(self, rows: Iterable[Row], versions: Sequence[Row], width: int) -> list[Row]:
        return in_order([joined for row in rows for joined in self.joined(row, versions, width)])


@dataclass
class Timed:
    """The join in event time: who is late is told of and left out; with `close` a row is given once, when no version can come for it."""

    join: AsOfJoin
    width: int
    rows: list[Row] = field(default_factory=list)
    versions: list[Row] = field(default_factory=list)
    late: Counter[Row] = field(default_factory=Counter)
    late_versions: Counter[Row] = field(default_factory=Counter)
    sent: list[Row] = field(default_factory=list)

    def epoch(self, rows: Iterable[Change], versions: Iterable[Change], mark: dt.datetime | None) -> None:
        """An epoch that begins at this watermark."""
        for came, kept, late in ((rows, self.rows, self.late), (versions, self.versions, self.late_versions)):
            for sign, row in came:
                # What can meet nothing is left out on the way, if it is not to be given with nulls.
                if row[0] is None and (kept is self.versions or self.join.how == "inner"):
                    continue
                if mark is not None and row[1] is not None and row[1] <= mark:
                    late[row] += 1
                elif sign == "+":
                    kept.append(row)
                else:
                    kept.remove(row)

    def close(self, mark: dt.datetime | None) -> None:
        """Sends what is final at a watermark; rows that can meet none are at once."""
        self._send(lambda row: None in row[:2] or (mark is not None and self._final(row, mark)))

    def finish(self) -> None:
        """Time has ended."""
        self._send(lambda row: True)

    def _final(self, row: Row, mark: dt.datetime) -> bool:
        # Whatever comes is later than the watermark: a version at the first such time has to make no difference.
        if row[1] > mark:
            return False
        soon = (row[0], mark + dt.timedelta(microseconds=1), *(None,) * (self.width - 2))
        now = self.join.version(row, self.versions)
        return self.join.version(row, [*self.versions, soon]) == now

    def _send(self, final: Callable[[Row], bool]) -> None:
        for row in [row for row in self.rows if final(row)]:
            self.rows.remove(row)
            self.sent += self.join.joined(row, self.versions, self.width)
