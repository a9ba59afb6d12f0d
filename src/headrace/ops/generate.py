"""Rows that a generator makes of each row."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from headrace.ops.facts.reading import Wanted, both, read
from headrace.ops.operator import Repeating
from headrace.ops.tree import Tree, reads
from headrace.plan import Generate, Node, Step, node


@node("generate")
class Generated(Repeating):
    """A row for each row of a generator such as `posexplode(xs)`, its columns after the input's.

    With `outer`, a row for which it makes none is kept, with nulls.
    """

    text: str
    names: tuple[str, ...]
    outer: bool

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return (*self.input.columns, *self.names)

    def describe(self) -> str:
        return f"generate {self.text} AS {', '.join(self.names)}" + (" outer" if self.outer else "")

    @property
    def reads_changes(self) -> bool:
        return True

    def steps(self) -> tuple[Step, ...]:
        return (Generate(generate=self.text, names=self.names, outer=self.outer, place=self.place),)

    def columns_read(self, wanted: Wanted) -> Mapping[str, Wanted]:
        return {"input": both(wanted, read(self.input, [self.text]))}


@reads("generate")
def _generate(tree: Tree) -> Node:
    return Generated(tree.node("input"), tree["text"], tuple(tree["names"]), tree["outer"], site=tree.site)
