"""Changes as rows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from headrace.errors import here
from headrace.ops.columns import duplicate
from headrace.ops.consolidate import consolidate
from headrace.ops.facts.keys import Keys
from headrace.ops.facts.kind import APPEND
from headrace.ops.facts.reading import Wanted
from headrace.ops.operator import Stepwise
from headrace.plan import Node, Step, Unweigh, node

CHANGE = "_change"


@node("changes")
class Changes(Stepwise):
    """Each change as an inserted row, with the word `insert` or `delete` in the column `_change`.

    >>> import headrace as hr
    >>> charges = hr.read.memory([("a", 1), ("a", 2)], "card string, amount int", name="charges")
    >>> totals = charges.group_by("card").agg(spent="sum(amount)")
    >>> totals.changes()                                       # epoch 1: +(a, 1)            ->   (a, 1, insert)
    <Stream consolidate(aggregate(charges)).changes: card, spent, _change>
    """

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return (*self.input.columns, CHANGE)

    @property
    def shows_changes(self) -> bool:
        return True

    def steps(self) -> tuple[Step, ...]:
        return (Unweigh(unweigh=CHANGE, change=True, place=self.place),)

    def kind_after(self, kinds: Mapping[Node, str]) -> str:
        return APPEND

    def keys_after(self, keys: Mapping[Node, Keys]) -> Keys:
        return ()

    def columns_read(self, wanted: Wanted) -> Mapping[str, Wanted]:
        return {}


def changes(input: Node, kind: str) -> Changes:
    """Return the changes of a stream of this kind."""
    if any(name.lower() == CHANGE for name in input.columns):
        raise duplicate(CHANGE, CHANGE, "changes")
    # An insert-only stream has nothing to consolidate.
    return Changes(input if kind == "append" else consolidate(input), site=here())
