"""The rows of a source of changes, checked."""

from __future__ import annotations

from functools import cached_property

from headrace.errors import here
from headrace.ops.source import DEAD_LETTER
from headrace.plan import Node, Role, node


@node("ledger", Role.STATEFUL)
class Ledger(Node):
    """The changes of a source, each row that is taken away more often than it was there left out: that is a dead letter.

    Only the net of an epoch is judged. It keeps how often each row is there.

    epoch 1: +(a, 1) -(b, 2)   ->   +(a, 1), and (b, 2) among the dead letters
    """

    input: Node

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns

    @property
    def outputs(self) -> tuple[str, ...]:
        return (DEAD_LETTER,)

    def describe(self) -> str:
        return "ledger: what is taken away was there"


def ledger(input: Node) -> Ledger:
    return Ledger(input, site=here())
