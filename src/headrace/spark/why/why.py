"""Why a row is in a result, by the rows that the job has read.

plan ─► paths back from the result ─► a shadow run that captures their rows ─► the row ─► back, operator by operator ─► rows of sources

No sink and no checkpoint changes: all is done in the folder `candidate`, as for a comparison.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError
from headrace.jvm.frames import rows_of
from headrace.masking import leaving
from headrace.ops import sources_of
from headrace.ops.facts.provenance import Itself
from headrace.ops.operator import operator
from headrace.plan import Node, Role
from headrace.schema import Struct, plain
from headrace.schema.values import zone
from headrace.spark.compile.job import SparkJob
from headrace.spark.deploy.correction import under
from headrace.spark.deploy.reread import Reread, reread
from headrace.spark.why.lines import line_of
from headrace.spark.why.paths import FILE, POSITION, Paths, result
from headrace.spark.why.report import Why, WhyRow, WhyRows, WhyStep
from headrace.spark.why.streams import TIMES, VALUES, Captured, column, comparable
from headrace.spark.why.walk import back
from headrace.spelling import suggestion

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType


@dataclass(frozen=True)
class Question:
    """`view`: a sink or an operator. `row`: the values of some columns of its row. `most`: the most rows of a source in the answer."""

    view: str
    row: Mapping[str, Any]
    most: int


@leaving()
def why(question: Question, home: Path, compiled: Callable[[Mapping[str, Any]], SparkJob], look: Callable[[str], object]) -> Why:
    """Answer a question about the job whose checkpoint is `home`. `compiled` compiles its stored plan. `look` is called with a line for
    each step.
    """
    with answering(home, compiled, [question.view], look) as answers:
        look("going back from the row")
        return answers.of(question)


@contextmanager
def answering(
    home: Path, compiled: Callable[[Mapping[str, Any]], SparkJob], views: Collection[str], look: Callable[[str], object]
) -> Iterator[Answers]:
    """Read the rows again that the job has read, for questions about some views."""
    began = time.monotonic()

    def paths(job: SparkJob, place: Path) -> Paths:
        return Paths(job, {view: _target(job, view) for view in views}, place / "why")

    with reread(home, compiled, paths, "rows to explain", look) as read, under(read.settings) as spark:
        streams = {node: Captured(spark, node, routes, little=read.is_little) for node, routes in read.wanted.into.items()}
        yield Answers(spark, read, streams, home, began)


def _target(job: SparkJob, view: str) -> tuple[Node, str]:
    """Return the node whose rows are those of a sink or an operator, and its query."""
    operators = {str(node.name): (node, query.name) for query in job.queries for node in query.operators}
    sinks = {str(sink.name): (result(sink), query.name) for query in job.queries for sink in query.sinks}
    named = operators | sinks
    shown = {job.shown(name): name for name in named}
    name = view if view in named else shown.get(view)
    if name is None:
        hint = suggestion(view, shown, f"it has: {', '.join(shown)}")
        raise HeadraceError("UNKNOWN_VIEW", f"the job {job.plan.job} has no sink or operator {view}", hint=hint)
    return named[name]


class Answers:
    """The answers to questions, from what was captured."""

    def __init__(
        self,
        spark: SparkSession,
        read: Reread[Paths],
        streams: Mapping[Node, Captured],
        home: Path,
        began: float,
    ) -> None:
        self._spark, self._job, self._read = spark, read.job, read
        self._streams, self._home, self._began = streams, home, began
        self._zone = zone(self._job.time_zone)

    def of(self, question: Question) -> Why:
        """Return the answer. Raises NO_SUCH_ROW if no row matches."""
        node = self._read.wanted.views[question.view]
        matching, row = self._row(question, self._streams[node].content)
        way = back(self._job.plan, self._streams, node, _single(row))
        (first,), schema = rows_of(row.drop(VALUES), self._zone)
        return Why(
            job=self._job.plan.job,
            checkpoint=self._home,
            view=question.view,
            row=plain(first[:-1], Struct(schema.fields[:-1])),
            matching=matching,
            times=first[-1],
            steps=tuple(
                WhyStep(self._shown(step.node), step.node.describe(), step.rows, step.inputs, step.witnesses) for step in way.steps
            ),
            sources=tuple(self._rows(question, node, rows) for node, rows in way.roots.items() if not _is_constant(node)),
            outside=tuple(what for step in way.steps if (what := _outside(step.node))),
            epochs=self._read.epochs,
            pause_seconds=self._read.pause,
            seconds=time.monotonic() - self._began,
        )

    def _shown(self, node: Node) -> str:
        return self._job.shown(str(node.name))

    def _row(self, question: Question, rows: DataFrame | None) -> tuple[int, DataFrame]:
        """Return how many rows match a question, and the first of them, with `TIMES`."""
        if rows is not None:
            some = rows.where(self._condition(question, rows)).localCheckpoint()
            matching = some.count()
            if matching:
                return matching, some.orderBy(VALUES).limit(1).localCheckpoint()
        text = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False, default=str)}" for name, value in question.row.items())
        raise HeadraceError(
            "NO_SUCH_ROW",
            f"{question.view} has no row with {text}" if text else f"{question.view} has no rows",
            hint="a row counts that is there when all rows which the job has read are computed again: without rows that came late, and "
            "without what depends on the time at which a row came",
        )

    def _condition(self, question: Question, rows: DataFrame) -> Column:
        """Return the condition of a question for rows of the result."""
        from pyspark.sql import functions as f

        fields = {field.name: field.dataType for field in rows.schema.fields if field.name not in (VALUES, TIMES)}
        condition = f.lit(True)
        for written, value in question.row.items():
            name = next((name for name in fields if name.lower() == written.lower()), None)
            if name is None:
                hint = suggestion(written, fields, f"it has: {', '.join(fields)}")
                raise HeadraceError("UNKNOWN_COLUMN", f"{question.view} has no column `{written}`", hint=hint)
            typed = _typed(value, fields[name])
            if value is not None and self._spark.range(1).select(typed.isNull()).collect()[0][0]:
                what = f"`{name}` of {question.view} is {fields[name].simpleString()}, and {value!r} is not"
                raise HeadraceError("BAD_INPUT", what, hint="write a value of that type")
            condition &= comparable(column(name), fields[name]).eqNullSafe(comparable(typed, fields[name]))
        return condition

    def _rows(self, question: Question, node: Node, rows: DataFrame) -> WhyRows:
        ends = node.role is not Role.SOURCE
        ordered = rows if ends else rows.orderBy(column(FILE), column(POSITION))
        first, schema = rows_of(ordered.limit(question.most), self._zone)
        own = Struct(tuple(field for field in schema.fields if field.name not in (FILE, POSITION, TIMES)))
        places = (None, None) if ends else (schema.names.index(FILE), schema.names.index(POSITION))

        def shown(row: tuple[Any, ...]) -> WhyRow:
            file, position = (None if place is None else row[place] for place in places)
            line = next((line_of(source, file, position) for source in sources_of([node])), None)
            return WhyRow(plain(row[: len(own.fields)], own), file, position, line, row[-1])

        return WhyRows(self._shown(node), node.describe(), rows.count(), tuple(map(shown, first)), ends)


def _typed(value: Any, kind: DataType) -> Column:
    """Return a value as a column of a type; null if it is none of that type."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import StructType

    if isinstance(value, dict | list | tuple):
        return f.from_json(f.lit(json.dumps({"v": value}, default=str)), StructType().add("v", kind))["v"]
    return f.lit(value).try_cast(kind)


def _single(rows: DataFrame) -> DataFrame:
    """Return rows of which one copy each has to be explained."""
    from pyspark.sql import functions as f

    return rows.withColumn(TIMES, f.lit(1).cast("bigint"))


def _is_constant(node: Node) -> bool:
    """Return whether a node is part of the query: rows of VALUES."""
    return any(source.connector == "values" for source in sources_of([node]))


def _outside(node: Node) -> str:
    """Return what the rows of an operator depend on beside those of its inputs."""
    provenance = operator(node).provenance
    return provenance.outside if isinstance(provenance, Itself) else ""
