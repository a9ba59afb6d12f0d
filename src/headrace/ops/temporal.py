"""Rows that are present for a span of time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.ops.facts.carried import Columns
from headrace.ops.facts.clock import MACHINE, Clock
from headrace.ops.facts.closing import Group
from headrace.ops.facts.keys import Keys
from headrace.ops.facts.kind import CHANGES
from headrace.ops.facts.reading import Wanted, both, read
from headrace.ops.facts.state import RELEASED, Basis
from headrace.ops.parts import RelationText
from headrace.ops.relational import WholeRows
from headrace.ops.tree import Tree, reads
from headrace.plan import Fact, Node, node


@dataclass(frozen=True, kw_only=True)
class TemporalText(RelationText):
    """The times from which on a row is shown, and the times until which it is."""

    since: tuple[str, ...]
    until: tuple[str, ...]


@node("temporal")
class Temporal(WholeRows):
    """Each row while the processing time is at or after all of `since` and before all of `until`, times computed from its columns.

    Law: after every epoch it is `WHERE current_timestamp() >= since AND current_timestamp() < until` at the time at which the epoch began.

    epoch 1, at 10:00, until = ts + INTERVAL 1 HOUR: +(a, 09:30) +(b, 08:00)   ->   +(a, 09:30)
    epoch 2, at 10:30: nothing comes                                          ->   -(a, 09:30)
    """

    since: tuple[str, ...]
    until: tuple[str, ...]

    def describe(self) -> str:
        spans = [*(f"from {text}" for text in self.since), *(f"until {text}" for text in self.until)]
        return f"temporal filter: {', '.join(spans)}"

    def kind_after(self, kinds: Mapping[Node, str]) -> str:
        return CHANGES if self.until else kinds[self.input]

    def keys_after(self, keys: Mapping[Node, Keys]) -> Keys:
        return keys[self.input]

    def closing_after(self, columns: Mapping[Node, Columns]) -> Columns:
        return {}

    def columns_read(self, wanted: Wanted) -> Mapping[str, Wanted]:
        return {"input": both(wanted, read(self.input, (*self.since, *self.until)))}

    def kept(self, basis: Basis) -> Fact:
        if self.until:
            return Fact(RELEASED, "released when a row's time has passed: each current or future row")
        return Fact(RELEASED, "released when a row's time has come: each row that waits for it")

    def goes_by(self, group: Group | None) -> Clock:
        return MACHINE

    def relation(self) -> TemporalText:
        return TemporalText(since=self.since, until=self.until)


@reads("temporal")
def _temporal(tree: Tree) -> Node:
    return Temporal(tree.node("input"), tuple(tree["since"]), tuple(tree["until"]), site=tree.site)
