"""The first rows of partitions, where a query asks for row numbers up to some number."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from headrace.errors import Site
from headrace.ops import Filter, Partition, Project, Top
from headrace.plan import Node, Plan
from headrace.syntax import conjuncts, plain_name, upper_bound

_ROW_NUMBER = re.compile(r"(?i)\s*row_number\s*\(\s*\)\s+over\b")


def first_rows(plan: Plan) -> Plan:
    """Row numbers up to 3 are those of the first three rows of each partition, which change seldom; the others need no numbers.

    Both settle ties in the same way, so the numbers stay the same.
    """
    readers = Counter(before for node in plan.nodes.values() for before in node.inputs)
    changes: dict[Node, Callable[[Node], Node]] = {}
    for node in plan.nodes.values():
        if not isinstance(node, Filter):
            continue
        for part in (part for text in node.where for part in conjuncts(text)):
            bound = upper_bound(part)
            numbered = None if bound is None else _numbered(node, bound[0], readers)
            if bound is not None and numbered is not None and not isinstance(numbered.input, Top):
                changes[numbered] = _first(max(bound[1], 1), node.site)
    return plan.rewritten(changes) if changes else plan


def _numbered(filter: Filter, column: str, readers: Counter[Node]) -> Partition | None:
    """The operator that gives the rows of a filter their numbers in this column, if nobody else reads it and it gives nothing else."""
    node = filter.input
    while readers[node] == 1 and isinstance(node, Filter | Project):
        if isinstance(node, Project):
            column = plain_name({name.lower(): text for name, text in node.items}[column.lower()]) or ""
        node = node.input
    if readers[node] != 1 or not isinstance(node, Partition) or column.lower() not in {name.lower() for name, _ in node.functions}:
        return None
    return node if all(_ROW_NUMBER.match(text) for _, text in node.functions) else None


def _first(count: int, site: Site | None) -> Callable[[Node], Node]:
    def change(node: Node) -> Node:
        assert isinstance(node, Partition)
        return replace(node, input=Top(node.input, node.per, node.order, count, site=site))

    return change
