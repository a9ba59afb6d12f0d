"""Repeatable: whether a retraction has the values of its insertion, and whether a second run gives the same rows."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.analysis.schemas import Schemas, check
from headrace.errors import PlanError
from headrace.ops import kinds
from headrace.ops.operator import operator
from headrace.plan import Fact, Plan, fact

_FROM_A_COLUMN = "take the value from a column: a retraction must have the value of its insertion"
_AS_A_COLUMN = (
    'make it a column of an append-only stream: .with_columns(at="current_timestamp()") before operators that retract or keep rows'
)


@fact("time")
def time_of(plan: Plan) -> Mapping[str, Fact]:
    """Return for each node that uses the current time which time it gets."""
    return {
        name: Fact(list(texts), f"{', '.join(dict.fromkeys(texts))}: the start time of the epoch; a second run gives other results")
        for name, texts in check(plan).timed.items()
    }


def require_repeatable(plan: Plan, schemas: Schemas) -> None:
    """Raise for expressions with another value each time where rows are retracted, or kept and compared: nothing would cancel."""
    changing = kinds([plan.nodes[name] for name in plan.sinks])
    for by_node, hint in ((schemas.unsteady, _FROM_A_COLUMN), (schemas.timed, _AS_A_COLUMN)):
        for name, texts in by_node.items():
            node = operator(plan.nodes[name])
            if node.compares_rows or any(changing.get(before) == "changes" for before in node.inputs):
                raise PlanError(
                    "NOT_REPEATABLE",
                    f"{name}: `{texts[0]}` returns another value each time, but rows are also retracted here",
                    hint=hint,
                    site=node.site,
                )
