"""Operators of queries that forget groups to which no row has come for a while.

Rows that take away what is forgotten are late, as those are that come to a group which has closed.
"""

from __future__ import annotations

from headrace.ops.facts.closing import closing
from headrace.ops.facts.contract import Contract, contract
from headrace.ops.facts.kind import CHANGES, kinds
from headrace.ops.facts.outputs import LATE, LATE_RIGHT
from headrace.plan import Node


def judged_by_ends(node: Contract) -> tuple[bool, ...]:
    """Of each input of an operator, whether its rows may come behind the end of their group, or take away what is forgotten."""
    columns = closing(node.inputs)
    ending = node.group(columns) or node.interval(columns)
    if ending is not None:
        return ending.judged
    if node.forgets_after is None:
        return ()
    found = kinds(node.inputs)
    return tuple(found[before] == CHANGES for before in node.inputs)


def late_outputs(node: Node) -> tuple[str, ...]:
    """The outputs of an operator of a query that have its late rows."""
    return tuple(name for name, is_judged in zip((LATE, LATE_RIGHT), contract(node).judged, strict=False) if is_judged)
