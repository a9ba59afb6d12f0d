"""Stateless joins with tables written in the query: each row is compared with their few rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headrace.ops import sources_of
from headrace.ops.operator import operator
from headrace.plan import Node, Plan
from headrace.schema import Type, parse_schema

MOST = 32
"""The most rows of such a table. Each incoming row is compared with all of them; a join would look up one key, but keep all rows."""


def literal_tables(plan: Plan) -> Plan:
    """Replace inner joins with `VALUES` by Spark's `inline` and a filter."""
    changes: dict[Node, Callable[[Node], Node]] = {
        node: _inlined for node in plan.nodes.values() if operator(node).with_table(_array) is not None
    }
    return plan.rewritten(changes) if changes else plan


def _inlined(node: Node) -> Node:
    return operator(node).with_table(_array) or node


def _array(node: Node) -> str | None:
    """Return the rows of a small constant table, or of some of its columns, as the SQL text of an array; None for any other node."""
    wanted = [name.lower() for name in node.columns]
    while (copies := operator(node).copies) is not None and copies.all_rows:
        if not copies.columns.keys() >= set(wanted):
            return None
        wanted, node = [copies.columns[name] for name in wanted], node.inputs[0]
    for table in sources_of([node]):
        if table.connector == "values" and 0 < len(table.options["rows"]) <= MOST:
            columns, fields = [name.lower() for name in table.columns], parse_schema(table.schema).fields
            places = [columns.index(name) for name in wanted]
            rows = (_struct((fields[place].type, row[place]) for place in places) for row in table.options["rows"])
            return f"array({', '.join(rows)})"
    return None


def _struct(values: Iterable[tuple[Type, str]]) -> str:
    parts = (f"'{i}', CAST({text} AS {kind})" for i, (kind, text) in enumerate(values))
    return f"named_struct({', '.join(parts)})"
