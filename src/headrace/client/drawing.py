"""Draws rows in a terminal with Rich."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.engine import Table
from headrace.schema import Struct

if TYPE_CHECKING:
    from rich.table import Table as Drawn


def drawing(table: Table) -> Drawn:
    """Return a table for Rich."""
    drawn = empty(table.schema)
    for row in table.rows():
        drawn.add_row(*cells(row))
    return drawn


def empty(schema: Struct, *marks: str, wraps: bool = True) -> Drawn:
    """Return an empty table with these columns, and the columns `marks` before them. Without `wraps` long values are cut to one line."""
    from rich.markup import escape
    from rich.table import Table as Drawn

    drawn = Drawn(header_style="bold")
    for name in marks:
        drawn.add_column(name)
    for field in schema.fields:
        numeric = field.type.text.startswith(("int", "bigint", "smallint", "tinyint", "decimal", "double", "float"))
        right = numeric and "interval" not in field.type.text
        drawn.add_column(
            escape(field.name), justify="right" if right else "left", overflow="fold" if wraps else "ellipsis", no_wrap=not wraps
        )
    return drawn


def cells(row: tuple[Any, ...]) -> list[Any]:
    """Return the values of a row for Rich."""
    from rich.text import Text

    return [Text("NULL", style="dim") if value is None else Text(str(value)) for value in row]
