"""Visibility: what readers of a sink see while the job runs, what the sink leaves beside its rows, and what it cannot detect."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.ops import sinks_of
from headrace.plan import Fact, Plan, fact

STEPS = {
    "task": "the rows of one task at a time: an epoch appears in as many steps as it has tasks",
    "row": "row by row, while an epoch is committed",
}


@fact("readers see")
def visible(plan: Plan) -> Mapping[str, Fact]:
    """Return, for each sink that does not show an epoch as a whole, in what steps it does."""
    steps = {str(node.name): node.connect().traits.visible for node in sinks_of(plan.nodes.values())}
    return {name: Fact(step, STEPS[step]) for name, step in steps.items() if step in STEPS}


@fact("restored checkpoint")
def restored(plan: Plan) -> Mapping[str, Fact]:
    """Return what follows if a checkpoint is restored from a backup.

    Sinks without marks of their epochs do not detect it. Sinks that can be rewound are listed only if every sink with marks or with
    repeatable writes can be.
    """
    traits_of = {str(node.name): node.connect().traits for node in sinks_of(plan.nodes.values())}
    unmarked = "not noticed, as the sink does not record its epochs: rows written since the copy are written again"
    facts = {name: Fact(False, unmarked) for name, traits in traits_of.items() if not traits.marks}
    if all(traits.rewinds or not (traits.marks or traits.repeatable) for traits in traits_of.values()):
        back = "refused, as the sink holds later epochs; `headrace rewind` restores it"
        facts.update((name, Fact(True, back)) for name, traits in traits_of.items() if traits.rewinds)
    return facts


@fact("leaves")
def leaves(plan: Plan) -> Mapping[str, Fact]:
    """Return for each sink what it leaves beside its rows, and when that is deleted."""
    remains = {str(node.name): node.connect().traits.cleans for node in sinks_of(plan.nodes.values())}
    return {name: Fact(text, text) for name, text in remains.items() if text}
