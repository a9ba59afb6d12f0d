"""Keep the rows for which conditions are true."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Self

from headrace.errors import here
from headrace.expr import Column
from headrace.ops.columns import conditions
from headrace.ops.facts.keys import lower
from headrace.ops.facts.ranking import Copies
from headrace.ops.facts.reading import Wanted, both, read
from headrace.ops.handle import Handle, verb
from headrace.ops.operator import Selective
from headrace.ops.tree import Tree, reads
from headrace.plan import Node, Where, node


@node("filter")
class Filter(Selective):
    """The rows for which every condition is true; rows for which one is false or null are dropped. `by` is the verb that the user wrote.

    >>> import headrace as hr
    >>> charges = hr.read.memory([("a", 1), ("b", 900)], "card string, amount int", name="charges")
    >>> charges.filter("amount > 500")                         # (a, 1) (b, 900)   ->   (b, 900)
    <Stream charges.filter: card, amount>
    """

    where: tuple[str, ...]
    by: str = field(default="filter", metadata={"later": True})

    @property
    def verb(self) -> str:
        return self.by

    def describe(self) -> str:
        return f"{self.by} {' AND '.join(self.where)}"

    def steps(self) -> tuple[Where, ...]:
        return tuple(Where(where=text, place=self.place) for text in self.where)

    @property
    def copies(self) -> Copies:
        return Copies({name: name for name in lower(self.columns)}, all_rows=False)

    def columns_read(self, wanted: Wanted) -> Mapping[str, Wanted]:
        return {"input": both(wanted, read(self.input, self.where))}


def filters_of(nodes: Iterable[Node]) -> tuple[Filter, ...]:
    """Return the filters among some nodes."""
    return tuple(node for node in nodes if isinstance(node, Filter))


def filter(input: Node, predicates: Sequence[Any], alias: str | None = None) -> Filter:
    return Filter(input, conditions(input, predicates, alias), site=here())


@reads("filter")
def _filter(tree: Tree) -> Node:
    return Filter(tree.node("input"), (tree["condition"],), site=tree.site)


class FilterVerb(Handle):
    __slots__ = ()

    @verb("filter")
    def filter(self, *conditions: Column | str) -> Self:
        """Keeps the rows for which every condition is true. A condition that is null is not true, as in SQL's `WHERE`.

        Args:
            *conditions: SQL texts or columns, all of which must be true.

        Raises:
            PlanError: `UNKNOWN_COLUMN` if a column does not exist; `BAD_COLUMN` if an argument is neither a column nor a text.

        Examples:
            >>> import headrace as hr
            >>> charges = hr.read.memory([("a", 900), ("b", 20)], "card string, amount int", name="charges")
            >>> charges.filter("amount > 500", hr.col("card") != "x")          # ('a', 900), ('b', 20)  ->  ('a', 900)
            <Stream charges.filter: card, amount>
        """
        return self._then(filter(self._node, conditions, self._alias), self._alias)
