"""Subqueries used as a value: each row with the one row that it matches."""

from __future__ import annotations

from headrace.errors import Site
from headrace.ops.aggregate import Aggregate
from headrace.ops.filter import Filter
from headrace.ops.join import Join, nulls_meet
from headrace.ops.on import free
from headrace.ops.project import Project
from headrace.ops.tree import Tree, reads
from headrace.ops.values import one_row
from headrace.plan import Node
from headrace.syntax import quote

_MANY_ROWS = "raise_error('SCALAR_SUBQUERY_TOO_MANY_ROWS: a subquery used as a value finds more than one row')"


def single(left: Node, right: Node, keys: tuple[tuple[str, str], ...], safe: tuple[int, ...], site: Site | None) -> Project:
    """Return each left row with the one right row that it matches, or nulls; a left row with several matches fails."""
    row, several, *named = (free(name, left.columns) for name in ("_row", "_several", *(f"_key_{i}" for i in range(1, len(keys) + 1))))
    fields = ", ".join(f"'{i}', {quote(name)}" for i, name in enumerate(right.columns))
    one = f"CASE WHEN count(*) = 1 THEN first(named_struct({fields})) END"
    groups = tuple(zip(named, (text for _, text in keys), strict=True))
    functions = ((row, one), (several, "count(*) > 1"))
    rows = Aggregate(right, groups, functions, None if keys else one_row(), site=site)
    met = tuple((mine, quote(name)) for (mine, _), name in zip(keys, named, strict=True))
    # Without keys there is one group, with or without rows.
    joined = Join(left, rows, "left" if keys else "inner", met, safe, site=site)
    checked = Filter(joined, (f"CASE WHEN {quote(several)} THEN {_MANY_ROWS} ELSE true END",), site=site)
    items = [*((name, quote(name)) for name in left.columns), *((name, f"{quote(row)}.`{i}`") for i, name in enumerate(right.columns))]
    return Project(checked, "select", tuple(items), site=site)


@reads("single")
def _single(tree: Tree) -> Node:
    return single(tree.node("left"), tree.node("right"), tree.tuples("keys"), nulls_meet(tree), tree.site)
