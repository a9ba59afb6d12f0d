"""Operators of queries that forget groups to which no row has come for a while.

Rows that take away what is forgotten are late, as those are that come to a group which has closed.
"""

from __future__ import annotations

from headrace.ops.aggregate import Aggregate
from headrace.ops.facts.closing import ended, groups, intervals
from headrace.ops.facts.kind import CHANGES, kinds
from headrace.ops.join import Join
from headrace.ops.output import LATE_RIGHT
from headrace.ops.program import LATE
from headrace.ops.sessions import Sessions
from headrace.ops.top import Top
from headrace.plan import Node


def forgets_after(node: Node) -> int | None:
    """After how long without rows it forgets a group, in milliseconds; None: it does not."""
    return node.expires_ms if isinstance(node, Aggregate | Join | Top) else None


def grouped_by(node: Node) -> tuple[str, ...]:
    """The texts of what the rows of a group have in common; of a join those of its left side."""
    if isinstance(node, Aggregate):
        return tuple(text for _, text in node.keys)
    if isinstance(node, Join):
        return tuple(left for left, _ in node.keys)
    return getattr(node, "per", ())


def judged(node: Node) -> tuple[bool, ...]:
    """Of each input of an operator, whether some of its rows may be late."""
    if isinstance(node, Sessions):
        end = ended(node)
        return (end is not None and end.straight,)
    group = groups([node]).get(node)
    if group is not None:
        return group.judged
    near = intervals([node]).get(node)
    if near is not None:
        return near.judged
    if forgets_after(node) is None:
        return ()
    found = kinds([node])
    return tuple(found[before] == CHANGES for before in node.inputs)


def late_outputs(node: Node) -> tuple[str, ...]:
    """The outputs of an operator of a query that have its late rows."""
    return tuple(name for name, is_judged in zip((LATE, LATE_RIGHT), judged(node), strict=False) if is_judged)
