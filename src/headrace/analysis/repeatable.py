"""Repeatable: whether a row that is taken away gives what it gave when it was added."""

from __future__ import annotations

from headrace.analysis.schemas import Schemas
from headrace.errors import PlanError
from headrace.ops import Program, kinds
from headrace.plan import Plan, Role


def require_repeatable(plan: Plan, schemas: Schemas) -> None:
    """Refuse texts that give another value each time where rows are taken away, or kept to be compared: nothing would cancel."""
    changing = kinds([plan.nodes[name] for name in plan.sinks])
    for name, texts in schemas.unsteady.items():
        node = plan.nodes[name]
        kept = node.role is Role.STATEFUL and not isinstance(node, Program)
        if kept or any(changing.get(before) == "changes" for before in node.inputs):
            raise PlanError(
                "NOT_REPEATABLE",
                f"{name}: `{texts[0]}` gives another value each time, and rows are also taken away here",
                hint="take the value from a column of the rows: it must be the same when a row is taken away again",
                site=node.site,
            )
