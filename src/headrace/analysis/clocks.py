"""Clocks: the time that drives each stateful operator, and whether the end of bounded input completes it."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.ops import groups, intervals, stateful_of
from headrace.ops.facts.clock import WATERMARK, Clock
from headrace.plan import Plan


def clocks(plan: Plan) -> Mapping[str, Clock]:
    """Return the clock of each stateful operator.

    >>> import headrace as hr
    >>> from headrace.plan import Plan
    >>> charges = hr.read.memory([], "card string, ts timestamp", name="charges").watermark("ts", "5 minutes")
    >>> totals = charges.window(hr.tumble("ts", "1 hour")).group_by("window_end").agg(n="count(*)")
    >>> counts = charges.group_by("card").agg(n="count(*)")
    >>> sorted(clock.name for clock in clocks(Plan.of("j", [one.write.memory()._use() for one in (totals, counts)])).values())
    ['event', 'none']
    """
    ends = [plan.nodes[name] for name in plan.sinks]
    closing, near = groups(ends), intervals(ends)
    operators = stateful_of(plan.nodes.values())
    return {str(node.name): WATERMARK if node in near else node.goes_by(closing.get(node)) for node in operators}
