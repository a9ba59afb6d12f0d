"""Prints results as a table, CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Sequence
from typing import Any

from headrace.client.drawing import drawing
from headrace.client.screen import watch
from headrace.engine import Table
from headrace.engine.live import follow, shows_changes
from headrace.errors import HeadraceError
from headrace.ops.stream import Stream
from headrace.schema import parse_schema
from headrace.spark.run.summary import Summary

FORMATS = ("table", "csv", "json")


class Output:
    """Prints results to standard output. Notes for people go there too if the format is a table, else to standard error."""

    def __init__(self, format: str = "table") -> None:
        self.format = format

    @property
    def drawn(self) -> bool:
        """Whether results are drawn in a terminal."""
        return self.format == "table" and sys.stdout.isatty()

    def table(self, table: Table) -> None:
        """Print all rows of a result."""
        if self.format == "table" and not self.drawn:
            print(table.shown(len(table)))
        elif self.format == "table":
            from rich.console import Console

            Console(highlight=False).print(drawing(table))
            self.note(f"({len(table):,} row{'' if len(table) == 1 else 's'})")
        else:
            self.lines(table, head=True)

    def lines(self, table: Table, *, head: bool) -> None:
        """Print rows for programs: a JSON object per line, or CSV, with the header if `head` is set."""
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
        """Show an endless stream: its current rows in a terminal, else the changes of each epoch."""
        return watch(stream) if self.drawn else self._changes(stream)

    def _changes(self, stream: Stream) -> Summary:
        """Print the rows that each epoch adds, or, if rows may be retracted, its changes with the column `_change`."""
        shown = stream.changes() if shows_changes(stream) else stream
        schema = shown.schema
        heads = [True]

        def print_changes(changes: list[tuple[tuple[object, ...], int]]) -> None:
            rows = [row for row, weight in changes for _ in range(weight)]
            self.lines(Table(rows, schema), head=heads.pop() if heads else False)

        return follow(shown, lambda board, run, signals: None, print_changes)

    def listed(self, columns: Sequence[str], rows: Sequence[tuple[str, ...]]) -> None:
        """Print a list, such as names with descriptions."""
        self.table(Table(rows, parse_schema(", ".join(f"{name} string" for name in columns))))

    def text(self, text: str) -> None:
        print(text, flush=True)

    def note(self, text: str) -> None:
        """Print a line for people, not for programs."""
        print(text, file=sys.stdout if self.format == "table" else sys.stderr, flush=True)

    def warn(self, text: str) -> None:
        print(f"warning: {text}", file=sys.stderr, flush=True)

    def error(self, error: HeadraceError) -> None:
        from rich.console import Console
        from rich.text import Text

        Console(stderr=True, highlight=False, soft_wrap=True).print(Text.assemble((error.code, "bold red"), str(error)[len(error.code) :]))


def _cell(value: Any) -> Any:
    """Return a value for CSV: structs, lists and maps as JSON. Null becomes an empty field."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
