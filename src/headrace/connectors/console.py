"""The terminal: a table of the last rows of each epoch with rows."""

from __future__ import annotations

from typing import Any, ClassVar

import headrace.ports as ports
from headrace.ports import option
from headrace.schema.values import rows_from_internal, zone

PORTS = 1


class Sink(ports.Options, ports.Sink):
    """Prints the last rows of each epoch as a table on the terminal, at most `rows`.

    The sink is at least once: a repeated epoch is printed again. It takes append-only streams, or others with `mode="changes"`.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 1)], "card string, amount int", name="charges")
        >>> hr.job("copy", charges.write.console(rows=5))
        <Job copy: charges.console>
    """

    connector: ClassVar[str] = "console"
    on_refused = None

    rows: int = option.number("the maximum number of rows per epoch", default=20, kw_only=False, stored="always")

    def __post_init__(self) -> None:
        self._context: ports.SinkContext | None = None

    @property
    def traits(self) -> ports.SinkTraits:
        return ports.SinkTraits("plain", "a repeated epoch is printed again", displays=True)

    def describe(self) -> str:
        return f"console ({self.rows} row{'' if self.rows == 1 else 's'})"

    def open(self, context: ports.SinkContext) -> None:
        self._context = context

    def stage(self) -> dict[str, Any]:
        return {"kind": "rows"}

    def unswappable(self) -> str:
        return "the console cannot take back what it has shown"

    def commit(self, epoch: int, staged: ports.Staged) -> None:
        context = self._context
        if context is None or not staged.count:
            return
        from rich.console import Console
        from rich.markup import escape
        from rich.table import Table

        newest = rows_from_internal(staged.rows()[-self.rows :], context.schema, zone(context.time_zone))
        more = f", the last {len(newest)} of {staged.count} rows" if staged.count > len(newest) else ""
        table = Table()
        for field in context.schema.fields:
            numeric = field.type.text.startswith(("int", "bigint", "smallint", "tinyint", "decimal", "double", "float"))
            table.add_column(escape(field.name), justify="right" if numeric and "interval" not in field.type.text else "left")
        for row in newest:
            table.add_row(*("" if value is None else escape(str(value)) for value in row))
        console = Console()
        with console.capture() as drawn:
            console.print(f"{escape(context.shown or context.name)}, epoch {epoch}{more}", soft_wrap=True, highlight=False)
            console.print(table)
        # Python's own print makes room for a progress line on the same terminal.
        print(drawn.get(), end="", flush=True)
