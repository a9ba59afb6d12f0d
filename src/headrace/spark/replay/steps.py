"""The steps of a program's handlers, from what was captured of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

from headrace.errors import Site
from headrace.jvm.frames import rows_of
from headrace.program.rerun import Recorded
from headrace.program.spoken import Spoken
from headrace.program.statement import Add, Append, Clear, Each, Emit, Let, Read, Replace, Set, When, every
from headrace.program.stepped import BEFORE, BEGIN, END, KEY, NUMBER, ROW, VALUE, Point, Step, column
from headrace.program.traced import Traced
from headrace.schema import plain
from headrace.spark.deploy.capture import Capture
from headrace.spark.replay.report import ReplayCall, ReplayStep
from headrace.spark.replay.variants import Variant
from headrace.syntax import quote

if TYPE_CHECKING:
    from datetime import tzinfo

    from pyspark.sql import Column, DataFrame, SparkSession


class Steps:
    """The steps of a variant. `is_little`: they fit in memory."""

    def __init__(self, spark: SparkSession, traced: Traced, variant: Variant, zone: tzinfo, *, is_little: bool) -> None:
        self._spark, self._variant, self._zone, self._is_little = spark, variant, zone, is_little
        self._spoken = Spoken.of(traced)
        self._cells = {cell.name: cell for cell in traced.cells}
        statements = (one for handler in traced.handlers for one in every(handler.body))
        self._looped = {one.it: one.cell for one in statements if isinstance(one, Each)}

    @cached_property
    def _frame(self) -> DataFrame | None:
        """All steps as they were captured; None if there are none."""
        steps = _read(self._spark, self._variant.steps)
        return steps.localCheckpoint() if steps is not None and self._is_little else steps

    @cached_property
    def counts(self) -> tuple[int, int]:
        """How many rows and how many timers had a handler that did not fail."""
        from pyspark.sql import functions as f

        if self._frame is None:
            return 0, 0
        begins = self._frame.where(self._any(BEGIN)).agg(f.count(ROW), f.count(f.lit(1))).collect()[0]
        return begins[0], begins[1] - begins[0]

    def has(self, row: int) -> bool:
        """Return whether a row was handled, by its number."""
        from pyspark.sql import functions as f

        return self._frame is not None and not self._frame.where(f.col(ROW) == row).isEmpty()

    def calls(self, most: int) -> list[list[Step]]:
        """Return the steps of the last calls of handlers, for each of them."""
        from pyspark.sql import functions as f

        if self._frame is None:
            return []
        latest = self._frame.where(self._any(BEGIN)).orderBy(f.col(NUMBER).desc()).limit(most)
        first = latest.agg(f.min(NUMBER)).collect()[0][0]
        calls: list[list[Step]] = []
        for step in self._steps(self._frame.where(f.col(NUMBER) >= first)):
            if step.point.what == BEGIN:
                calls.append([])
            calls[-1].append(step)
        return calls

    def emitted(self) -> dict[str, list[dict[str, Any]]]:
        """Return all rows that were emitted, by the name of the output."""
        rows: dict[str, list[dict[str, Any]]] = {}
        for step in self._steps(self._frame.where(self._any(Emit.do))) if self._frame is not None else ():
            assert isinstance(step.point.statement, Emit)
            rows.setdefault(step.point.statement.output, []).append(step.values[VALUE])
        return rows

    def rejected(self, most: int) -> tuple[tuple[str, str], ...]:
        """Return the reasons and rows of dead letters, at most so many."""
        letters = _read(self._spark, self._variant.rejected)
        return () if letters is None else tuple(map(tuple, letters.select("reason", "raw").limit(most).collect()))

    def shown(self, call: Sequence[Step]) -> ReplayCall:
        """Return a call for people."""
        begin, *steps = call
        timer = {"key": begin.values["timer"]} if "timer" in begin.values else {}
        row = begin.values["e"] if begin.row is not None else {"at": begin.values["at"], **timer}
        return ReplayCall(f"on_{begin.point.on}", begin.row, row, tuple(one for step in steps for one in self._shown(step)))

    def value(self, text: str, names: Mapping[str, Recorded]) -> Any:
        """Return the value of a text over recorded values."""
        ((value,),), _ = rows_of(self._recorded([text], names).selectExpr(text), self._zone)
        return value

    def row(self, texts: Mapping[str, str], names: Mapping[str, Recorded], emitted: Step) -> dict[str, Any]:
        """Return the values of the texts of a row, in the types in which it was emitted."""
        from pyspark.sql import functions as f

        assert self._frame is not None
        of: Any = self._frame.schema[emitted.column].dataType
        values = (f.expr(text).cast(of[VALUE].dataType[name].dataType).alias(name) for name, text in texts.items())
        (row,), schema = rows_of(self._recorded(texts.values(), names).select(*values), self._zone)
        return plain(row, schema)

    def _recorded(self, texts: Collection[str], names: Mapping[str, Recorded]) -> DataFrame:
        """Return a row with the values that these texts name."""
        from pyspark.sql import functions as f

        assert self._frame is not None
        used = {name: one for name, one in names.items() if any(name in text for text in texts)}
        steps = self._frame.where(f.col(NUMBER).isin([one.step.number for one in used.values()]))
        values = (
            f.any_value(f.when(f.col(NUMBER) == one.step.number, f.col(quote(one.step.column)).getField(one.field)), f.lit(True)).alias(
                name
            )
            for name, one in used.items()
        )
        return steps.agg(f.count(f.lit(1)).alias(""), *values)

    def _any(self, what: str) -> Column:
        from pyspark.sql import functions as f

        points = (f.col(quote(column(n))).isNotNull() for n, point in enumerate(self._variant.points) if point.what == what)
        return reduce(lambda one, other: one | other, points, f.lit(False))

    def _steps(self, frame: DataFrame) -> Iterator[Step]:
        """Yield steps in their order."""
        rows, schema = rows_of(
            frame.select(NUMBER, ROW, *map(quote, map(column, range(len(self._variant.points))))).orderBy(NUMBER), self._zone
        )
        for number, row, *values in rows:
            place, value = next((place, value) for place, value in enumerate(values) if value is not None)
            kind: Any = schema.fields[place + 2].type
            yield Step(number, row, self._variant.points[place], column(place), plain(value, kind))

    def _shown(self, step: Step) -> Iterator[ReplayStep]:
        """Yield what a step says, one line each."""
        statement, values, key = step.point.statement, step.values, step.values.get(KEY)
        before, value = values.get(BEFORE), values.get(VALUE)

        def line(what: str, name: str, site: Site | None = None, **more: Any) -> ReplayStep:
            at = site or (None if statement is None else statement.site)
            return ReplayStep(what, None if at is None else str(at), "" if at is None else at.text, name, **more)

        match statement:
            case When():
                for site, condition, is_taken in _conditions(statement, step.point):
                    yield line("otherwise", "") if condition is None else line("when", self._spoken(condition), site, value=is_taken)
            case Each(cell=cell):
                if step.point.what != END:
                    yield line("entry", cell, row=values)
            case Read(cell=cell, what=what):
                yield line("read", cell if what in ("value", "get") else f"{cell}.{what}", key=key, value=value)
            case Let(local=local, value=text):
                if not text.startswith("`let__"):  # `local.get()` makes a local, too
                    yield line("let", "local" if local.startswith("let__") else local, value=value)
            case Clear(cell=cell, key=None) if self._cells[cell].has_entries:
                yield line("clear", f"{cell}.size", before=before, value=0)
            case Clear(cell=cell, key=None) if self._cells[cell].key is not None:
                yield line("clear", cell, before="all times")
            case Set(cell=cell) | Clear(cell=cell):
                yield line(statement.do, cell, key=key, before=before, value=value)
            case Append(cell=cell):
                yield line("append", cell, value=value)
            case Add(cell=cell):
                yield line("add", cell, before=before, value=values["after"], row=value)
            case Replace(it=it):
                yield line("remove" if statement.value is None else "replace", self._looped[it], before=before, value=value)
            case Emit(output=output):
                yield line("emit", output, row=value)


def _conditions(when: When, point: Point) -> Iterator[tuple[Site | None, str | None, bool]]:
    """Yield the conditions that were evaluated, each with its line and whether its branch was taken; None as condition: `otherwise`."""
    sites = when.sites or (when.site,)
    for number, ((condition, body), site) in enumerate(zip(when.branches, sites, strict=True)):
        if point.branch == number:
            # an `elsewhen` whose condition reads cells is a `when` in a branch of its own
            if condition is not None or not any(isinstance(one, When) and one.site == site for one in body):
                yield site, condition, True
            return
        yield site, condition, False


def _read(spark: SparkSession, rows: Capture) -> DataFrame | None:
    files = [file for some in rows.epochs.values() for file in some]
    return spark.read.parquet(*files) if files else None
