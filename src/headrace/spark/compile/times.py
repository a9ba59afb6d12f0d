"""Lateness is judged once, where a source's row meets its first time-driven operator; derived rows are never late."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.errors import HeadraceError
from headrace.plan import Node, Plan, Role
from headrace.spark.compile.feeds import Feed


def judged(plan: Plan, node: Node, name: str, feeds: Sequence[Feed], apart: str) -> bool:
    """Return whether the rows of an input may be late; `apart`: how to give the rows of an operator an input of their own."""
    answers = {straight for feed in feeds for straight in _straight(plan.nodes[feed.producer])}
    if len(answers) > 1:
        raise HeadraceError(
            "SOURCE_WITH_DERIVED",
            f"the input `{name}` of {node.name} mixes rows of a source with rows of an operator",
            hint=f"give the operator's rows an input of their own: {apart}. "
            "Only rows of a source can be late, so the two must be in separate inputs.",
            site=node.site,
        )
    return True in answers


def _straight(producer: Node) -> set[bool]:
    """Return whether rows come straight from a source; a lookup on the way makes no difference."""
    if producer.role in (Role.LOOKUP, Role.STATELESS):
        return {straight for before in producer.inputs for straight in _straight(before)}
    if producer.role is Role.OUTPUT and producer.inputs[0].role is Role.LOOKUP:
        return _straight(producer.inputs[0])
    return {producer.role is Role.SOURCE}
