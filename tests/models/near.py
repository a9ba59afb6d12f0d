"""Joins of rows that lie near each other in time, in plain Python: each row is held against each other one."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = tuple[Any, ...]
Change = tuple[str, Row]
LEFT, RIGHT = 0, 1
_NONE = dt.timedelta(0)


@dataclass(frozen=True)
class IntervalJoin:
    """Rows of equal first columns meet, whose second columns are times: the left one less the right one is between `lower` and `upper`."""

    how: str
    lower: dt.timedelta | None
    upper: dt.timedelta | None
    emit: str = "changes"

    def meet(self, left: Row, right: Row) -> bool:
        if None in (*left[:2], *right[:2]) or left[0] != right[0]:
            return False
        apart = left[1] - right[1]
        return (self.lower is None or apart >= self.lower) and (self.upper is None or apart <= self.upper)

    @property
    def waiting(self) -> tuple[int, ...]:
        """The sides of whose rows it is told that they meet none."""
        return {"left": (LEFT,), "anti": (LEFT,), "right": (RIGHT,), "full": (LEFT, RIGHT)}.get(self.how, ())

    def kept(self, side: int) -> dt.timedelta | None:
        """How far behind a row's time the watermark has to be for it to be forgotten; None: it never is."""
        bound = self.lower if side == LEFT else self.upper
        if bound is None:
            return None
        return max(_NONE, -bound if side == LEFT else bound)

    def ends(self) -> bool:
        """Is every row forgotten some time?"""
        return self.kept(LEFT) is not None and self.kept(RIGHT) is not None

    def answer(self, left: Sequence[Row], right: Sequence[Row], mark: dt.datetime | None) -> list[Row]:
        """What is told at a watermark, of the rows that came in time."""
        pairs = [(*mine, *other) for mine in left for other in right if self.meet(mine, other)]
        met = [mine for mine in left if any(self.meet(mine, other) for other in right)]
        alone = [mine for mine in left if mine not in met and self._emits_alone(LEFT, mine, mark)]
        others = [other for other in right if not any(self.meet(mine, other) for mine in left) and self._emits_alone(RIGHT, other, mark)]
        if self.how in ("semi", "anti"):
            return met if self.how == "semi" else alone
        if LEFT in self.waiting:
            pairs += [(*mine, *(None,) * 3) for mine in alone]
        if RIGHT in self.waiting:
            pairs += [(*(None,) * 3, *other) for other in others]
        return pairs

    def _emits_alone(self, side: int, row: Row, mark: dt.datetime | None) -> bool:
        kept = self.kept(side)
        return self.emit == "changes" or row[1] is None or (mark is not None and kept is not None and mark >= row[1] + kept)


@dataclass
class Rows:
    """The rows of one side: those that are there, and those that came too late, be it to go."""

    there: list[Row] = field(default_factory=list)
    late: list[Row] = field(default_factory=list)

    def take(self, changes: Iterable[Change], mark: dt.datetime | None) -> None:
        """An epoch that begins at this watermark."""
        for sign, row in changes:
            if mark is not None and row[1] is not None and row[1] <= mark:
                self.late.append(row)
            elif sign == "+":
                self.there.append(row)
            else:
                self.there.remove(row)
