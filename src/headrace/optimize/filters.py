"""Filters in front of operators with state: what they leave out is never kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from headrace.analysis.schemas import check
from headrace.jvm.texts import readings
from headrace.ops import Filter, Project
from headrace.ops.relational import Relational
from headrace.plan import Node, Plan
from headrace.syntax import plain_name, used


def filters_before_state(plan: Plan) -> Plan:
    """A condition over the columns of one side of a join, or over the groups of an aggregate, holds as well in front of it.

    Only conditions that have a value on every row move: they meet rows that the operator would have left out.
    """
    known = set(plan.nodes)
    total = check(plan).total
    while True:
        changes = _one_step(plan, total)
        if not changes:
            return plan
        plan = plan.rewritten(changes)
        # A filter that moved says the same, under a name of its own.
        total |= {name for name, node in plan.nodes.items() if isinstance(node, Filter) and name not in known}


def _one_step(plan: Plan, total: frozenset[str]) -> dict[Node, Callable[[Node], Node]]:
    """For some filters and the operators behind which they stand, what becomes of them."""
    readers = Counter(before for node in plan.nodes.values() for before in node.inputs)
    changes: dict[Node, Callable[[Node], Node]] = {}
    filters = {name: node for name, node in plan.nodes.items() if isinstance(node, Filter) and name in total}
    read = readings(text for node in filters.values() for text in node.where)
    for node in filters.values():
        if node in changes:
            continue
        parts = [part for text in node.where for part in read[text].conjuncts]
        operator, visible = _operator(node.input, readers)
        if operator is None or operator in changes:
            continue
        places = {part: _place(operator, node.columns, visible, part) for part in parts}
        if any(places.values()):
            stay = tuple(part for part in parts if not places[part])
            changes[node] = _left(stay)
            changes[operator] = _before(node, places)
    return changes


def _operator(node: Node, readers: Counter[Node]) -> tuple[Relational | None, frozenset[str]]:
    """The operator behind which a filter stands, with the columns that reach the filter as they are; none if others read its rows too."""
    visible = frozenset(name.lower() for name in node.columns)
    while readers[node] == 1 and isinstance(node, Filter | Project):
        if isinstance(node, Project):
            visible &= {name.lower() for name, text in node.items if (plain_name(text) or "").lower() == name.lower()}
        node = node.input
    return (node if readers[node] == 1 and isinstance(node, Relational) else None), visible


def _place(operator: Relational, columns: Iterable[str], visible: frozenset[str], text: str) -> str | None:
    """The input of the operator at which a condition over these columns may stand as well."""
    named = used(text, columns)
    return operator.place_of_filter(named) if named and named <= visible else None


def _left(stay: tuple[str, ...]) -> Callable[[Node], Node]:
    def change(node: Node) -> Node:
        assert isinstance(node, Filter)
        return replace(node, where=stay) if stay else node.input

    return change


def _before(moved: Filter, places: dict[str, str | None]) -> Callable[[Node], Node]:
    def change(operator: Node) -> Node:
        inputs = {}
        for place in {place for place in places.values() if place}:
            where = tuple(part for part, at in places.items() if at == place)
            inputs[place] = Filter(getattr(operator, place), where, moved.by, site=moved.site)
        return replace(operator, **inputs)  # type: ignore[arg-type]  # the names of its inputs

    return change
