"""The net changes of each epoch."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.errors import here
from headrace.ops.facts.carried import Columns
from headrace.ops.facts.clock import NO_TIME, Clock
from headrace.ops.facts.closing import Group
from headrace.ops.facts.keys import Keys
from headrace.ops.facts.reading import Wanted
from headrace.ops.facts.state import BOUNDED, Basis
from headrace.ops.inlet import Json
from headrace.ops.operator import all_append
from headrace.ops.relational import WholeRows
from headrace.plan import Fact, Node, node


@node("consolidate")
class Consolidate(WholeRows):
    """What an epoch changes in all: a row that is added and taken away in it does not appear. It keeps nothing.

    epoch 1: +(a, 1) +(b, 2) -(a, 1)   ->   +(b, 2)
    """

    net = True

    def describe(self) -> str:
        return "consolidate: the net of each epoch"

    def kind_after(self, kinds: Mapping[Node, str]) -> str:
        return all_append(self, kinds)

    def keys_after(self, keys: Mapping[Node, Keys]) -> Keys:
        return ()

    def closing_after(self, columns: Mapping[Node, Columns]) -> Columns:
        return columns[self.input]

    def columns_read(self, wanted: Wanted) -> Mapping[str, Wanted]:
        return {}

    def kept(self, basis: Basis) -> Fact:
        return Fact(BOUNDED, "bounded: it keeps nothing")

    def goes_by(self, group: Group | None) -> Clock:
        return NO_TIME

    def relation(self) -> Json:
        return {}

    @property
    def tables(self) -> tuple[str, ...]:
        return ()


def consolidate(input: Node) -> Consolidate:
    return Consolidate(input, site=here())
