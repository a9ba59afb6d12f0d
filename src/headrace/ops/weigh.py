"""Rows that say themselves whether they are added or taken away."""

from __future__ import annotations

from functools import cached_property

from headrace.errors import here
from headrace.ops.change_words import reason
from headrace.plan import Node, Step, Weigh, node, steps


@node("weigh")
class Weighed(Node):
    """Each row with the weight that `text` gives: 1 adds it, -1 takes it away, 0 leaves it out."""

    input: Node
    text: str

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns

    def describe(self) -> str:
        return f"weigh {self.text}"


@steps.register
def _(node: Weighed) -> tuple[Step, ...]:
    return (Weigh(node.text, node.site, reason(node.text, node.columns)),)


def weigh(input: Node, text: str) -> Weighed:
    return Weighed(input, text, site=here())
