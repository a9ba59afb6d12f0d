"""Guarantee: how often a row counts in each sink after crashes and restarts, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headrace.analysis.boundedness import sources
from headrace.analysis.schemas import check
from headrace.ops import Sink, sinks_of
from headrace.ops.operator import operator
from headrace.plan import Fact, Plan, fact, order

EXACTLY, LEAST, MOST, NONE = "exactly once", "at least once", "at most once", "no guarantee"


@fact("guarantee")
def guarantee(plan: Plan) -> Mapping[str, Fact]:
    """Return for each sink how often a row counts there."""
    return {str(node.name): _guarantee(plan, node) for node in sinks_of(plan.nodes.values())}


def _guarantee(plan: Plan, node: Sink) -> Fact:
    traits = node.connect().traits
    lost = [source for source in sources(node) if not source.connect().traits.replayable]
    if lost:
        why = "; ".join(f"{source.name} cannot be replayed: {source.connect().traits.why}" for source in lost)
        # A replay reads other rows. A sink that does not recognize a repeated epoch, or commits it in parts, may have rows of both.
        both = not traits.repeatable or traits.placed or traits.batched
        return Fact(NONE, f"{NONE}: {why}; {traits.why}") if both else Fact(MOST, f"{MOST}: {why}")
    read = "; ".join(dict.fromkeys(source.connect().traits.why for source in sources(node)))
    if not traits.repeatable:
        return Fact(LEAST, f"{LEAST}: {traits.why}")
    texts = check(plan).unsteady
    unsteady = [f"{', '.join(dict.fromkeys(calls))} in {before.name}" for before in order([node]) if (calls := texts.get(str(before.name)))]
    if unsteady:
        return Fact(LEAST, f"{LEAST}: {'; '.join(unsteady)} may give other values when an epoch is replayed")
    lookups = [f"{before.name}: {before.unrepeatable}" for before in map(operator, order([node])) if before.unrepeatable is not None]
    if lookups:
        why = "; ".join(lookups)
        return Fact(LEAST, f"{LEAST}: lookups may return other values when an epoch is replayed ({why})")
    return Fact(EXACTLY, "; ".join([f"{EXACTLY}: {traits.why}", *([read] if read else []), *_caveats(plan, node)]))


def _caveats(plan: Plan, node: Sink) -> Iterable[str]:
    """Yield what a reader of the result should know although every row counts once."""
    timed = check(plan).timed
    for before in map(operator, order([node])):
        if str(before.name) in timed:
            yield f"{', '.join(dict.fromkeys(timed[str(before.name)]))} in {before.name} follows the wall clock"
        if before.caveat is not None:
            yield f"{before.name} {before.caveat}"
