"""Answers of Spark's batch engine, as rows of the kind that the harness gives."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType

Row = tuple[Any, ...]

SMALL = {
    # Tables are small: what is saved is the time of tasks, and of compiling code that runs once.
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    # this rule of Spark fails over an EXISTS that is selected from a UNION ALL: "key not found: id#1"
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.PushProjectionThroughUnion",
}

FEW = 2000
"""Rows that a query over them can hold in its plan."""


@contextmanager
def small(spark: SparkSession) -> Iterator[None]:
    """Settings for small tables, in nothing but what runs within: queries of the harness, too, take theirs from the session."""
    before = {name: spark.conf.get(name, None) for name in SMALL}
    try:
        for name, value in SMALL.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, earlier in before.items():
            spark.conf.unset(name) if earlier is None else spark.conf.set(name, earlier)


def local(frame: DataFrame) -> DataFrame:
    """The same rows in the driver: a query over them needs no task to read them."""
    from pyspark.sql import DataFrame

    java = frame._jdf
    return DataFrame(frame.sparkSession._jsparkSession.createDataFrame(java.collectAsList(), java.schema()), frame.sparkSession)


class Batch:
    """Tables as temporary views of a session, and queries over them; the session is left as it was."""

    def __init__(self, spark: SparkSession, schemas: Mapping[str, str]) -> None:
        self._spark = spark
        self._schemas = dict(schemas)
        self._before: dict[str, str | None] = {}
        self._cached: dict[str, DataFrame] = {}

    def __enter__(self) -> Self:
        self._before = {name: self._spark.conf.get(name, None) for name in SETTINGS}
        for name, value in SETTINGS.items():
            self._spark.conf.set(name, value)
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        for name in self._schemas:
            self._spark.catalog.dropTempView(name)
        for table in self._cached.values():
            table.unpersist()
        for name, before in self._before.items():
            if before is None:
                self._spark.conf.unset(name)
            else:
                self._spark.conf.set(name, before)

    def hold(self, tables: Mapping[str, list[Row]]) -> None:
        """From now on these tables have these rows; others stay as they were."""
        for name, rows in tables.items():
            table = frame(self._spark, rows, self._schemas[name])
            with small(self._spark):
                if len(rows) < FEW:
                    table = local(table)
                else:
                    # counted, so that Spark knows how large it is and joins accordingly
                    table.cache().count()
            table.createOrReplaceTempView(name)
            if name in self._cached:
                self._cached[name].unpersist()
            self._cached[name] = table

    def answer(self, query: str) -> list[Row] | None:
        """The rows of a query, in any order; None where a row cannot be computed."""
        from pyspark.errors import ArithmeticException

        with small(self._spark):
            try:
                return rows_of(self._spark.sql(query))
            except ArithmeticException:
                return None


def frame(spark: SparkSession, rows: Iterable[Row], ddl: str) -> DataFrame:
    """Python rows as a frame. PySpark has no values for intervals of months: they come as their number."""
    from pyspark.sql import functions as f
    from pyspark.sql import types as t

    schema = t.StructType.fromDDL(ddl)
    assert isinstance(schema, t.StructType)
    months = [field.name for field in schema.fields if isinstance(field.dataType, t.YearMonthIntervalType)]
    plain_schema = t.StructType([t.StructField(one.name, t.IntegerType()) if one.name in months else one for one in schema.fields])
    # the harness has looked at the same rows
    created = spark.createDataFrame(list(rows), plain_schema, verifySchema=False)
    return created.withColumns({name: f.make_ym_interval(f.lit(0), f.col(name)) for name in months}) if months else created


def rows_of(answer: DataFrame) -> list[Row]:
    """The rows of a frame: timestamps aware, structs as tuples, months as their number."""
    schema = answer.schema
    names = [f"c{number}" for number in range(len(schema.fields))]
    renamed = answer.toDF(*names)
    collected = renamed.select(*(_readable(renamed[name], one.dataType) for name, one in zip(names, schema.fields, strict=True))).collect()
    convert = [_convert(one.dataType) for one in schema.fields]
    return [tuple(read(value) for read, value in zip(convert, row, strict=True)) for row in collected]


def _readable(column: Column, kind: DataType) -> Column:
    """The column with types that `collect` gives whole: it shifts timestamps into the machine's zone, and knows no months."""
    from pyspark.sql import types as t

    if isinstance(kind, t.YearMonthIntervalType):
        return column.cast("interval month").cast("int")
    plain = _plain(kind)
    return column if plain == kind else column.cast(plain)


def _plain(kind: DataType) -> DataType:
    from pyspark.sql import types as t

    match kind:
        case t.TimestampType():
            return t.TimestampNTZType()
        case t.ArrayType():
            return t.ArrayType(_plain(kind.elementType), kind.containsNull)
        case t.MapType():
            return t.MapType(_plain(kind.keyType), _plain(kind.valueType), kind.valueContainsNull)
        case t.StructType():
            return t.StructType([t.StructField(one.name, _plain(one.dataType), one.nullable) for one in kind.fields])
    return kind


def _convert(kind: DataType) -> Callable[[Any], Any]:
    from pyspark.sql import types as t

    match kind:
        case t.TimestampType():
            convert: Callable[[Any], Any] = _aware
        case t.BinaryType():
            convert = bytes
        case t.ArrayType():
            item = _convert(kind.elementType)
            convert = lambda values: [item(value) for value in values]  # noqa: E731  # one line each is plainer here
        case t.MapType():
            key, item = _convert(kind.keyType), _convert(kind.valueType)
            convert = lambda values: {key(name): item(value) for name, value in values.items()}  # noqa: E731
        case t.StructType():
            parts = [_convert(one.dataType) for one in kind.fields]
            convert = lambda row: tuple(part(value) for part, value in zip(parts, row, strict=True))  # noqa: E731
        case _:
            return lambda value: value
    return lambda value: None if value is None else convert(value)


def _aware(moment: dt.datetime) -> dt.datetime:
    return moment.replace(tzinfo=dt.UTC)
