"""The rows of a source of changes, checked."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.errors import here
from headrace.ops.facts.carried import Columns
from headrace.ops.facts.clock import NO_TIME, Clock
from headrace.ops.facts.closing import Group
from headrace.ops.facts.keys import Keys
from headrace.ops.facts.reading import Wanted
from headrace.ops.facts.state import GROWS, OF_ROWS, Basis
from headrace.ops.inlet import Json
from headrace.ops.operator import all_append
from headrace.ops.relational import WholeRows
from headrace.plan import Fact, Node, node


@node("ledger")
class Ledger(WholeRows):
    """The changes of a source, each row that is taken away more often than it was there left out: that is a dead letter.

    Only the net of an epoch is judged. It keeps how often each row is there.

    epoch 1: +(a, 1) -(b, 2)   ->   +(a, 1), and (b, 2) among the dead letters
    """

    net = True
    by_content = False  # named by its source, whose changes it judges

    def describe(self) -> str:
        return "ledger: what is taken away was there"

    def kind_after(self, kinds: Mapping[Node, str]) -> str:
        return all_append(self, kinds)

    def keys_after(self, keys: Mapping[Node, Keys]) -> Keys:
        return ()

    def closing_after(self, columns: Mapping[Node, Columns]) -> Columns:
        return columns[self.input]

    def columns_read(self, wanted: Wanted) -> Mapping[str, Wanted]:
        # It compares whole rows.
        return {}

    def kept(self, basis: Basis) -> Fact:
        return Fact(GROWS, "grows with the rows that are there: how often each is, to judge what is taken away")

    def goes_by(self, group: Group | None) -> Clock:
        return NO_TIME

    def relation(self) -> Json:
        return {}

    @property
    def tables(self) -> tuple[str, ...]:
        return (OF_ROWS,)


def ledger(input: Node) -> Ledger:
    return Ledger(input, site=here())
