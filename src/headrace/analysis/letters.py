"""Dead letters: the outputs with the rows that a program could not handle, and how to read them."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.ops.operator import operator
from headrace.plan import Fact, Plan, fact


@fact("dead letters")
def dead_letters(plan: Plan) -> Mapping[str, Fact]:
    """Return for each program where its dead letters are."""
    return {name: letters for name, node in plan.nodes.items() if (letters := operator(node).letter_fact(plan.job)) is not None}
