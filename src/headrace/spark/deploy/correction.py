"""The correction of a sink: the rows of the new version minus those that it holds."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.jvm.session import session
from headrace.ops import Sink
from headrace.ops.changes import CHANGE
from headrace.ops.upserts import Upserts
from headrace.ports.sink import frame_in
from headrace.ports.weights import WEIGHT
from headrace.schema import Struct
from headrace.spark.deploy.capture import Capture
from headrace.spark.deploy.rebuild import shows_changes

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_EPOCH = "_epoch"
_INSERTED = ("insert", "update_after")


@dataclass(frozen=True)
class Correction:
    """The number of rows that a sink gets, and that it gives back."""

    inserted: int
    retracted: int


def correct(sink: Sink, schema: Struct, rows: Capture, place: Path, *, filled: bool, files: int) -> Correction | None:
    """Write the correction of a sink to a folder, in at most so many files; None if there is nothing to correct. `rows`: those of the new
    version. `filled`: the sink holds none.
    """
    spark = session()
    names = [name for name in schema.names if not (shows_changes(sink) and name == CHANGE)]
    changes = _new(sink, schema, rows, names)
    if not filled:
        held = frame_in(sink.connect(), spark, schema, sink.mode)
        changes = changes.unionAll(_weighed(sink, held, names).select(*_columns(names), (-_column(WEIGHT)).alias(WEIGHT)))
    by = _key(sink) or names
    whole = place.with_name(f"{place.name}.all")
    _net(changes, names).repartition(files, *_columns(by)).write.parquet(str(whole))
    difference = spark.read.parquet(str(whole))
    correction = _counted(difference)
    if correction is not None:
        last = [_column(WEIGHT)] if sink.mode != "append" else [_column(CHANGE).isin(*_INSERTED)] if shows_changes(sink) else []
        written = _as_written(sink, difference, names).repartition(files, *_columns(by)).sortWithinPartitions(*_columns(by), *last)
        written.write.parquet(str(place))
        for path in place.iterdir():
            if path.suffix != ".parquet" or path.name.startswith("."):
                path.unlink()
    shutil.rmtree(whole)
    return correction


def _counted(difference: DataFrame) -> Correction | None:
    from pyspark.sql import functions as f

    weight = _column(WEIGHT)
    inserted, retracted = difference.agg(*(f.sum(f.when(sign, f.abs(weight)).otherwise(0)) for sign in (weight > 0, weight < 0))).collect()[
        0
    ]
    return Correction(inserted or 0, retracted or 0) if inserted or retracted else None


def _new(sink: Sink, schema: Struct, rows: Capture, names: Sequence[str]) -> DataFrame:
    """Return the rows of the new version with their weights."""
    from pyspark.sql import functions as f

    spark = session()
    parts = [spark.read.parquet(*paths).withColumn(_EPOCH, f.lit(epoch)) for epoch, paths in rows.epochs.items() if paths]
    if not parts:
        return spark.createDataFrame([], f"{schema.ddl}, {WEIGHT} bigint").select(*_columns(names), _column(WEIGHT))
    changes = _weighed(sink, reduce(lambda one, other: one.unionAll(other), parts), names, _EPOCH)
    key = _key(sink)
    if not key:
        return changes.drop(_EPOCH)
    # of a key the sink has the row that was last
    from pyspark.sql import Window

    last = f.max(_column(_EPOCH)).over(Window.partitionBy(*_columns(key)))
    return changes.withColumn("_last", last).where((_column(_EPOCH) == _column("_last")) & (_column(WEIGHT) > 0)).drop(_EPOCH, "_last")


def _weighed(sink: Sink, rows: DataFrame, names: Sequence[str], *more: str) -> DataFrame:
    """Return rows as a sink has them with their weights in a column."""
    from pyspark.sql import functions as f

    if WEIGHT in rows.columns:
        weight = _column(WEIGHT)
    elif shows_changes(sink):
        weight = f.when(_column(CHANGE).isin(*_INSERTED), 1).otherwise(-1).cast("bigint")
    else:
        weight = f.lit(1).cast("bigint")
    return rows.select(*_columns(names), *_columns(more), weight.alias(WEIGHT))


def _net(rows: DataFrame, names: Sequence[str]) -> DataFrame:
    from pyspark.sql import functions as f

    return rows.groupBy(*_columns(names)).agg(f.sum(_column(WEIGHT)).alias(WEIGHT)).where(_column(WEIGHT) != 0)


def _as_written(sink: Sink, difference: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return a difference in the form in which the sink gets its rows."""
    from pyspark.sql import functions as f

    key = _key(sink)
    if sink.mode != "append":
        return _replacing(difference, key) if isinstance(sink.input, Upserts) and sink.input.replaces else difference
    times = difference.select("*", f.explode(f.sequence(f.lit(1), f.abs(_column(WEIGHT)))).alias("_time"))
    if not shows_changes(sink):
        return times.select(*_columns(names))
    return times.select(*_columns(names), _word(key).alias(CHANGE))


def _replacing(difference: DataFrame, key: Sequence[str]) -> DataFrame:
    """Leave out the retraction of a row that another one replaces."""
    return difference.withColumn("_most", _most(key)).where((_column(WEIGHT) > 0) | (_column("_most") < 0)).drop("_most")


def _most(key: Sequence[str]) -> Column:
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    return f.max(_column(WEIGHT)).over(Window.partitionBy(*_columns(key)))


def _word(key: Sequence[str]) -> Column:
    """Return the word for a change; an update of a key is two rows."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    if not key:
        return f.when(_column(WEIGHT) > 0, "insert").otherwise("delete")
    both = f.count("*").over(Window.partitionBy(*_columns(key))) > 1
    added = f.when(both, "update_after").otherwise("insert")
    return f.when(_column(WEIGHT) > 0, added).otherwise(f.when(both, "update_before").otherwise("delete"))


def _key(sink: Sink) -> tuple[str, ...]:
    return sink.input.key if isinstance(sink.input, Upserts) else ()


def _column(name: str) -> Column:
    from pyspark.sql import functions as f

    return f.col("`" + name.replace("`", "``") + "`")


def _columns(names: Sequence[str]) -> list[Column]:
    return [_column(name) for name in names]
