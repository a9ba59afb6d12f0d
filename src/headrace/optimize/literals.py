"""Joins with tables that are written in the query, without state: each row meets the few rows on its way."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headrace.ops import Filter, Generated, Join, Project, Source
from headrace.plan import Node, Plan
from headrace.schema import Type, parse_schema
from headrace.syntax import plain_name, quote

MOST = 32
"""Rows of such a table. Each is compared with each row that comes, where a join would look one key up and keep all rows."""


def literal_tables(plan: Plan) -> Plan:
    """An inner join with `VALUES` is Spark's own `inline` and a filter."""
    changes: dict[Node, Callable[[Node], Node]] = {
        node: _inlined
        for node in plan.nodes.values()
        if isinstance(node, Join) and node.how == "inner" and (_array(node.left) is None) != (_array(node.right) is None)
    }
    return plan.rewritten(changes) if changes else plan


def _inlined(join: Node) -> Node:
    assert isinstance(join, Join)
    right = _array(join.right)
    stream, table, rows = (join.left, join.right, right) if right is not None else (join.right, join.left, _array(join.left))
    met = [f"({left}) {'<=>' if i in join.null_safe else '='} ({right})" for i, (left, right) in enumerate(join.keys)]
    met += [join.condition] if join.condition is not None else []
    made: Node = Generated(stream, f"inline({rows})", table.columns, False, site=join.site)
    if met:
        made = Filter(made, tuple(met), site=join.site)
    return made if table is join.right else Project(made, "select", tuple((name, quote(name)) for name in join.columns), site=join.site)


def _array(node: Node) -> str | None:
    """The rows of a table as the text of an array, if the node is a table of few rows, or columns of one."""
    wanted = node.columns
    while isinstance(node, Project):
        texts = {name: plain_name(text) for name, text in node.items}
        named = [texts[name] for name in wanted]
        if None in named:
            return None
        wanted, node = tuple(name for name in named if name is not None), node.input
    if not isinstance(node, Source) or node.connector != "values" or not 0 < len(node.options["rows"]) <= MOST:
        return None
    fields = parse_schema(node.schema).fields
    places = [node.columns.index(name) for name in wanted]
    return f"array({', '.join(_struct([(fields[place].type, row[place]) for place in places]) for row in node.options['rows'])})"


def _struct(values: Iterable[tuple[Type, str]]) -> str:
    parts = (f"'{i}', CAST({text} AS {kind})" for i, (kind, text) in enumerate(values))
    return f"named_struct({', '.join(parts)})"
