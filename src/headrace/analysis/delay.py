"""Delay: what `order="time"` costs. Rows wait until the watermark passes them, which stays behind the newest rows by the delay."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.analysis.boundedness import sources
from headrace.ops import Program
from headrace.plan import Fact, Plan, fact
from headrace.schema import shown


@fact("order")
def order(plan: Plan) -> Mapping[str, Fact]:
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
    marks = [source.watermark for source in sources(node) if source.watermark is not None]
    # One watermark serves the whole query: the one that is furthest behind.
    delay = max((mark.delay_ms for mark in marks), default=0)
    silent = ", ".join(str(source.name) for source in sources(node) if source.watermark is not None and source.watermark.idle_ms is None)
    wait = f"; a silent source holds them back: {silent}" if len(marks) > 1 and silent else ""
    return Fact({"order": "time", "delay_ms": delay}, f"in the order of their time, held until {shown(delay)} of event time later{wait}")
