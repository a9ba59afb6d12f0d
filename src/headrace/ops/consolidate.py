"""The net changes of each epoch."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.errors import here
from headrace.ops.facts.state import BOUNDED, Basis
from headrace.ops.parts import RelationText
from headrace.ops.relational import NetRows
from headrace.plan import Fact, Node, node


@dataclass(frozen=True, kw_only=True)
class ConsolidateText(RelationText):
    """An operator without texts."""


@node("consolidate")
class Consolidate(NetRows):
    """The net changes of each epoch: a row that is added and retracted in it does not appear. It keeps nothing.

    epoch 1: +(a, 1) +(b, 2) -(a, 1)   ->   +(b, 2)
    """

    def describe(self) -> str:
        return "consolidate: the net changes of each epoch"

    @property
    def keeps(self) -> bool:
        return False

    @property
    def needless_over_net(self) -> bool:
        return True

    def kept(self, basis: Basis) -> Fact:
        return Fact(BOUNDED, "bounded: it keeps nothing")

    def relation(self) -> ConsolidateText:
        return ConsolidateText()


def consolidate(input: Node) -> Consolidate:
    return Consolidate(input, site=here())
