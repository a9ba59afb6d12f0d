"""Boundedness: whether the rows of a node end. A job is bounded if all its sources are."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.ops import Source, groups, kinds, sources_of
from headrace.ops.operator import operator
from headrace.plan import Fact, Node, Plan, fact, order


@fact("rows")
def rows(plan: Plan) -> Mapping[str, Fact]:
    """For each source, whether it ends, in which order it is read and what kind of stream it is; the last also for operators of queries."""
    ends = [plan.nodes[name] for name in plan.sinks]
    changing, closing = kinds(ends), groups(ends)
    found = {name: operator(node).row_fact(changing[node], closing.get(node)) for name, node in plan.nodes.items()}
    return {name: rows for name, rows in found.items() if rows is not None}


def bounded(plan: Plan) -> bool:
    """Whether a job that runs this plan comes to an end of its own."""
    return all(source.connect().traits.bounded for source in sources_of(plan.nodes.values()))


def sources(node: Node) -> tuple[Source, ...]:
    """The sources that a node's rows come from."""
    return sources_of(order([node]))
