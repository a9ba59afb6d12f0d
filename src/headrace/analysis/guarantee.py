"""Delivery: exactly once or at least once for each sink, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.analysis.schemas import check
from headrace.ops import Program, Sink, Source
from headrace.plan import Fact, Plan, fact, order

EXACTLY_ONCE = "exactly once"
AT_LEAST_ONCE = "at least once"


@dataclass(frozen=True)
class Guarantee:
    """How often a sink gets a row, with the reasons: those against it where it is less than exactly once."""

    level: str
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.level}: {'; '.join(self.reasons)}"


def guarantees(plan: Plan) -> Mapping[str, Guarantee]:
    """The guarantee of each sink. After a crash an epoch is done again, so input, logic and sink all have to bear that."""
    loose = check(plan).not_repeatable
    found: dict[str, Guarantee] = {}
    for name in plan.sinks:
        sink = plan.nodes[name]
        if not isinstance(sink, Sink):
            continue
        against: list[str] = []
        reasons: list[str] = []
        for node in order([sink]):
            if isinstance(node, Source):
                traits = node.connect().traits
                (reasons if traits.replayable else against).append(f"{node.name}: {traits.why}")
            if str(node.name) in loose:
                against.append(f"{node.name}: `{loose[str(node.name)]}` gives another result when an epoch is done again")
            if isinstance(node, Program) and node.clock == "processing":
                reasons.append(f"{node.name}: processing time is logged with the epoch")
        traits_of_sink = sink.connect().traits
        (reasons if traits_of_sink.repeatable else against).append(f"{name}: {traits_of_sink.why}")
        found[name] = Guarantee(AT_LEAST_ONCE, tuple(against)) if against else Guarantee(EXACTLY_ONCE, tuple(reasons))
    return found


@fact("delivery")
def delivery(plan: Plan) -> Mapping[str, Fact]:
    """The guarantee of each sink, with its reasons."""
    return {name: Fact(found.level, str(found)) for name, found in guarantees(plan).items()}
