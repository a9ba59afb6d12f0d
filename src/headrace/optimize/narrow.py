"""Only the columns that somebody reads, in front of operators with state: the others would be sent there and kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from headrace.ops import Project, outputs_of
from headrace.ops.facts.reading import Wanted, both
from headrace.ops.operator import operator
from headrace.plan import Node, Plan
from headrace.syntax import quote

VERB = "narrow"


def narrow_inputs(plan: Plan) -> Plan:
    """In front of joins, lookups, aggregates and rows by key come their keys and what is read behind them; in front of windows and
    generators, which repeat it in each of their rows, what is read behind them.

    First rows and window functions settle ties by all columns of their input, as-of joins those of versions; ledgers compare whole rows,
    programs read what they like: they get all. So does an operator whose dead letters or late rows somebody reads, and one that forgets
    groups or sessions and has to know whether a row that is taken away was there.
    """
    outputs = outputs_of(plan.nodes.values())
    told, late = {node.input for node in outputs}, {node.input for node in outputs if node.late is not None}
    wanted: dict[Node, Wanted] = {}
    changes: dict[Node, Callable[[Node], Node]] = {}
    for node in map(operator, reversed(list(plan.nodes.values()))):
        asked = {} if node in late or node.knows_rows else node.columns_read(wanted.get(node))
        for before in node.inputs:
            place = next((name for name in asked if getattr(node, name) is before), None)
            columns = None if place is None else asked[place]
            wanted[before] = both(wanted[before], columns) if before in wanted else columns
        less = {place: kept for place, columns in asked.items() if (kept := _kept(getattr(node, place), columns))}
        if less and node.holds_columns and node not in told:
            changes[node] = _narrowed(less)
    return plan.rewritten(changes) if changes else plan


def _kept(before: Node, wanted: Wanted) -> tuple[str, ...]:
    """The columns that are left of a node's rows, in their order; none if all are."""
    if wanted is None or len(before.columns) < 2:
        return ()
    # A row without columns is none: any one of them stands for it.
    kept = tuple(name for name in before.columns if name.lower() in wanted) or before.columns[:1]
    return () if len(kept) == len(before.columns) else kept


def _narrowed(less: Mapping[str, tuple[str, ...]]) -> Callable[[Node], Node]:
    def change(node: Node) -> Node:
        inputs = {}
        for place, kept in less.items():
            before: Node = getattr(node, place)
            inputs[place] = Project(before, VERB, tuple((name, quote(name)) for name in kept), site=node.site)
        return replace(node, **inputs)  # type: ignore[arg-type]  # the names of its inputs

    return change
