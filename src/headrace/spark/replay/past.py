"""Expressions of a handler over the values that were recorded when it ran, evaluated by Spark."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from headrace.jvm.frames import rows_of
from headrace.program.rerun import Recorded
from headrace.program.stepped import NUMBER, VALUE, Step
from headrace.schema import plain
from headrace.spark.replay.steps import Steps
from headrace.syntax import quote

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


class Past:
    """The values that were recorded with steps."""

    def __init__(self, steps: Steps) -> None:
        assert steps.frame is not None
        self._frame, self._zone = steps.frame, steps.zone

    def value(self, text: str, names: Mapping[str, Recorded]) -> Any:
        """Return the value of a text over recorded values."""
        ((value,),), _ = rows_of(self._recorded([text], names).selectExpr(text), self._zone)
        return value

    def row(self, texts: Mapping[str, str], names: Mapping[str, Recorded], emitted: Step) -> dict[str, Any]:
        """Return the values of the texts of a row, in the types in which it was emitted."""
        from pyspark.sql import functions as f

        of: Any = self._frame.schema[str(emitted.point.column)].dataType
        values = (f.expr(text).cast(of[VALUE].dataType[name].dataType).alias(name) for name, text in texts.items())
        (row,), schema = rows_of(self._recorded(texts.values(), names).select(*values), self._zone)
        return plain(row, schema)

    def _recorded(self, texts: Collection[str], names: Mapping[str, Recorded]) -> DataFrame:
        """Return a row with the values that these texts name."""
        from pyspark.sql import functions as f

        used = {name: one for name, one in names.items() if any(name in text for text in texts)}
        steps = self._frame.where(f.col(NUMBER).isin([one.step.number for one in used.values()]))

        def recorded(one: Recorded) -> Column:
            value = f.col(quote(str(one.step.point.column))).getField(one.field)
            return f.any_value(f.when(f.col(NUMBER) == one.step.number, value), f.lit(True))

        return steps.agg(f.count(f.lit(1)).alias(""), *(recorded(one).alias(name) for name, one in used.items()))
