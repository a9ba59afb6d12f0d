"""Refuses results that are to be sent when windows close, where nothing closes."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.errors import PlanError
from headrace.ops.columns import label
from headrace.ops.consolidate import Consolidate
from headrace.ops.facts.closing import Columns, closing, groups, intervals
from headrace.ops.facts.interval import WAITING, bounds
from headrace.ops.join import Join
from headrace.ops.ledger import Ledger
from headrace.ops.sessions import Sessions
from headrace.ops.window import CLOSE, Windows
from headrace.plan import Node, Role, order
from headrace.syntax import plain_name


def require_closing(ends: Sequence[Node]) -> None:
    """Behind windows that are sent when they close comes an operator whose groups do, and what waits for a row's end has rows that end."""
    columns, closed, near = closing(ends), groups(ends), intervals(ends)
    waiting: dict[Node, Windows | None] = {}
    for node in order(ends):
        if isinstance(node, Join) and node.emit == CLOSE and node not in closed:
            kept = near[node].kept_us if node in near else (None, None)
            endless = next((side for side in WAITING.get(node.how, ()) if kept[side] is None), None)
            if endless is not None:
                raise _endless(node, endless, (columns[node.left], columns[node.right]))
        before = next((waiting[one] for one in node.inputs if waiting[one] is not None), None)
        if isinstance(node, Windows | Sessions) and node.emit == CLOSE and node.names[1].lower() not in columns[node]:
            raise _timeless(node)
        if isinstance(node, Windows) and node.emit == CLOSE:
            before = node
        # Rows of sessions wait by themselves.
        waits = node in closed or (isinstance(node, Sessions) and node.emit == CLOSE)
        if before is not None and (node.role is Role.SINK or (node.role is Role.STATEFUL and not waits and not _passes(node))):
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
    what = "it is written as it is" if node.role is Role.SINK else f"the groups of {label(node)} have no column of it"
    return PlanError(
        "NEVER_CLOSES",
        f"{label(windows)} sends what is computed of a window when it closes, and {what}",
        hint=f'group, join or rank by `{windows.names[1]}`, or send each change: emit="changes"',
        site=windows.site if node.role is Role.SINK else node.site,
    )


def _endless(node: Join, side: int, columns: tuple[Columns, Columns]) -> PlanError:
    """Of the rows of a side (left 0, right 1) it would never be said that they meet none."""
    name = ("left", "right")[side]
    waits = f"{label(node)} says that a {name} row meets none when none can come any more"
    keys = [tuple((plain_name(text) or "").lower() for text in pair) for pair in node.keys]
    known = {
        pair: [name in side for name, side in zip(pair, columns, strict=True)]
        for pair, ends in bounds(node).items()
        if ends[side] is not None and pair not in keys
    }
    # Where one of the two is event time, it is the other that is missing; two columns that are not may be no times at all.
    bounding = [pair for pair, timed in known.items() if any(timed) or not all(columns)]
    if not bounding:
        return PlanError(
            "NEVER_CLOSES",
            f"{waits}, and its condition does not say until when one can",
            hint='bound the times of both sides, `ts BETWEEN opened AND opened + INTERVAL 1 HOUR`, or send each change: emit="changes"',
            site=node.site,
        )
    pair = max(bounding, key=lambda pair: any(known[pair]))
    time, of = (pair[1], node.right) if known[pair][0] else (pair[0], node.left)
    return PlanError(
        "NO_WATERMARK",
        f"{waits}, and `{time}` of {label(of)} is not event time, so one always can",
        hint=f'give the source a watermark, .watermark("{time}", "5 minutes"), or send each change: emit="changes"',
        site=node.site,
    )
