"""Closing: refuses results that are to be sent when windows close, where nothing closes."""

from __future__ import annotations

from headrace.errors import PlanError
from headrace.ops import Consolidate, Ledger, Sessions, Sink, Windows, closing, groups
from headrace.ops.columns import label
from headrace.ops.window import CLOSE
from headrace.plan import Node, Plan, Role, order


def require_closing(plan: Plan) -> None:
    """Behind windows that are sent when they close comes an operator whose groups do."""
    ends = [plan.nodes[name] for name in plan.sinks]
    columns, closed = closing(ends), groups(ends)
    waiting: dict[Node, Windows | None] = {}
    for node in order(ends):
        before = next((waiting[one] for one in node.inputs if waiting[one] is not None), None)
        if isinstance(node, Windows | Sessions) and node.emit == CLOSE and node.names[1].lower() not in columns[node]:
            raise _timeless(node)
        if isinstance(node, Windows) and node.emit == CLOSE:
            before = node
        # Rows of sessions wait by themselves.
        waits = node in closed or (isinstance(node, Sessions) and node.emit == CLOSE)
        if before is not None and (isinstance(node, Sink) or (node.role is Role.STATEFUL and not waits and not _passes(node))):
            raise _never(before, node)
        waiting[node] = None if waits else before


def _passes(node: Node) -> bool:
    return isinstance(node, Consolidate | Ledger)


def _timeless(node: Windows | Sessions) -> PlanError:
    what = "what is computed of a window" if isinstance(node, Windows) else "the rows of a session"
    return PlanError(
        "NO_WATERMARK",
        f"{label(node)} sends {what} when it closes, and `{node.time}` is not event time there, so none ever does",
        hint=f'give the source a watermark, .watermark("{node.time}", "5 minutes"), or send each change: emit="changes"',
        site=node.site,
    )


def _never(windows: Windows, node: Node) -> PlanError:
    what = "it is written as it is" if isinstance(node, Sink) else f"the groups of {label(node)} have no column of it"
    return PlanError(
        "NEVER_CLOSES",
        f"{label(windows)} sends what is computed of a window when it closes, and {what}",
        hint=f'group, join or rank by `{windows.names[1]}`, or send each change: emit="changes"',
        site=windows.site if isinstance(node, Sink) else node.site,
    )
