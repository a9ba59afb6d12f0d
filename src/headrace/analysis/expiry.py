"""Expiry: refuses `expires` where no event time passes, or where there is nothing to forget."""

from __future__ import annotations

from headrace.errors import PlanError
from headrace.ops import groups, sources_of
from headrace.ops.columns import label
from headrace.ops.operator import operator
from headrace.plan import Node, Plan, order


def require_expiry(plan: Plan) -> None:
    """Raise unless each operator with `expires` has keys, groups that do not close by themselves, and a watermark upstream."""
    forgetting = [node for node in map(operator, plan.nodes.values()) if node.forgets_after is not None]
    closed = groups(forgetting)
    for node in forgetting:
        if not node.grouped_by:
            raise _one_group(node)
        if node in closed:
            raise _closes(node)
        if not any(source.watermark is not None for source in sources_of(order([node]))):
            raise PlanError(
                "NO_WATERMARK",
                f"{label(node)} expires by event time, but none of its sources has a watermark",
                hint='add a watermark to a source: .watermark("ts", "5 minutes"); or leave expires out',
                site=node.site,
            )


def _one_group(node: Node) -> PlanError:
    return PlanError(
        "BAD_EXPIRY",
        f"{label(node)} cannot expire: without keys all its rows are one group",
        hint='add keys: group_by("card"), per="card", on="card"; or leave expires out',
        site=node.site,
    )


def _closes(node: Node) -> PlanError:
    return PlanError(
        "BAD_EXPIRY",
        f"{label(node)} cannot expire: its groups close, which releases their state",
        hint='leave expires out; .window(..., lateness="1 hour") keeps groups open longer',
        site=node.site,
    )
