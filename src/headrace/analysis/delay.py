"""Delay: what `order="time"` costs. Rows wait until the watermark passes them, which stays behind the newest rows by the delay."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.ops import Program, Source, sources_of
from headrace.plan import Fact, Plan, fact, order
from headrace.schema import shown


@fact("order")
def order_of(plan: Plan) -> Mapping[str, Fact]:
    """For each program, the order in which it handles rows, and how long they wait for it."""
    return {name: _order(plan, node) for name, node in plan.nodes.items() if isinstance(node, Program)}


def _order(plan: Plan, node: Program) -> Fact:
    if node.order == "arrival":
        how = "as they come; its results depend on how rows arrive"
        if node.clock == "processing":
            how = "as they come, its timers by the wall clock; a second run gives other results"
        elif node.clock == "event":
            how = "as they come, its timers at the end of an epoch; its results depend on how rows arrive"
        return Fact({"order": "arrival", "delay_ms": 0}, how)
    # One watermark serves the whole query: the one that is furthest behind.
    marks = {source.name: source.watermark for source in _of_its_query(plan, node) if source.watermark is not None}
    delay = max((mark.delay_ms for mark in marks.values()), default=0)
    silent = ", ".join(str(name) for name, mark in marks.items() if mark.idle_ms is None)
    wait = f"; a silent source holds them back: {silent}" if len(marks) > 1 and silent else ""
    return Fact({"order": "time", "delay_ms": delay}, f"in the order of their time, held until {shown(delay)} of event time later{wait}")


def _of_its_query(plan: Plan, node: Program) -> list[Source]:
    """The sources of the query that an operator of event time runs in, which has all sinks that share anything with it.

    Sinks behind timers of processing time are another query's.
    """
    views = [order([plan.nodes[name]]) for name in plan.sinks]
    views = [nodes for nodes in views if not any(isinstance(one, Program) and one.clock == "processing" for one in nodes)]
    together = set(order([node]))
    while more := [nodes for nodes in views if together.intersection(nodes) and not together.issuperset(nodes)]:
        together.update(*more)
    return [one for one in sources_of(plan.nodes.values()) if one in together]
