"""Filters in front of operators with state: what they leave out is never kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from headrace.analysis.schemas import check
from headrace.jvm.texts import readings
from headrace.ops import Aggregate, Filter, Join, Partition, Project, Top, Upserts, forgets_after
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


def _operator(node: Node, readers: Counter[Node]) -> tuple[Node | None, frozenset[str]]:
    """The operator behind which a filter stands, with the columns that reach the filter as they are; none if others read its rows too."""
    visible = frozenset(name.lower() for name in node.columns)
    while readers[node] == 1 and isinstance(node, Filter | Project):
        if isinstance(node, Project):
            visible &= {name.lower() for name, text in node.items if (plain_name(text) or "").lower() == name.lower()}
        node = node.input
    alone = readers[node] == 1 and isinstance(node, Aggregate | Join | Partition | Top | Upserts)
    # A row of a join that forgets keeps those of its key, also where it is left out behind it.
    alone = alone and not (isinstance(node, Join) and forgets_after(node) is not None)
    return (node if alone else None), visible


def _place(operator: Node, columns: Iterable[str], visible: frozenset[str], text: str) -> str | None:
    """The input of the operator at which a condition over these columns may stand as well."""
    named = used(text, columns)
    if not named or not named <= visible:
        return None
    if isinstance(operator, Join):
        if named <= {name.lower() for name in operator.left.columns}:
            return None if operator.how == "full" else "left"
        return "right" if operator.how == "inner" and named <= {name.lower() for name in operator.right.columns} else None
    return "input" if named <= _same_for_all(operator) else None


def _same_for_all(operator: Node) -> set[str]:
    """The columns of an operator's rows that are equal in all rows which it looks at together, and come in under the same name."""
    if isinstance(operator, Aggregate):
        return {name.lower() for name, text in operator.keys if (plain_name(text) or "").lower() == name.lower()}
    if isinstance(operator, Upserts):
        # A row without a key is told of as a dead letter, whatever becomes of the others.
        return set() if operator.pairs or operator.last else {name.lower() for name in operator.key}
    assert isinstance(operator, Partition | Top)
    return {(plain_name(text) or "").lower() for text in operator.per}


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
            inputs[place] = Filter(getattr(operator, place), where, site=moved.site)
        return replace(operator, **inputs)  # type: ignore[arg-type]  # the names of its inputs

    return change
