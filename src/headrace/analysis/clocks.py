"""Clocks: the time that each operator goes by, and which operators the end of bounded input ends for good."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import singledispatch

from headrace.errors import HeadraceError
from headrace.ops import (
    Aggregate,
    AsOf,
    Consolidate,
    Group,
    Join,
    Ledger,
    Partition,
    Program,
    Sessions,
    Temporal,
    Top,
    Upserts,
    ended,
    forgets_after,
    groups,
    intervals,
)
from headrace.ops.facts.closing import EVENT, PROCESSING
from headrace.plan import Node, Plan, Role

NONE = "none"


@dataclass(frozen=True)
class Clock:
    """The time that an operator goes by: "event", "processing" or "none".

    `final`: the end of bounded input brings that time to its end, where the operator sends or forgets what later rows would have changed.
    """

    name: str
    final: bool


_NO_TIME = Clock(NONE, final=False)
_WATERMARK = Clock(EVENT, final=True)
# The end of input leaves the machine's clock alone: what waits for it goes on waiting, and a later run finds it.
_MACHINE = Clock(PROCESSING, final=False)


def clocks(plan: Plan) -> Mapping[str, Clock]:
    """The clock of each operator with state.

    >>> import headrace as hr
    >>> from headrace.plan import Plan
    >>> charges = hr.read.memory([], "card string, ts timestamp", name="charges").watermark("ts", "5 minutes")
    >>> spent = charges.window(hr.tumble("ts", "1 hour")).group_by("window_end").agg(n="count(*)")
    >>> counted = charges.group_by("card").agg(n="count(*)")
    >>> sorted(clock.name for clock in clocks(Plan.of("j", [one.write.memory()._use() for one in (spent, counted)])).values())
    ['event', 'none']
    """
    ends = [plan.nodes[name] for name in plan.sinks]
    closing, near = groups(ends), intervals(ends)
    operators = {name: node for name, node in plan.nodes.items() if node.role is Role.STATEFUL}
    return {name: _WATERMARK if node in near else clock_of(node, closing.get(node)) for name, node in operators.items()}


@singledispatch
def clock_of(node: Node, group: Group | None) -> Clock:
    raise TypeError(f"{type(node).__name__} does not say which time it goes by")


@clock_of.register
def _(node: Program, group: Group | None) -> Clock:
    return {EVENT: _WATERMARK, PROCESSING: _MACHINE, NONE: _NO_TIME}[node.clock]


@clock_of.register
def _(node: AsOf, group: Group | None) -> Clock:
    return _WATERMARK if node.clock == EVENT else _NO_TIME


@clock_of.register
def _(node: Temporal, group: Group | None) -> Clock:
    return _MACHINE


@clock_of.register
def _(node: Sessions, group: Group | None) -> Clock:
    return _NO_TIME if ended(node) is None else _WATERMARK


@clock_of.register(Consolidate)
@clock_of.register(Ledger)
@clock_of.register(Upserts)
def _(node: Consolidate | Ledger | Upserts, group: Group | None) -> Clock:
    return _NO_TIME


@clock_of.register(Aggregate)
@clock_of.register(Join)
@clock_of.register(Partition)
@clock_of.register(Top)
def _(node: Aggregate | Join | Partition | Top, group: Group | None) -> Clock:
    """Groups that close go by the time of their keys, those that expire by event time."""
    if group is None:
        return _NO_TIME if forgets_after(node) is None else _WATERMARK
    if len(group.clocks) > 1:
        raise HeadraceError(
            "CLOCKS_MIXED",
            f"the groups of {node.name} have columns that close by event time and by processing time",
            hint="group by the columns of one of them; one Spark query has one clock.",
            site=node.site,
        )
    # The end of input closes windows of processing time, too.
    return Clock(next(iter(group.clocks)), final=True)
