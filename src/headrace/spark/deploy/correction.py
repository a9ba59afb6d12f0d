"""The correction of a sink: the rows of the new version minus those that it holds.

Columns have the names c0, c1, ... throughout, so that none of the sink's can be taken for another.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.jvm.session import session
from headrace.ops import Sink
from headrace.ops.changes import CHANGE
from headrace.ops.operator import operator
from headrace.ports import paths
from headrace.ports.sink import frame_in
from headrace.ports.weights import WEIGHT
from headrace.schema import Struct
from headrace.spark.deploy.capture import Capture
from headrace.spark.deploy.rebuild import shows_changes

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_INSERTED = ("insert", "update_after")


@dataclass(frozen=True)
class Correction:
    """The number of rows that a sink gets, and that it gives back."""

    inserted: int
    retracted: int


def correct(
    spark: SparkSession, sink: Sink, schema: Struct, rows: Capture, place: Path, *, filled: bool, whole: bool, files: int
) -> Correction | None:
    """Write the correction of a sink to a folder, in at most so many files; None if there is nothing to correct. `spark`: the session of
    `under`. `rows`: those of the new version. `filled`: the sink holds none. `whole`: they replace those that it holds.
    """
    from pyspark.sql import Observation

    form = Form(sink, schema)
    changes = form.new(spark, rows)
    if not (filled or whole):
        held = form.weighed(frame_in(sink.connect(), spark, schema, sink.mode))
        changes = changes.unionAll(held.select(*form.columns, (-_column(WEIGHT)).alias(WEIGHT)))
    counts = Observation()
    # All later steps work on the rows of a key, or on equal rows, so they need no other exchange.
    difference = net(changes.repartition(files, *form.by), form.columns).observe(counts, *_counts())
    form.as_written(difference).sortWithinPartitions(*form.order).write.parquet(paths.literal(place))
    correction = Correction(*(counts.get[name] or 0 for name in ("inserted", "retracted")))
    if not (whole or correction.inserted or correction.retracted):
        shutil.rmtree(place)
        return None
    for path in place.iterdir():
        if path.suffix != ".parquet" or path.name.startswith("."):
            path.unlink()
    return correction


@contextmanager
def under(settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """Give a session with the settings of a job, under which rows are compared: that of the user may have others."""
    of_user = session()
    own = of_user.newSession()
    for name, value in settings.items():
        own.conf.set(name, value)
    try:
        yield own
    finally:
        # the session that last made a DataFrame of Python rows is the active one
        of_user.createDataFrame([], "n int")


class Form:
    """The rows of a sink: their columns, their key if rows replace each other, and how changes are shown."""

    def __init__(self, sink: Sink, schema: Struct) -> None:
        self._sink, self._schema = sink, schema
        self._shows = shows_changes(sink)
        places = {name: f"c{place}" for place, name in enumerate(schema.names)}
        self._change = places.get(CHANGE, "") if self._shows else ""
        self.fields = tuple(field for field in schema.fields if places[field.name] != self._change)
        """The fields of `columns`: those of the sink, without the word for a change."""
        self.columns = [_column(places[field.name]) for field in self.fields]
        behind = operator(sink.input)
        self._key = [_column(places[name]) for name in behind.sole_by]
        self._replaces = behind.replaced_in_place
        self.by = self._key or self.columns
        # the row that is retracted comes before the one that replaces it
        self.order = list(self.by)
        if sink.mode != "append":
            self.order.append(_column(WEIGHT))
        elif self._shows:
            self.order.append(_column(self._change).isin(*_INSERTED))

    def new(self, spark: SparkSession, rows: Capture) -> DataFrame:
        """Return the rows of the new version with their weights."""
        from pyspark.sql import Window
        from pyspark.sql import functions as f

        parts = [
            self.weighed(spark.read.parquet(*files)).withColumn("epoch", f.lit(epoch)) for epoch, files in rows.epochs.items() if files
        ]
        if not parts:
            return self.weighed(spark.createDataFrame([], self._schema.ddl))
        changes = reduce(lambda one, other: one.unionAll(other), parts)
        if self._key:
            # of a key the sink has the row that was last
            last = f.max(_column("epoch")).over(Window.partitionBy(*self._key))
            changes = changes.withColumn("last", last).where((_column("epoch") == _column("last")) & (_column(WEIGHT) > 0))
        return changes.select(*self.columns, _column(WEIGHT))

    def weighed(self, rows: DataFrame) -> DataFrame:
        """Return rows as a sink has them, with their weights in a column."""
        from pyspark.sql import functions as f

        names = [f"c{place}" for place in range(len(self._schema.names))]
        has_weight = len(rows.columns) > len(names)
        renamed = rows.toDF(*names, *([WEIGHT] if has_weight else []))
        if has_weight:
            weight = _column(WEIGHT)
        elif self._shows:
            weight = f.when(_column(self._change).isin(*_INSERTED), 1).otherwise(-1).cast("bigint")
        else:
            weight = f.lit(1).cast("bigint")
        return renamed.select(*self.columns, weight.alias(WEIGHT))

    def as_written(self, difference: DataFrame) -> DataFrame:
        """Return a difference in the form in which the sink gets its rows."""
        from pyspark.sql import Window
        from pyspark.sql import functions as f

        same_key = Window.partitionBy(*self._key)
        if self._sink.mode != "append":
            if not self._replaces:
                return difference
            # the retraction of a row that another one replaces is left out
            most = difference.withColumn("most", f.max(_column(WEIGHT)).over(same_key))
            return most.where((_column(WEIGHT) > 0) | (_column("most") < 0)).drop("most")
        each = difference.withColumn("times", f.explode(f.sequence(f.lit(1), f.abs(_column(WEIGHT)))))
        if not self._shows:
            return each.select(*self.columns)
        update = f.count("*").over(same_key) > 1 if self._key else f.lit(False)
        added = f.when(update, "update_after").otherwise("insert")
        taken = f.when(update, "update_before").otherwise("delete")
        word = f.when(_column(WEIGHT) > 0, added).otherwise(taken).alias(self._change)
        names = [f"c{place}" for place in range(len(self._schema.names))]
        return each.select(*self.columns, word).select(*map(_column, names))


def net(rows: DataFrame, columns: Sequence[Column]) -> DataFrame:
    from pyspark.sql import functions as f

    return rows.groupBy(*columns).agg(f.sum(_column(WEIGHT)).alias(WEIGHT)).where(_column(WEIGHT) != 0)


def _counts() -> list[Column]:
    from pyspark.sql import functions as f

    weight = _column(WEIGHT)
    signs = {"inserted": weight > 0, "retracted": weight < 0}
    return [f.sum(f.when(sign, f.abs(weight)).otherwise(0)).alias(name) for name, sign in signs.items()]


def _column(name: str) -> Column:
    from pyspark.sql import functions as f

    return f.col(name)
