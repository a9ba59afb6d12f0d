"""The steps of a program's handlers, read from what was captured of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from headrace.jvm.frames import rows_of
from headrace.program.statement import Emit, every
from headrace.program.stepped import BEGIN, NUMBER, POINT, ROW, VALUE, Step
from headrace.program.traced import Traced
from headrace.schema import plain
from headrace.spark.deploy.capture import Capture
from headrace.spark.replay.variants import Variant
from headrace.syntax import quote

if TYPE_CHECKING:
    from datetime import tzinfo

    from pyspark.sql import Column, DataFrame, SparkSession


class Steps:
    """The steps of a variant of a program. `is_little`: they fit in memory."""

    def __init__(self, spark: SparkSession, traced: Traced, variant: Variant, zone: tzinfo, *, is_little: bool) -> None:
        self._spark, self._traced, self._variant, self.zone, self._is_little = spark, traced, variant, zone, is_little

    @cached_property
    def frame(self) -> DataFrame | None:
        """All steps as they were captured; None if there are none."""
        steps = _captured(self._spark, self._variant.steps)
        return steps.localCheckpoint() if steps is not None and self._is_little else steps

    @cached_property
    def counts(self) -> tuple[int, int]:
        """How many rows and how many timers had a handler that did not fail."""
        from pyspark.sql import functions as f

        if self.frame is None:
            return 0, 0
        begins = self.frame.where(self._are(BEGIN)).agg(f.count(ROW), f.count(f.lit(1))).collect()[0]
        return begins[0], begins[1] - begins[0]

    def has(self, row: int) -> bool:
        """Return whether a row was handled, by its number."""
        from pyspark.sql import functions as f

        return self.frame is not None and not self.frame.where(f.col(ROW) == row).isEmpty()

    def calls(self, most: int) -> list[list[Step]]:
        """Return the steps of the last calls of handlers, for each of them."""
        from pyspark.sql import functions as f

        if self.frame is None:
            return []
        latest = self.frame.where(self._are(BEGIN)).orderBy(f.col(NUMBER).desc()).limit(most)
        first = latest.agg(f.min(NUMBER)).collect()[0][0]
        calls: list[list[Step]] = []
        for step in self._steps(self.frame.where(f.col(NUMBER) >= first)):
            if step.point.what == BEGIN:
                calls.append([])
            calls[-1].append(step)
        return calls

    def emitted(self) -> dict[str, list[dict[str, Any]]]:
        """Return all rows that were emitted, by the name of the output."""
        rows: dict[str, list[dict[str, Any]]] = {}
        for step in self._steps(self.frame.where(self._are(Emit.do))) if self.frame is not None else ():
            assert isinstance(step.point.statement, Emit)
            rows.setdefault(step.point.statement.output, []).append(step.values[VALUE])
        return rows

    def rejected(self, most: int) -> tuple[tuple[str, str], ...]:
        """Return the reasons and rows of dead letters of the key, at most so many. A reason ends with its line."""
        from pyspark.sql import functions as f

        letters = _captured(self._spark, self._variant.rejected)
        if letters is None:
            return ()
        # rows for all keys are rejected in each replay
        handlers = (one for one in self._traced.handlers if one.kind == "broadcast")
        for site in {str(one.site) for handler in handlers for one in every(handler.body) if one.site is not None}:
            letters = letters.where(~f.col("reason").endswith(f" at {site}"))
        return tuple(map(tuple, letters.select("reason", "raw").limit(most).collect()))

    def _are(self, what: str) -> Column:
        from pyspark.sql import functions as f

        return f.col(POINT).isin([number for number, point in enumerate(self._variant.points) if point.what == what])

    def _steps(self, frame: DataFrame) -> Iterator[Step]:
        """Yield steps in their order."""
        points = self._variant.points
        names = [*dict.fromkeys(one.column for one in points if one.column is not None)]
        rows, schema = rows_of(frame.select(NUMBER, ROW, POINT, *map(quote, names)).orderBy(NUMBER), self.zone)
        for number, row, at, *values in rows:
            point = points[at]
            if point.column is None:
                yield Step(number, row, point, {})
            else:
                place = names.index(point.column)
                kind: Any = schema.fields[place + 3].type
                yield Step(number, row, point, plain(values[place], kind))


def _captured(spark: SparkSession, rows: Capture) -> DataFrame | None:
    files = [file for some in rows.epochs.values() for file in some]
    return spark.read.parquet(*files) if files else None
