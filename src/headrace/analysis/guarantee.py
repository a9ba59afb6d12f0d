"""Guarantee: how often a row counts in each sink after crashes and restarts, with the reasons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headrace.analysis.boundedness import sources
from headrace.analysis.schemas import check
from headrace.ops import Lookup, Program, Sink
from headrace.plan import Fact, Plan, fact, order

EXACTLY, LEAST, MOST, NONE = "exactly once", "at least once", "at most once", "no guarantee"


@fact("guarantee")
def guarantee(plan: Plan) -> Mapping[str, Fact]:
    """For each sink, how often a row counts there."""
    return {name: _guarantee(plan, node) for name, node in plan.nodes.items() if isinstance(node, Sink)}


def _guarantee(plan: Plan, node: Sink) -> Fact:
    traits = node.connect().traits
    lost = [source for source in sources(node) if not source.connect().traits.replayable]
    if lost:
        why = "; ".join(f"{source.name} cannot be read again: {source.connect().traits.why}" for source in lost)
        # What is read again is something else, and a sink that cannot tell an epoch, or has a part of one, takes both.
        both = not traits.repeatable or traits.placed or traits.batched
        return Fact(NONE, f"{NONE}: {why}; {traits.why}") if both else Fact(MOST, f"{MOST}: {why}")
    read = "; ".join(dict.fromkeys(source.connect().traits.why for source in sources(node)))
    if not traits.repeatable:
        return Fact(LEAST, f"{LEAST}: {traits.why}")
    texts = check(plan).unsteady
    unsteady = [f"{', '.join(dict.fromkeys(found))} in {before.name}" for before in order([node]) if (found := texts.get(str(before.name)))]
    if unsteady:
        return Fact(LEAST, f"{LEAST}: {'; '.join(unsteady)} may give other values when an epoch is run again")
    asked = [before for before in order([node]) if isinstance(before, Lookup) and not before.repeatable]
    if asked:
        why = "; ".join(f"{before.name}: {before.connect().traits.why}" for before in asked)
        return Fact(LEAST, f"{LEAST}: what is looked up may be other values when an epoch is run again ({why})")
    return Fact(EXACTLY, "; ".join([f"{EXACTLY}: {traits.why}", *([read] if read else []), *_caveats(plan, node)]))


def _caveats(plan: Plan, node: Sink) -> Iterable[str]:
    """What a reader of the result should know although every row counts once."""
    timed = check(plan).timed
    for before in order([node]):
        if str(before.name) in timed:
            yield f"{', '.join(dict.fromkeys(timed[str(before.name)]))} in {before.name} follows the wall clock"
        if isinstance(before, Program) and before.order == "arrival":
            if before.clock == "processing":
                yield f"{before.name} follows the wall clock"
            else:
                yield f"{before.name} takes rows as they arrive; those of an epoch are sorted, so that a replay is equal"
