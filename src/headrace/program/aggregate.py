"""Aggregate: a cell that keeps an aggregate of Spark SQL up to date."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from headrace.errors import ProgramError, here
from headrace.expr import Column
from headrace.program.cell import Cell
from headrace.program.row import Row, columns_of_row
from headrace.program.statement import Add, Clear
from headrace.schema import schema_of


class Aggregate(Cell):
    """An aggregate over what was added for a key: any of Spark's, or several in one expression.

    >>> import headrace as hr
    >>> class Spent(hr.Program):
    ...     amounts = hr.Aggregate("percentile(amount, 0.9)", "amount double")
    ...
    ...     def on_event(self, e):
    ...         with hr.when(e.amount > self.amounts.get() * 2):
    ...             hr.emit(e)
    ...         self.amounts.add(amount=e.amount)

    `sql` is an expression over the columns that `columns` declares, as it would stand in a SELECT without GROUP BY: `sum(x)`,
    `max_by(name, x) FILTER (WHERE x > 0)`, `sum(x) / count(*)`; DISTINCT is not possible. What is kept is the aggregate's own buffer: for
    `sum` a few bytes, for `percentile` or `collect_list` every value. `was` is the name the cell had in an older version of the job.
    """

    kind = "aggregate"
    needs = ("sql",)
    entries = False
    projected = False
    write_with = ".add(...)"

    @staticmethod
    def _keeps(type: str, key: str | None, sql: str | None) -> str:
        return f"{sql} over {type}"

    def __init__(
        self, sql: str, columns: Any, *, expires: str | dt.timedelta | None = None, clock: str = "event", was: str | None = None
    ) -> None:
        declared = schema_of(columns)
        super().__init__(declared.ddl, sql=sql, expires=expires, clock=clock, was=was)
        self._columns = declared.names

    def add(self, row: Row | Mapping[str, Any] | None = None, /, **columns: Any) -> None:
        """Takes one more row into account: the declared columns out of a row, a mapping or keywords. A Python value is a literal."""
        recording, name = self._recording()
        given = {**(columns_of_row(row) if isinstance(row, Row) else row or {}), **columns}
        by_name = {str(column).lower(): value for column, value in given.items()}
        missing = [column for column in self._columns if column.lower() not in by_name]
        unknown = [] if isinstance(row, Row) else [column for column in given if column.lower() not in [c.lower() for c in self._columns]]
        if missing or unknown:
            raise ProgramError(
                "AGGREGATE_COLUMNS",
                f"`{name}` takes the columns {', '.join(self._columns)}, and "
                + (f"`{missing[0]}` is missing" if missing else f"`{unknown[0]}` is none of them"),
                hint=f"self.{name}.add({', '.join(f'{column}=...' for column in self._columns)})",
                site=here(),
            )
        texts = tuple((column, recording.text(by_name[column.lower()])) for column in self._columns)
        recording.record(Add(name, texts, site=here()))

    def get(self) -> Column:
        """The aggregate of what was added so far; of nothing what Spark gives for no rows: null for `sum`, 0 for `count`."""
        recording, name = self._recording()
        return recording.read(name)

    def exists(self) -> Column:
        """True if anything was added."""
        recording, name = self._recording()
        return recording.read(name, "exists")

    def clear(self) -> None:
        """Begins anew, as if nothing had been added."""
        recording, name = self._recording()
        recording.record(Clear(name, site=here()))
