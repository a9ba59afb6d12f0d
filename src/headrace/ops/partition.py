"""Window functions, and the first rows of each partition."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from headrace.ops.source import DEAD_LETTER
from headrace.plan import Node, Role, node

Ordering = tuple[str, str, str]
"""A text, `asc` or `desc`, and whether nulls come `first` or `last`."""


@node("partition", Role.STATEFUL)
class Partition(Node):
    """Each row with the values of window functions over its partition. Ties of the order are settled by all columns, nulls first.

    `functions` are names and complete texts: `rank() OVER (PARTITION BY shop ORDER BY amount DESC)`.

    epoch 1: +(a, 5) +(a, 7)   ->   +(a, 5, 2) +(a, 7, 1)
    epoch 2: -(a, 7)           ->   -(a, 5, 2) -(a, 7, 1) +(a, 5, 1)
    """

    by_content: ClassVar[bool] = True

    input: Node
    per: tuple[str, ...]
    order: tuple[Ordering, ...]
    functions: tuple[tuple[str, str], ...]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return (*self.input.columns, *(name for name, _ in self.functions))

    @property
    def outputs(self) -> tuple[str, ...]:
        return (DEAD_LETTER,)

    def describe(self) -> str:
        return ", ".join(f"{text} AS {name}" for name, text in self.functions)
