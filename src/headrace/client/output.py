"""How results are printed: as a table, CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.engine import Table
from headrace.errors import HeadraceError
from headrace.ops.stream import Stream
from headrace.schema import Struct, parse_schema
from headrace.spark.run.summary import Summary

if TYPE_CHECKING:
    from rich.table import Table as Drawn

FORMATS = ("table", "csv", "json")


class Output:
    """Where results and notes go: results to standard output, notes beside them where they would spoil what a program reads."""

    def __init__(self, format: str = "table") -> None:
        self.format = format

    @property
    def drawn(self) -> bool:
        """Whether a person looks at a terminal."""
        return self.format == "table" and sys.stdout.isatty()

    def table(self, table: Table) -> None:
        """All rows of a result."""
        if self.format == "table" and not self.drawn:
            print(table.shown(len(table)))
        elif self.format == "table":
            from rich.console import Console

            Console(highlight=False).print(drawing(table))
            self.note(f"({len(table):,} row{'' if len(table) == 1 else 's'})")
        else:
            self.lines(table, head=True)

    def lines(self, table: Table, *, head: bool) -> None:
        """Rows for programs: an object a line, or CSV, with its header if this is the `head`."""
        if self.format == "table":
            print(table.shown(len(table)), flush=True)
        elif self.format == "csv":
            text = io.StringIO(newline="")
            written = csv.writer(text, lineterminator="\n")
            if head:
                written.writerow(table.schema.names)
            for row in table.to_json():
                written.writerow([_cell(value) for value in row.values()])
            print(text.getvalue(), end="", flush=True)
        else:
            for row in table.to_json():
                print(json.dumps(row, ensure_ascii=False), flush=True)

    def live(self, stream: Stream) -> Summary:
        """A stream without an end: a table that stays current, or for programs what each epoch changes."""
        from headrace.client import screen

        return screen.watch(stream) if self.drawn else screen.print_changes(stream, self)

    def listed(self, columns: Sequence[str], rows: Sequence[tuple[str, ...]]) -> None:
        """Names and what is said of them."""
        self.table(Table(rows, parse_schema(", ".join(f"{name} string" for name in columns))))

    def text(self, text: str) -> None:
        print(text, flush=True)

    def note(self, text: str) -> None:
        """What a person wants to know and no program reads."""
        print(text, file=sys.stdout if self.format == "table" else sys.stderr, flush=True)

    def warn(self, text: str) -> None:
        print(f"warning: {text}", file=sys.stderr, flush=True)

    def error(self, error: HeadraceError) -> None:
        from rich.console import Console
        from rich.text import Text

        Console(stderr=True, highlight=False, soft_wrap=True).print(Text.assemble((error.code, "bold red"), str(error)[len(error.code) :]))


def drawing(table: Table) -> Drawn:
    """A table as Rich draws it."""
    drawn = empty(table.schema)
    for row in table.rows():
        drawn.add_row(*cells(row))
    return drawn


def empty(schema: Struct, *marks: str, wraps: bool = True) -> Drawn:
    """A table with these columns, and narrow ones before them. Without `wraps` a row is one line, its long values cut."""
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
    """The values of a row for Rich."""
    from rich.text import Text

    return [Text("NULL", style="dim") if value is None else Text(str(value)) for value in row]


def _cell(value: Any) -> Any:
    """A value in CSV: empty for null, JSON for what has parts."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
