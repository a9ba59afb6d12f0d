"""The first rows of partitions, where a query asks for row numbers or ranks up to some number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from headrace.errors import Site
from headrace.jvm.texts import readings
from headrace.ops import Filter, Partition, Project, Top
from headrace.plan import Node, Plan
from headrace.syntax import plain_name, quote

VERB = "number"


def first_rows(plan: Plan) -> Plan:
    """Row numbers up to 3 are those of the first three rows of each partition, which change seldom; the others need no numbers.

    Ranks up to 3 are those of the same rows and the ones that tie with the third. Numbers and ranks depend on the rows before alone, and
    both operators settle ties in the same way, so those of the rows that are left stay the same. Other functions look at rows behind,
    or may fail over one of them. Where none but first rows are left, there is nothing to number: it is 1.
    """
    readers = Counter(before for node in plan.nodes.values() for before in node.inputs)
    changes: dict[Node, Callable[[Node], Node]] = {}
    filters = [node for node in plan.nodes.values() if isinstance(node, Filter)]
    read = readings(text for node in filters for text in node.where)
    for node in filters:
        for part in (part for text in node.where for part in read[text].conjuncts):
            bound = read[part].upper_bound
            found = None if bound is None else _numbered(node, bound[0], readers)
            if bound is not None and found is not None and not isinstance(found[0].input, Top):
                changes[found[0]] = _first(max(bound[1], 1), found[1], node.site)
    return plan.rewritten(changes) if changes else plan


def _numbered(filter: Filter, column: str, readers: Counter[Node]) -> tuple[Partition, str] | None:
    """The operator that gives the rows of a filter their numbers in this column, if nobody else reads it and it gives nothing but numbers;
    and the function that the column has.
    """
    node = filter.input
    while readers[node] == 1 and isinstance(node, Filter | Project):
        if isinstance(node, Project):
            column = plain_name({name.lower(): text for name, text in node.items}[column.lower()]) or ""
        node = node.input
    if readers[node] != 1 or not isinstance(node, Partition):
        return None
    given = _rankings(node)
    function = given.get(column.lower())
    return (node, function) if function and all(given.values()) else None


def _rankings(node: Partition) -> dict[str, str | None]:
    """The function by which each column numbers rows, by the column's name in lower case; None for one that does something else."""
    read = readings(text for _, text in node.functions)
    return {name.lower(): read[text].ranking for name, text in node.functions}


def _first(count: int, ties: str, site: Site | None) -> Callable[[Node], Node]:
    def change(node: Node) -> Node:
        assert isinstance(node, Partition)
        first = Top(node.input, node.per, node.order, count, ties=ties, site=site)
        if count > 1 or (ties != "row_number" and "row_number" in _rankings(node).values()):
            return replace(node, input=first)
        kept = [(name, quote(name)) for name in node.input.columns]
        return Project(first, VERB, (*kept, *((name, "1") for name, _ in node.functions)), site=node.site)

    return change
