"""Consolidation only where an epoch may insert and retract the same row."""

from __future__ import annotations

from collections.abc import Callable

from headrace.ops.operator import operator
from headrace.plan import Node, Plan


def net_once(plan: Plan) -> Plan:
    """Remove consolidations of net input: aggregates, upserts and ledgers compare a key before and after the epoch."""
    changes: dict[Node, Callable[[Node], Node]] = {
        node: _without for node in plan.nodes.values() if operator(node).needless_over_net and _net(node.inputs[0])
    }
    return plan.rewritten(changes) if changes else plan


def _net(node: Node) -> bool:
    while operator(node).keeps_apart:
        node = node.inputs[0]
    return operator(node).net


def _without(node: Node) -> Node:
    return node.inputs[0]
