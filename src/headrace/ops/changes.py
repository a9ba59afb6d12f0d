"""Changes as rows."""

from __future__ import annotations

from functools import cached_property

from headrace.errors import here
from headrace.ops.columns import duplicate
from headrace.ops.consolidate import consolidate
from headrace.plan import Node, Step, Unweigh, node, steps

CHANGE = "_change"


@node("changes")
class Changes(Node):
    """Each change as a row that is added, with the word `insert` or `delete` in the column `_change`.

    >>> import headrace as hr
    >>> charges = hr.read.memory([("a", 1), ("a", 2)], "card string, amount int", name="charges")
    >>> spent = charges.group_by("card").agg(spent="sum(amount)")
    >>> spent.changes()                                        # epoch 1: +(a, 1)            ->   (a, 1, insert)
    <Stream consolidate.changes: card, spent, _change>
    """

    input: Node

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return (*self.input.columns, CHANGE)


@steps.register
def _(node: Changes) -> tuple[Step, ...]:
    return (Unweigh(CHANGE, True, node.site),)


def changes(input: Node, kind: str) -> Changes:
    """The changes of a stream of that kind."""
    if any(name.lower() == CHANGE for name in input.columns):
        raise duplicate(CHANGE, CHANGE, "changes")
    # Rows that are only ever added have nothing to net.
    return Changes(input if kind == "append" else consolidate(input), site=here())
