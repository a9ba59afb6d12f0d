"""Visibility: what a reader of a sink sees while the job runs, what the sink leaves beside its rows, and what it cannot tell."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.ops import Sink
from headrace.plan import Fact, Plan, fact

STEPS = {
    "task": "what a task wrote at once: an epoch comes in as many steps as it has tasks",
    "row": "row by row, while an epoch is committed",
}


@fact("readers see")
def visible(plan: Plan) -> Mapping[str, Fact]:
    """For each sink that does not show an epoch as a whole, in what steps it does."""
    found = {name: node.connect().traits.visible for name, node in plan.nodes.items() if isinstance(node, Sink)}
    return {name: Fact(step, STEPS[step]) for name, step in found.items() if step in STEPS}


@fact("restored checkpoint")
def unmarked(plan: Plan) -> Mapping[str, Fact]:
    """For each sink that does not hold the identities of its epochs, what that means for a checkpoint that is put back."""
    text = "not noticed here, as the sink holds no mark of its epochs: rows that were written since the copy are written again"
    return {name: Fact(False, text) for name, node in plan.nodes.items() if isinstance(node, Sink) and not node.connect().traits.marks}


@fact("leaves")
def leaves(plan: Plan) -> Mapping[str, Fact]:
    """For each sink, what it leaves behind beside its rows, and when that goes away."""
    found = {name: node.connect().traits.cleans for name, node in plan.nodes.items() if isinstance(node, Sink)}
    return {name: Fact(text, text) for name, text in found.items() if text}
