"""Keep the rows for which conditions are true."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from headrace.errors import here
from headrace.ops.columns import conditions
from headrace.plan import Node, Where, node, steps


@node("filter")
class Filter(Node):
    """The rows for which every condition is true; rows for which one is false or null go nowhere.

    >>> import headrace as hr
    >>> charges = hr.read.memory([("a", 1), ("b", 900)], "card string, amount int", name="charges")
    >>> charges.filter("amount > 500")                         # (a, 1) (b, 900)   ->   (b, 900)
    <Stream charges.filter: card, amount>
    """

    input: Node
    where: tuple[str, ...]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns

    def describe(self) -> str:
        return f"filter {' AND '.join(self.where)}"


@steps.register
def _(node: Filter) -> tuple[Where, ...]:
    return tuple(Where(text, node.site) for text in node.where)


def filter(input: Node, given: Sequence[Any], alias: str | None = None) -> Filter:
    return Filter(input, conditions(input, given, alias), site=here())
