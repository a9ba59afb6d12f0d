"""Refuses results that are sent when windows close, where nothing closes."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.errors import PlanError
from headrace.ops.columns import label
from headrace.ops.facts.closing import Wait, closing
from headrace.ops.operator import Operator, operator
from headrace.plan import Node, Role, order


def require_closing(ends: Sequence[Node]) -> None:
    """Raise if `emit="close"` waits for something that never closes: groups downstream of a window, or the end of rows."""
    columns = closing(ends)
    waiting: dict[Node, Operator | None] = {}
    for node in map(operator, order(ends)):
        error = node.unclosed(columns)
        if error is not None:
            raise error
        before = next((waiting[one] for one in node.inputs if waiting[one] is not None), None)
        if node.awaited is not None:
            before = node
        wait = node.wait(columns)
        if before is not None and wait is Wait.NOWHERE:
            raise _never(before, node)
        waiting[node] = None if wait is Wait.HERE else before


def _never(windows: Operator, node: Node) -> PlanError:
    what = "nothing groups by the window" if node.role is Role.SINK else f"the groups of {label(node)} have no column of it"
    return PlanError(
        "NEVER_CLOSES",
        f"{label(windows)} sends the results of a window when it closes, but {what}",
        hint=f'group, join or rank by `{windows.awaited}`, or emit each change: emit="changes"',
        site=windows.site if node.role is Role.SINK else node.site,
    )
