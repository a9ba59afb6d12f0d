"""Lookups: how outside tables are asked, which answers are kept, and whether a second run gives the same rows."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.ops import kinds, lookups_of
from headrace.ops.lookup import over_changes
from headrace.ops.operator import operator
from headrace.plan import Fact, Plan, fact


@fact("lookup")
def lookups(plan: Plan) -> Mapping[str, Fact]:
    """Return for each lookup how its table is asked, and whether results depend on when a row arrives."""
    return {name: table for name, node in plan.nodes.items() if (table := operator(node).table_fact()) is not None}


def require_steady(plan: Plan) -> None:
    """Raise for a lookup over rows that may be retracted, in a table that may have changed by then."""
    changing = kinds([plan.nodes[name] for name in plan.sinks])
    for node in lookups_of(plan.nodes.values()):
        if changing.get(node.input) == "changes" and not node.repeatable:
            raise over_changes(node)
