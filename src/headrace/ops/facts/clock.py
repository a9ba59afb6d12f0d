"""The clock of an operator."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.errors import HeadraceError
from headrace.ops.facts.carried import EVENT, PROCESSING
from headrace.ops.facts.closing import Group
from headrace.ops.facts.contract import Contract

NONE = "none"


@dataclass(frozen=True)
class Clock:
    """The time that drives an operator: "event", "processing" or "none".

    `final`: the end of bounded input also ends that time, so the operator sends or forgets what later rows could have changed.
    """

    name: str
    final: bool


NO_TIME = Clock(NONE, final=False)
WATERMARK = Clock(EVENT, final=True)
# The end of input does not move processing time: rows that wait for it stay in state, for a later run.
MACHINE = Clock(PROCESSING, final=False)


def clock_of_groups(node: Contract, group: Group | None) -> Clock:
    """Return the clock of an operator with groups: that of its keys if they close, event time if they expire."""
    if group is None:
        return NO_TIME if node.forgets_after is None else WATERMARK
    if len(group.clocks) > 1:
        raise HeadraceError(
            "CLOCKS_MIXED",
            f"the groups of {node.name} have columns that close by event time and by processing time",
            hint="group by the columns of one of them; one Spark query has one clock",
            site=node.site,
        )
    # The end of input closes windows of processing time, too.
    return Clock(next(iter(group.clocks)), final=True)
