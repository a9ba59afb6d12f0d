"""Filters in front of stateful operators, which then never keep the rows that the filter drops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from headrace.analysis.schemas import check
from headrace.jvm.texts import readings
from headrace.ops import Filter
from headrace.ops.filter import filters_of
from headrace.ops.operator import Operator, operator
from headrace.plan import Node, Plan
from headrace.syntax import used


def filters_before_state(plan: Plan) -> Plan:
    """Move conditions over one side of a join, or over the group columns of an aggregate, in front of it.

    Only conditions that have a value on every row move: they meet rows that the operator would have dropped.
    """
    known = set(plan.nodes)
    total = check(plan).total
    while True:
        changes = _one_step(plan, total)
        if not changes:
            return plan
        plan = plan.rewritten(changes)
        # A moved filter has the same conditions under a new name.
        total |= {str(node.name) for node in filters_of(plan.nodes.values()) if node.name not in known}


def _one_step(plan: Plan, total: frozenset[str]) -> dict[Node, Callable[[Node], Node]]:
    """Return the replacements for some filters and for the operators directly upstream of them."""
    readers = Counter(before for node in plan.nodes.values() for before in node.inputs)
    changes: dict[Node, Callable[[Node], Node]] = {}
    filters = [node for node in filters_of(plan.nodes.values()) if node.name in total]
    read = readings(text for node in filters for text in node.where)
    for node in filters:
        if node in changes:
            continue
        parts = [part for text in node.where for part in read[text].conjuncts]
        before, visible = _passed(node.input, readers)
        if before is None or before in changes:
            continue
        places = {part: _place(before, node.columns, visible, part) for part in parts}
        if any(places.values()):
            changes[node] = _left(node, tuple(part for part in parts if not places[part]))
            changes[before] = _before(node, places)
    return changes


def _passed(node: Node, readers: Counter[Node]) -> tuple[Operator | None, frozenset[str]]:
    """Return the operator upstream of a filter and the columns that reach the filter unchanged; None if its rows have other readers."""
    visible = frozenset(name.lower() for name in node.columns)
    while readers[node] == 1 and (copies := operator(node).copies) is not None:
        visible &= {name for name, had in copies.columns.items() if name == had}
        node = node.inputs[0]
    return (operator(node) if readers[node] == 1 else None), visible


def _place(before: Operator, columns: Iterable[str], visible: frozenset[str], text: str) -> str | None:
    """Return the input of the operator at which a condition over these columns gives the same result, or None."""
    named = used(text, columns)
    return before.place_of_filter(named) if named and named <= visible else None


def _left(filter: Filter, stay: tuple[str, ...]) -> Callable[[Node], Node]:
    return lambda moved: replace(filter, input=moved.inputs[0], where=stay) if stay else moved.inputs[0]


def _before(moved: Filter, places: dict[str, str | None]) -> Callable[[Node], Node]:
    def change(operator: Node) -> Node:
        inputs = {}
        for place in {place for place in places.values() if place}:
            where = tuple(part for part, at in places.items() if at == place)
            inputs[place] = Filter(getattr(operator, place), where, moved.by, site=moved.site)
        return replace(operator, **inputs)  # type: ignore[arg-type]  # the names of its inputs

    return change
