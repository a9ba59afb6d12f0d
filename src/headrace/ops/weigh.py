"""Rows with their own weights: insertions and retractions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from headrace.errors import here
from headrace.ops.change_words import reason
from headrace.ops.facts.keys import Keys
from headrace.ops.facts.kind import CHANGES
from headrace.ops.facts.reading import Wanted
from headrace.ops.operator import Stepwise
from headrace.plan import Node, Step, Weigh, node


@node("weigh")
class Weighed(Stepwise):
    """Each row with the weight that `text` gives: 1 inserts it, -1 retracts it, 0 drops it."""

    text: str

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns

    def describe(self) -> str:
        return f"weigh {self.text}"

    @property
    def reads_changes(self) -> bool:
        return True

    def steps(self) -> tuple[Step, ...]:
        return (Weigh(weigh=self.text, reason=reason(self.text, self.columns), place=self.place),)

    def kind_after(self, kinds: Mapping[Node, str]) -> str:
        return CHANGES

    def keys_after(self, keys: Mapping[Node, Keys]) -> Keys:
        return ()

    def columns_read(self, wanted: Wanted) -> Mapping[str, Wanted]:
        return {}


def weigh(input: Node, text: str) -> Weighed:
    return Weighed(input, text, site=here())
