"""The rows of a sink that differ between two versions of a job: how many, and the first of them.

Rows are compared as Spark groups them: null equals null, NaN equals NaN, and 0.0 equals -0.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.jvm.frames import rows_of
from headrace.ports import paths
from headrace.ports.weights import WEIGHT
from headrace.schema import Field, Struct, plain
from headrace.spark.deploy.capture import Capture
from headrace.spark.deploy.rows_diff import DIFFERS, EQUAL, RowChange, SinkRows
from headrace.spark.deploy.sinks import Pair, common

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_OLD, _NEW = "old", "new"
"""The columns that say how often a version has a row."""


def differences(spark: SparkSession, pair: Pair, old: Path, new: Capture | None, place: Path, examples: int, time_zone: tzinfo) -> SinkRows:
    """Return the rows of a sink that differ, up to so many `examples`. `old`: the rows that it holds (`held.py`). `new`: those of the new
    version, None if it has read nothing for them. `place`: a new folder for what is computed. `spark`: the session of `under`.
    """
    from pyspark.sql import functions as f

    was = spark.read.parquet(paths.escaped(old))
    now = pair.new_form.new(spark, Capture(pair.new.connect(), place) if new is None else new)
    both = _side(pair, 0, was, _OLD, _NEW).unionByName(_side(pair, 1, now, _NEW, _OLD))
    columns = [f.col(_place(n)) for n in range(len(pair.fields))]
    both.groupBy(*columns).agg(f.sum(_OLD).alias(_OLD), f.sum(_NEW).alias(_NEW)).write.parquet(paths.literal(place))
    whole = spark.read.parquet(paths.escaped(place))
    more = f.col(_NEW) - f.col(_OLD)
    sums = (f.sum(f.greatest(n, f.lit(0))) for n in (f.least(_OLD, _NEW), -more, more))
    equal, only_old, only_new = (n or 0 for n in whole.agg(*sums).collect()[0])
    if not only_old and not only_new:
        return SinkRows(str(pair.name), EQUAL, (), equal, 0, 0, pair.key, 0 if pair.key else None)
    by = [f.col(_place(list(pair.fields).index(name))) for name in pair.key] or columns
    row = f.struct(*columns)
    changes = whole.where(more != 0).groupBy(*by).agg(
        f.min(f.when(more < 0, row)).alias(_OLD), f.min(f.when(more > 0, row)).alias(_NEW), f.max(f.abs(more)).alias("times")
    )  # fmt: skip
    changed = changes.where(f.col(_OLD).isNotNull() & f.col(_NEW).isNotNull()).count() if pair.key else None
    first, _ = rows_of(changes.orderBy(*by).limit(examples).select(_OLD, _NEW, "times"), time_zone)
    shown = tuple(RowChange(_row(pair, 0, old), _row(pair, 1, new), times) for old, new, times in first)
    return SinkRows(str(pair.name), DIFFERS, (), equal, only_old, only_new, pair.key, changed, shown)


def _side(pair: Pair, version: int, rows: DataFrame, mine: str, other: str) -> DataFrame:
    """Return the rows of a version with the columns of both, and how often each version has them."""
    from pyspark.sql import functions as f

    form = (pair.old_form, pair.new_form)[version]
    own = {field.name: column for field, column in zip(form.fields, form.columns, strict=True)}
    values = (_value(own.get(name), fields, version).alias(_place(n)) for n, (name, fields) in enumerate(pair.fields.items()))
    return rows.select(*values, f.col(WEIGHT).alias(mine), f.lit(0).cast("bigint").alias(other))


def _value(column: Column | None, fields: tuple[Field | None, Field | None], version: int) -> Column:
    """Return a column of a version in the type that both have; null if it lacks the column."""
    from pyspark.sql import functions as f

    was, now = fields
    own, other = fields[version], fields[1 - version]
    if column is None or own is None:
        return f.lit(None) if other is None else f.lit(None).cast(str(other.type))
    type = common(was, now) if was and now else None
    return column if type in (None, str(own.type)) else column.cast(type)


def _row(pair: Pair, version: int, row: tuple[Any, ...] | None) -> Mapping[str, Any] | None:
    """Return a row as JSON, with the columns that a version has."""
    if row is None:
        return None
    own = [(field, value) for value, fields in zip(row, pair.fields.values(), strict=True) if (field := fields[version]) is not None]
    return plain(tuple(value for _, value in own), Struct(tuple(field for field, _ in own)))


def _place(n: int) -> str:
    return f"c{n}"
