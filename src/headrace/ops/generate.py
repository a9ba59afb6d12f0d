"""Rows that a generator makes of each row."""

from __future__ import annotations

from functools import cached_property

from headrace.plan import Generate, Node, Step, node, steps


@node("generate")
class Generated(Node):
    """A row for each one that a generator such as `posexplode(xs)` makes, its columns after the input's; with `outer` a row without any is
    kept, with nulls.
    """

    input: Node
    text: str
    names: tuple[str, ...]
    outer: bool

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return (*self.input.columns, *self.names)

    def describe(self) -> str:
        return f"generate {self.text} AS {', '.join(self.names)}" + (" outer" if self.outer else "")


@steps.register
def _(node: Generated) -> tuple[Step, ...]:
    return (Generate(node.text, node.names, node.outer, node.site),)
