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
    """A Spark SQL aggregate over the rows that were added for a key.

    The cell stores the buffer of the aggregate function: a few bytes for `sum`, every value for `collect_list`, every distinct value for
    `percentile`.

    Args:
        sql: The expression of a SELECT without GROUP BY over `columns`: `"sum(x)"`, `"max_by(name, x) FILTER (WHERE x > 0)"`, or several
            aggregates in one, `"sum(x) / count(*)"`. DISTINCT is refused.
        columns: The columns of an added row, as DDL such as `"name string, x int"` or as a `pyspark` StructType.
        expires: A duration such as `"30 days"`. The aggregate expires as a whole that long after the last `add`
            ([expiry](../cells.md#expiry)). Default: never.
        clock: The clock of `expires`. `"event"`: the time of the row or timer being handled. `"processing"`: the time at which the epoch
            began.
        was: The cell's name in an older version of the job, whose state it takes over.

    Raises:
        SchemaError: `BAD_TYPE` for invalid columns, `BAD_DURATION` for an invalid `expires`.
        ProgramError: `BAD_CLOCK` for an unknown clock, `BAD_WAS` if `was` is not a name; `BAD_AGGREGATE`, raised by `hr.job`, for an
            expression that is not an aggregate.

    Examples:
        >>> import headrace as hr
        >>> class Unusual(hr.Program):
        ...     usual = hr.Aggregate("percentile(amount, 0.9)", "amount double")
        ...
        ...     def on_event(self, e):
        ...         with hr.when(e.amount < 0):
        ...             self.usual.clear()
        ...         with hr.otherwise():
        ...             with hr.when(self.usual.exists() & (e.amount > self.usual.get() * 2)):
        ...                 hr.emit(e)
        ...             self.usual.add(amount=e.amount)
        >>> charges = hr.read.memory([("a", 5.0), ("a", 7.0), ("a", 90.0)], "card string, amount double", name="charges")
        >>> hr.collect(charges.key_by("card").process(Unusual)).rows()
        [('a', 90.0)]
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
        """Adds a row to the aggregate.

        Args:
            row: A row of the handler, or a mapping from names to values. Columns of a row that are not declared are ignored.
            **columns: Values by name; they replace those of `row`. A Python value is a literal.

        Raises:
            ProgramError: `AGGREGATE_COLUMNS` if a declared column is missing or a name is unknown.
        """
        recording, name = self._recording()
        values = {**(columns_of_row(row) if isinstance(row, Row) else row or {}), **columns}
        by_name = {str(column).lower(): value for column, value in values.items()}
        missing = [column for column in self._columns if column.lower() not in by_name]
        unknown = [] if isinstance(row, Row) else [column for column in values if column.lower() not in [c.lower() for c in self._columns]]
        if missing or unknown:
            raise ProgramError(
                "AGGREGATE_COLUMNS",
                f"`{name}` takes the columns {', '.join(self._columns)}; "
                + (f"`{missing[0]}` is missing" if missing else f"`{unknown[0]}` is not one of them"),
                hint=f"self.{name}.add({', '.join(f'{column}=...' for column in self._columns)})",
                site=here(),
            )
        texts = tuple((column, recording.text(by_name[column.lower()])) for column in self._columns)
        recording.record(Add(name, texts, site=here()))

    def get(self) -> Column:
        """Returns the aggregate of all added rows. With none it is Spark's result for no rows: null for `sum`, 0 for `count`."""
        recording, name = self._recording()
        return recording.read(name)

    def exists(self) -> Column:
        """Returns whether a row has been added since the last `clear` or expiry."""
        recording, name = self._recording()
        return recording.read(name, "exists")

    def clear(self) -> None:
        """Removes all added rows."""
        recording, name = self._recording()
        recording.record(Clear(name, site=here()))
