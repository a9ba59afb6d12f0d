"""The first rows of partitions, where a query asks for row numbers or ranks up to some number."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from headrace.errors import Site
from headrace.ops import Filter, Partition, Project, Top
from headrace.plan import Node, Plan
from headrace.syntax import conjuncts, plain_name, quote, upper_bound

VERB = "number"
_NUMBERING = re.compile(r"(?i)\s*(row_number|rank|dense_rank)\s*\(")


def first_rows(plan: Plan) -> Plan:
    """Row numbers up to 3 are those of the first three rows of each partition, which change seldom; the others need no numbers.

    Ranks up to 3 are those of the same rows and the ones that tie with the third. Numbers and ranks depend on the rows before alone, and
    both operators settle ties in the same way, so those of the rows that are left stay the same. Other functions look at rows behind,
    or may fail over one of them. Where none but first rows are left, there is nothing to number: it is 1.
    """
    readers = Counter(before for node in plan.nodes.values() for before in node.inputs)
    changes: dict[Node, Callable[[Node], Node]] = {}
    for node in plan.nodes.values():
        if not isinstance(node, Filter):
            continue
        for part in (part for text in node.where for part in conjuncts(text)):
            bound = upper_bound(part)
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
    given = {name.lower(): _function(text) for name, text in node.functions}
    function = given.get(column.lower())
    return (node, function) if function and all(given.values()) else None


def _function(text: str) -> str:
    """The name of a function that numbers; nothing for any other."""
    found = _NUMBERING.match(text)
    return found[1].lower() if found else ""


def _first(count: int, ties: str, site: Site | None) -> Callable[[Node], Node]:
    def change(node: Node) -> Node:
        assert isinstance(node, Partition)
        first = Top(node.input, node.per, node.order, count, ties=ties, site=site)
        if count > 1 or (ties != "row_number" and "row_number" in {_function(text) for _, text in node.functions}):
            return replace(node, input=first)
        kept = [(name, quote(name)) for name in node.input.columns]
        return Project(first, VERB, (*kept, *((name, "1") for name, _ in node.functions)), site=node.site)

    return change
