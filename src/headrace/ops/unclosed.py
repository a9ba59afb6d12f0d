"""Refuses results that are to be sent when windows close, where nothing closes."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.errors import PlanError
from headrace.ops.columns import label
from headrace.ops.facts.closing import closing
from headrace.ops.operator import operator
from headrace.ops.relational import WholeRows
from headrace.ops.sessions import Sessions
from headrace.ops.window import Windows
from headrace.plan import Node, Role, order


def require_closing(ends: Sequence[Node]) -> None:
    """Behind windows that are sent when they close comes an operator whose groups do, and what waits for a row's end has rows that end."""
    columns = closing(ends)
    waiting: dict[Node, Windows | None] = {}
    for node in map(operator, order(ends)):
        error = node.unclosed(columns)
        if error is not None:
            raise error
        before = next((waiting[one] for one in node.inputs if waiting[one] is not None), None)
        if isinstance(node, Windows) and node.sent_at_close:
            before = node
        # Rows of sessions wait by themselves.
        waits = node.group(columns) is not None or (isinstance(node, Sessions) and node.sent_at_close)
        # The net of whole rows has their windows.
        passes = isinstance(node, WholeRows) and node.net
        if before is not None and (node.role is Role.SINK or (node.role is Role.STATEFUL and not waits and not passes)):
            raise _never(before, node)
        waiting[node] = None if waits else before


def _never(windows: Windows, node: Node) -> PlanError:
    what = "it is written as it is" if node.role is Role.SINK else f"the groups of {label(node)} have no column of it"
    return PlanError(
        "NEVER_CLOSES",
        f"{label(windows)} sends what is computed of a window when it closes, and {what}",
        hint=f'group, join or rank by `{windows.names[1]}`, or send each change: emit="changes"',
        site=windows.site if node.role is Role.SINK else node.site,
    )
