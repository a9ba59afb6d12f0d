"""Rows that are part of the plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headrace.ops.source import Source, source
from headrace.ops.tree import Tree, reads
from headrace.plan import Node
from headrace.ports import source_class


def values(columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]], name: str | None = None) -> Source:
    """Return a source of constant rows: columns with their types, and each row's values as texts of Spark SQL."""
    connected = source_class("values")(columns=columns, rows=rows)  # type: ignore[call-arg]  # the class of an entry point has parameters of its own
    schema = ", ".join(f"`{column.replace('`', '``')}` {kind}" for column, kind in columns)
    # The plan has all of it, so two equal sources become one.
    return replace(source(connected, schema, name), live=None)


def one_row() -> Source:
    """Return the source of a single row, the same for all that need one."""
    return values([("one", "int")], [["1"]], "one row")


@reads("values")
def _values(tree: Tree) -> Node:
    return replace(values(tree.tuples("columns"), tree["rows"]), site=tree.site) if tree["columns"] else one_row()
