"""Rows that are there for a span of time."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from headrace.ops.source import DEAD_LETTER
from headrace.plan import Node, Role, node


@node("temporal", Role.STATEFUL)
class Temporal(Node):
    """Each row while the processing time is at or behind all of `since` and before all of `until`, which are times that its columns give.

    Law: after every epoch it is `WHERE current_timestamp() >= since AND current_timestamp() < until` at the time at which the epoch began.

    epoch 1, at 10:00, until = ts + INTERVAL 1 HOUR: +(a, 09:30) +(b, 08:00)   ->   +(a, 09:30)
    epoch 2, at 10:30: nothing comes                                          ->   -(a, 09:30)
    """

    by_content: ClassVar[bool] = True

    input: Node
    since: tuple[str, ...]
    until: tuple[str, ...]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns

    @property
    def outputs(self) -> tuple[str, ...]:
        return (DEAD_LETTER,)

    def describe(self) -> str:
        spans = [*(f"from {text} on" for text in self.since), *(f"until {text}" for text in self.until)]
        return f"rows of now: {', '.join(spans)}"
