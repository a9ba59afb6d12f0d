"""Delay: the cost of `order="time"`. Rows wait for the watermark, which trails the newest rows by the delay."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.analysis.clocks import clocks
from headrace.ops import Watermark, sources_of
from headrace.ops.facts.carried import PROCESSING
from headrace.ops.operator import operator
from headrace.plan import Fact, Node, Plan, fact, order


@fact("order")
def order_of(plan: Plan) -> Mapping[str, Fact]:
    """Return for each program the order in which it handles rows, and how long they wait for it."""
    facts = {name: operator(node).order_fact(lambda one: _watermarks(plan, one)) for name, node in plan.nodes.items()}
    return {name: how for name, how in facts.items() if how is not None}


def _watermarks(plan: Plan, node: Node) -> dict[str, Watermark]:
    """Return the watermarks, by source, of the Spark query that runs an event-time operator.

    That query has all sinks that share a node with it, directly or through other sinks. Sinks downstream of processing-time operators
    belong to another query.
    """
    machine = {name for name, clock in clocks(plan).items() if clock.name == PROCESSING}
    views = [order([plan.nodes[name]]) for name in plan.sinks]
    views = [nodes for nodes in views if machine.isdisjoint(str(one.name) for one in nodes)]
    together = set(order([node]))
    while more := [nodes for nodes in views if together.intersection(nodes) and not together.issuperset(nodes)]:
        together.update(*more)
    return {str(one.name): one.watermark for one in sources_of(plan.nodes.values()) if one in together and one.watermark is not None}
