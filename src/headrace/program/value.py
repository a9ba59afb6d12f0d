"""Value: a cell that keeps one value per key."""

from __future__ import annotations

import datetime as dt
from typing import Any

from headrace.errors import here
from headrace.expr import Column, f, of_value
from headrace.program.cell import Cell
from headrace.program.statement import Clear, Set
from headrace.program.whole import refuse_fraction, refuse_other_kind
from headrace.schema.ddl import type_text


class Value(Cell):
    """One value of a Spark type for each key.

    The cell is null, or `default`, while no value is set. A default is not stored: `exists` is true only for a set value.

    If `was` is an expression over the cells of an older version of the job, it computes the first value of each key that has state from
    that version, when the key is next processed. So leave it in the code ([computed cells](../../guides/checkpoints.md#computed-cells)).

    Args:
        type: The type of the value, as DDL such as `"decimal(10,2)"` or as a type of `pyspark.sql.types`.
        default: The value while none is set: a Python value or a constant column. Default: null.
        expires: A duration such as `"30 days"`. The value expires this long after the last `set` ([expiry](../cells.md#expiry)). Default:
            never.
        clock: The clock of `expires`. `"event"`: the time of the row or timer being handled. `"processing"`: the time at which the epoch
            began.
        was: The cell's name in an older version of the job, whose state it takes over, or an expression over the cells of that version.

    Raises:
        SchemaError: `BAD_TYPE` for an invalid type, `BAD_DURATION` for an invalid `expires`.
        PlanError: `WRONG_TYPE` if the type cannot hold the Python value `default`; `BAD_LITERAL` if SQL has no literal for it.
        ProgramError: `BAD_CLOCK` for an unknown clock, `BAD_WAS` if `was` is neither a name nor an expression.

    Examples:
        >>> import headrace as hr
        >>> class Streak(hr.Program):
        ...     wins = hr.Value("int", default=0, expires="7 days")
        ...
        ...     def on_event(self, e):
        ...         with hr.when(e.won):
        ...             self.wins.set(self.wins.get() + 1)
        ...         with hr.elsewhen(self.wins.exists()):
        ...             hr.emit(player=self.key.player, wins=self.wins.get())
        ...             self.wins.clear()
        >>> rows = [("ann", True, "2026-01-01 10:00:00"), ("ann", False, "2026-01-01 11:00:00")]
        >>> games = hr.read.memory(rows, "player string, won boolean, ts timestamp", name="games").watermark("ts", "1 minute")
        >>> hr.collect(games.key_by("player").process(Streak)).rows()
        [('ann', 1)]

        A later version computes a new cell from two old ones:

        >>> class Sums(hr.Program):
        ...     total = hr.Value("bigint", was=hr.col("small") + hr.col("large"))
        ...
        ...     def on_event(self, e):
        ...         self.total.set(hr.f.coalesce(self.total.get(), 0) + e.amount)
        ...         hr.emit(card=self.key.card, total=self.total.get())
    """

    kind = "value"
    needs = ()
    entries = False
    projected = True
    computable = True

    @staticmethod
    def _keeps(type: str, key: str | None, sql: str | None) -> str:
        return type

    def __init__(
        self,
        type: Any,
        *,
        default: Any = None,
        expires: str | dt.timedelta | None = None,
        clock: str = "event",
        was: str | Column | None = None,
    ) -> None:
        super().__init__(type_text(type), expires=expires, clock=clock, was=was)
        refuse_other_kind("the cell", self.type, default)
        refuse_fraction("the cell", self.type, default)
        self._default = None if default is None else of_value(default).cast(self.type)

    def get(self) -> Column:
        """Returns the value at this point of the handler: `default`, or null, if none is set.

        A later `set` does not change the column that was returned.
        """
        recording, name = self._recording()
        value = recording.read(name)
        return value if self._default is None else f.coalesce(value, self._default)

    def exists(self) -> Column:
        """Returns whether a value is set at this point of the handler."""
        recording, name = self._recording()
        return recording.read(name).is_not_null()

    def set(self, value: Any) -> None:
        """Replaces the value.

        The value is converted as Spark's INSERT does ([stored types](../cells.md#stored-types)), with one exception: a number with a
        fraction needs a cast for a whole-number type. A number that is too large for the type sends the row to the dead letters.

        Args:
            value: A column of the handler, or a Python value, which is a literal. Null and None clear the cell.
        """
        recording, name = self._recording()
        refuse_fraction(f"`{name}`", self.type, value)
        text = recording.text(value)
        recording.record(Set(name, text, site=here()))

    def clear(self) -> None:
        """Deletes the value: the cell is null, or `default`, again."""
        recording, name = self._recording()
        recording.record(Clear(name, site=here()))
