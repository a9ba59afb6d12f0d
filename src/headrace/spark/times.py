"""Lateness is judged once, where a source's row meets its first time-driven operator; derived rows are never late."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.errors import HeadraceError
from headrace.ops import Program
from headrace.plan import Plan, Role
from headrace.spark.feeds import Feed


def judged(plan: Plan, node: Program, name: str, feeds: Sequence[Feed]) -> bool:
    """Whether the rows of a program's input may be late."""
    if node.order != "time":
        return False
    found = {plan.nodes[feed.producer].role is Role.SOURCE for feed in feeds}
    if len(found) > 1:
        raise HeadraceError(
            "SOURCE_WITH_DERIVED",
            f"the input `{name}` of {node.name} mixes rows straight from a source with rows that an operator made",
            hint="give the operator's rows an input of their own: .process(P, derived=stream.key_by(...)); "
            "only a source's rows can be late, and within one input the two cannot be told apart.",
            site=node.site,
        )
    return True in found
