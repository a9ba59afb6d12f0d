"""Window functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from headrace.errors import here
from headrace.jvm.texts import readings
from headrace.ops.facts.keys import Keys
from headrace.ops.facts.kind import CHANGES
from headrace.ops.facts.provenance import OfPartition, Provenance
from headrace.ops.facts.ranking import Ranking
from headrace.ops.facts.state import GROWS, Basis
from headrace.ops.parts import RelationText
from headrace.ops.relational import Partitioned, partition_of
from headrace.ops.tree import Tree, reads
from headrace.plan import Fact, Node, node
from headrace.syntax import windows

Ordering = tuple[str, str, str]
"""An expression, `asc` or `desc`, and whether nulls come `first` or `last`."""


@dataclass(frozen=True, kw_only=True)
class PartitionText(RelationText):
    """The expressions of the partition and its order, and the names and texts of the functions."""

    per: tuple[str, ...]
    order: tuple[Ordering, ...]
    functions: tuple[tuple[str, str], ...]


@node("partition")
class Partition(Partitioned):
    """Each row with the values of window functions over its partition. Ties of the order are broken by all columns, nulls first.

    `functions` are names and complete texts: `rank() OVER (PARTITION BY shop ORDER BY amount DESC)`.

    >>> import headrace as hr
    >>> sales = hr.read.memory([("a", 5), ("a", 7)], "shop string, amount int", name="sales")
    >>> # epoch 1: +(a, 5) +(a, 7)   ->   +(a, 5, 2) +(a, 7, 1)
    >>> # epoch 2: -(a, 7)           ->   -(a, 5, 2) -(a, 7, 1) +(a, 5, 1)
    >>> sales.with_columns(place=hr.f.rank().over(per="shop", by="amount desc"))
    <Stream partition(sales).with_columns: shop, amount, place>
    """

    order: tuple[Ordering, ...]
    functions: tuple[tuple[str, str], ...]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return (*self.input.columns, *(name for name, _ in self.functions))

    @property
    def fits(self) -> bool:
        return are_orderings(self.order)

    def describe(self) -> str:
        return ", ".join(f"{text} AS {name}" for name, text in self.functions)

    @property
    def forgets_after(self) -> int | None:
        return None

    def kind_after(self, kinds: Mapping[Node, str]) -> str:
        return CHANGES

    def keys_after(self, keys: Mapping[Node, Keys]) -> Keys:
        return keys[self.input]

    @property
    def named_columns(self) -> Mapping[str, str]:
        return dict(self.functions)

    @property
    def ranking(self) -> Ranking:
        read = readings(text for _, text in self.functions)
        return Ranking(self.per, self.order, {name.lower(): read[text].ranking for name, text in self.functions})

    @property
    def provenance(self) -> Provenance:
        return OfPartition(self.per)

    def kept(self, basis: Basis) -> Fact:
        return Fact(GROWS, f"grows with the rows, which it keeps in the order of each {partition_of(self.per)}")

    def relation(self) -> PartitionText:
        return PartitionText(per=self.per, order=self.order, functions=self.functions)


@reads("window")
def _window(tree: Tree) -> Node:
    return Partition(tree.node("input"), tuple(tree["keys"]), tree.tuples("order"), tree.tuples("functions"), site=tree.site)


def are_orderings(order: Sequence[Ordering]) -> bool:
    return all(direction in ("asc", "desc") and nulls in ("first", "last") for _, direction, nulls in order)


def windowed(input: Node, items: Sequence[tuple[str, str]]) -> tuple[Node, tuple[tuple[str, str], ...]]:
    """Return the node with the values of all window functions in some expressions, and the expressions with columns in their place."""
    taken = {name.lower() for name in (*input.columns, *(name for name, _ in items))}
    of: dict[tuple[tuple[str, ...], tuple[Ordering, ...]], dict[str, str]] = {}
    texts = []
    for name, text in items:
        written, place = "", 0
        for window in windows(text):
            functions = of.setdefault((window.per, window.order), {})
            call = text[window.start : window.end]
            column = functions.setdefault(call, _free(taken))
            written += text[place : window.start] + column
            place = window.end
        texts.append((name, written + text[place:]))
    for (per, order), functions in of.items():
        input = Partition(input, per, order, tuple((column, call) for call, column in functions.items()), site=here())
    return input, tuple(texts)


def _free(taken: set[str]) -> str:
    """Return a name that no other column has."""
    number = 1
    while f"_window_{number}" in taken:
        number += 1
    taken.add(f"_window_{number}")
    return f"_window_{number}"
