"""The time that an operator goes by."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.errors import HeadraceError
from headrace.ops.facts.carried import EVENT, PROCESSING
from headrace.ops.facts.closing import Group
from headrace.ops.facts.contract import Contract

NONE = "none"


@dataclass(frozen=True)
class Clock:
    """The time that an operator goes by: "event", "processing" or "none".

    `final`: the end of bounded input brings that time to its end, where the operator sends or forgets what later rows would have changed.
    """

    name: str
    final: bool


NO_TIME = Clock(NONE, final=False)
WATERMARK = Clock(EVENT, final=True)
# The end of input leaves the machine's clock alone: what waits for it goes on waiting, and a later run finds it.
MACHINE = Clock(PROCESSING, final=False)


def clock_of_groups(node: Contract, group: Group | None) -> Clock:
    """Groups that close go by the time of their keys, those that expire by event time."""
    if group is None:
        return NO_TIME if node.forgets_after is None else WATERMARK
    if len(group.clocks) > 1:
        raise HeadraceError(
            "CLOCKS_MIXED",
            f"the groups of {node.name} have columns that close by event time and by processing time",
            hint="group by the columns of one of them; one Spark query has one clock.",
            site=node.site,
        )
    # The end of input closes windows of processing time, too.
    return Clock(next(iter(group.clocks)), final=True)
