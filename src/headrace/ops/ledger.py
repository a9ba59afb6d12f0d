"""The rows of a source of changes, checked."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.errors import here
from headrace.ops.facts.state import GROWS, Basis
from headrace.ops.parts import RelationText
from headrace.ops.relational import NetRows
from headrace.plan import Fact, Node, node


@dataclass(frozen=True, kw_only=True)
class LedgerText(RelationText):
    """An operator without texts."""


@node("ledger")
class Ledger(NetRows):
    """The changes of a source without retractions of rows that are not present: those become dead letters.

    Only the net of an epoch is checked. State has how often each row is there.

    epoch 1: +(a, 1) -(b, 2)   ->   +(a, 1), and (b, 2) among the dead letters
    """

    by_content = False  # named after its source, whose changes it checks

    def describe(self) -> str:
        return "ledger: checks that retracted rows exist"

    @property
    def reads_changes(self) -> bool:
        return True

    def kept(self, basis: Basis) -> Fact:
        return Fact(GROWS, "grows with the current rows: the count of each, to check retractions")

    def relation(self) -> LedgerText:
        return LedgerText()


def ledger(input: Node) -> Ledger:
    return Ledger(input, site=here())
