"""Projections of stateful operators' inputs to the columns that are read: all others would be sent and kept."""

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
    """Narrow the inputs of operators to the columns that are read.

    Joins, lookups, aggregates, upserts, windows and generators get the columns that their own expressions name and those read downstream.

    First rows and window functions break ties by all columns of their input, as-of joins by those of versions; ledgers compare whole rows;
    programs may read any column. Their inputs stay whole. So do those of an operator whose dead letters or late rows have a reader, and of
    one that forgets groups or sessions and must know whether a retracted row was there.
    """
    outputs = outputs_of(plan.nodes.values())
    observed, late = {node.input for node in outputs}, {node.input for node in outputs if node.late is not None}
    wanted: dict[Node, Wanted] = {}
    changes: dict[Node, Callable[[Node], Node]] = {}
    for node in map(operator, reversed(list(plan.nodes.values()))):
        needed = {} if node in late or node.knows_rows else node.columns_read(wanted.get(node))
        for before in node.inputs:
            place = next((name for name in needed if getattr(node, name) is before), None)
            columns = None if place is None else needed[place]
            wanted[before] = both(wanted[before], columns) if before in wanted else columns
        less = {place: kept for place, columns in needed.items() if (kept := _kept(getattr(node, place), columns))}
        if less and node.holds_columns and node not in observed:
            changes[node] = _narrowed(less)
    return plan.rewritten(changes) if changes else plan


def _kept(before: Node, wanted: Wanted) -> tuple[str, ...]:
    """Return the remaining columns of a node's rows, in order; empty if all remain."""
    if wanted is None or len(before.columns) < 2:
        return ()
    # A row has at least one column.
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
