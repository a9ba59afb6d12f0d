"""The first rows of partitions, where a query keeps only row numbers or ranks up to a bound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from headrace.errors import Site
from headrace.jvm.texts import readings
from headrace.ops import Filter, Project, Top
from headrace.ops.facts.ranking import Ranking
from headrace.ops.filter import filters_of
from headrace.ops.operator import operator
from headrace.plan import Node, Plan
from headrace.plan.naming import with_inputs
from headrace.syntax import quote

VERB = "number"


def first_rows(plan: Plan) -> Plan:
    """Number only the first n rows of each partition where a filter keeps numbers or ranks up to n.

    A number or rank depends only on the rows before it, and both operators break ties in the same way, so the remaining rows keep theirs.
    For ranks, the rows that tie with the last one stay too. Other window functions look at later rows or may fail on one, so an operator
    with such a function stays as it is. If all remaining numbers are 1, the column is the constant 1.
    """
    readers = Counter(before for node in plan.nodes.values() for before in node.inputs)
    changes: dict[Node, Callable[[Node], Node]] = {}
    filters = filters_of(plan.nodes.values())
    read = readings(text for node in filters for text in node.where)
    for node in filters:
        for part in (part for text in node.where for part in read[text].conjuncts):
            bound = read[part].upper_bound
            match = None if bound is None else _numbered(node, bound[0], readers)
            if bound is not None and match is not None:
                numbered, ranking, function = match
                changes[numbered] = _first(ranking, max(bound[1], 1), function, node.site)
    return plan.rewritten(changes) if changes else plan


def _numbered(filter: Filter, column: str, readers: Counter[Node]) -> tuple[Node, Ranking, str] | None:
    """Return the operator that numbers the rows of a filter in this column, its ranking, and the column's function.

    None if the operator has other readers or computes anything but numbers, or if its input has first rows only.
    """
    node, column = filter.input, column.lower()
    while readers[node] == 1 and (copies := operator(node).copies) is not None:
        node, column = node.inputs[0], copies.columns.get(column, "")
    ranking = operator(node).ranking if readers[node] == 1 else None
    if ranking is None or operator(node.inputs[0]).first_rows:
        return None
    function = ranking.functions.get(column)
    return (node, ranking, function) if function and all(ranking.functions.values()) else None


def _first(ranking: Ranking, count: int, ties: str, site: Site | None) -> Callable[[Node], Node]:
    def change(node: Node) -> Node:
        before = node.inputs[0]
        first = Top(before, ranking.per, ranking.order, count, ties=ties, site=site)
        if count > 1 or (ties != "row_number" and "row_number" in ranking.functions.values()):
            return with_inputs(node, {before: first})
        kept = [(name, quote(name)) for name in before.columns]
        numbers = [(name, "1") for name in node.columns[len(kept) :]]
        return Project(first, VERB, (*kept, *numbers), site=node.site)

    return change
