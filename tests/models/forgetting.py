"""What operators say that forget groups, as a plain model: each group is remembered by where the watermark stood when rows came to it."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

Rows = Counter[Any]
Sides = tuple[Rows, ...]
Change = tuple[int, int, Any]
"""The number of a side, +1 or -1, and a row."""


@dataclass
class Group:
    """The rows of each side that are remembered, and where the watermark stood when some came last; None before there was one."""

    sides: Sides
    touched: dt.datetime | None = None


@dataclass
class Forgetting:
    """An operator: `answer` says what is there of a group with these rows, `key` to which group a row of a side belongs."""

    after: dt.timedelta
    key: Callable[[int, Any], Hashable]
    answer: Callable[..., Rows]
    sides: int = 1
    groups: dict[Hashable, Group] = field(default_factory=dict)
    left_behind: Rows = field(default_factory=Counter)
    late: list[Rows] = field(default_factory=list)
    forgotten: int = 0

    def __post_init__(self) -> None:
        self.late = [Counter() for _ in range(self.sides)]

    def epoch(self, changes: Iterable[Change], mark: dt.datetime | None) -> None:
        """An epoch at this watermark: what has stood still for too long goes, then the rows come."""
        for key, group in list(self.groups.items()):
            if mark is not None and group.touched is None:
                group.touched = mark
            if mark is not None and group.touched is not None and group.touched + self.after <= mark:
                self.left_behind += self.answer(*group.sides)
                self.forgotten += 1
                del self.groups[key]
        net: dict[Hashable, list[Counter[Any]]] = defaultdict(lambda: [Counter() for _ in range(self.sides)])
        for side, weight, row in changes:
            net[self.key(side, row)][side][row] += weight
        for key, sides in net.items():
            group = self.groups.get(key) or Group(tuple(Counter() for _ in range(self.sides)))
            for side, (rows, change) in enumerate(zip(group.sides, sides, strict=True)):
                for row, weight in change.items():
                    self.late[side][row] += max(0, -weight - rows[row])
                    rows[row] = max(0, rows[row] + weight)
            group.touched = mark
            if any(rows.total() for rows in group.sides):
                self.groups[key] = group
            else:
                self.groups.pop(key, None)

    def rows(self) -> list[Any]:
        """All that is there: of what is remembered, and of what was said and forgotten."""
        counts = Counter(self.left_behind)
        for group in self.groups.values():
            counts += self.answer(*group.sides)
        return list(counts.elements())
