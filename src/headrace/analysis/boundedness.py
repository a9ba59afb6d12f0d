"""Boundedness: whether the rows of a node end. A job is bounded if all its sources are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headrace.ops import Source, groups, kinds, sources_of, turns
from headrace.ops.operator import operator
from headrace.plan import Fact, Node, Plan, fact, order


@fact("rows")
def rows(plan: Plan) -> Mapping[str, Fact]:
    """Return for each source whether it ends, its order, its kind and what is read before it; for query operators, the kind."""
    ends = [plan.nodes[name] for name in plan.sinks]
    changing, closing = kinds(ends), groups(ends)
    facts = {name: operator(node).row_fact(changing[node], closing.get(node)) for name, node in plan.nodes.items()}
    after = turns(plan.nodes.values())
    return {name: _in_turn(rows, after.get(name, ())) for name, rows in facts.items() if rows is not None}


def _in_turn(rows: Fact, after: tuple[str, ...]) -> Fact:
    return replace(rows, text=f"{rows.text}, after {' and '.join(after)}") if after else rows


def bounded(plan: Plan) -> bool:
    """Return whether a job that runs this plan ends by itself."""
    return all(source.connect().traits.bounded for source in sources_of(plan.nodes.values()))


def sources(node: Node) -> tuple[Source, ...]:
    """Return the sources of a node's rows."""
    return sources_of(order([node]))
