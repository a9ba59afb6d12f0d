"""Query operators that forget groups without recent rows.

Retractions of forgotten rows are late, as are rows of a group that has closed.
"""

from __future__ import annotations

from headrace.ops.facts.closing import closing
from headrace.ops.facts.contract import Contract, contract
from headrace.ops.facts.kind import CHANGES, kinds
from headrace.ops.facts.outputs import LATE, LATE_RIGHT
from headrace.plan import Node


def judged_by_ends(node: Contract) -> tuple[bool, ...]:
    """Return for each input whether its rows may come after the end of their group, or retract forgotten rows."""
    columns = closing(node.inputs)
    ending = node.group(columns) or node.interval(columns)
    if ending is not None:
        return ending.judged
    if node.forgets_after is None:
        return ()
    kind_of = kinds(node.inputs)
    return tuple(kind_of[before] == CHANGES for before in node.inputs)


def late_outputs(node: Node) -> tuple[str, ...]:
    """Return the outputs of a query operator with its late rows."""
    return tuple(name for name, is_judged in zip((LATE, LATE_RIGHT), contract(node).judged, strict=False) if is_judged)
