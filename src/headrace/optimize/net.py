"""Consolidation only where an epoch may add a row and take it away again."""

from __future__ import annotations

from collections.abc import Callable

from headrace.ops import Aggregate, Consolidate, Filter, Ledger, Project, Upserts
from headrace.plan import Node, Plan
from headrace.syntax import plain_name


def net_once(plan: Plan) -> Plan:
    """What aggregates, rows by key and ledgers give is net already: of a key they compare what was with what is."""
    changes: dict[Node, Callable[[Node], Node]] = {
        node: _without for node in plan.nodes.values() if isinstance(node, Consolidate) and _net(node.input)
    }
    return plan.rewritten(changes) if changes else plan


def _net(node: Node) -> bool:
    while isinstance(node, Filter) or (isinstance(node, Project) and _keeps_all(node)):
        node = node.input
    return isinstance(node, Aggregate | Consolidate | Ledger | Upserts)


def _keeps_all(node: Project) -> bool:
    """Whether rows that differ before it differ behind it."""
    kept = {(plain_name(text) or "").lower() for _, text in node.items}
    return {name.lower() for name in node.input.columns} <= kept


def _without(node: Node) -> Node:
    return node.inputs[0]
