"""Consolidation only where an epoch may add a row and take it away again."""

from __future__ import annotations

from collections.abc import Callable

from headrace.ops import Consolidate
from headrace.ops.operator import Stepwise, operator
from headrace.plan import Node, Plan


def net_once(plan: Plan) -> Plan:
    """What aggregates, rows by key and ledgers give is net already: of a key they compare what was with what is."""
    changes: dict[Node, Callable[[Node], Node]] = {
        node: _without for node in plan.nodes.values() if isinstance(node, Consolidate) and _net(node.input)
    }
    return plan.rewritten(changes) if changes else plan


def _net(node: Node) -> bool:
    while isinstance(node, Stepwise) and node.keeps_apart:
        node = node.input
    return operator(node).net


def _without(node: Node) -> Node:
    return node.inputs[0]
