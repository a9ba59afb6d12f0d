"""Lookups: what is kept of outside tables, how they are asked, and whether a second run gives the same."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.ops import kinds, lookups_of
from headrace.ops.lookup import over_changes
from headrace.ops.operator import operator
from headrace.plan import Fact, Plan, fact


@fact("lookup")
def lookups(plan: Plan) -> Mapping[str, Fact]:
    """For each lookup, how its table is asked, and what of the answer depends on when a row arrives."""
    return {name: table for name, node in plan.nodes.items() if (table := operator(node).table_fact()) is not None}


def require_steady(plan: Plan) -> None:
    """Refuse lookups for rows that may be taken away, in a table that may have changed by then."""
    found = kinds([plan.nodes[name] for name in plan.sinks])
    for node in lookups_of(plan.nodes.values()):
        if found.get(node.input) == "changes" and not node.repeatable:
            raise over_changes(node)
