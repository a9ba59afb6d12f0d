"""The rows that a shadow run captured of a stream: those that are there in the end, and the roots of some of them.

A row is identified by its values. The same values may come from several roots: so many roots are taken as rows are needed, of several the
one that was read last, as earlier ones may have been retracted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, reduce
from typing import TYPE_CHECKING

from headrace.plan import Node
from headrace.ports.weights import WEIGHT
from headrace.spark.why.paths import FILE, POSITION, ROOT, Route
from headrace.syntax import quote

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType

VALUES, TIMES = "_headrace_values", "_headrace_times"
"""The columns with all values of a row in a form that can be compared, and with how many such rows there are, or are needed."""

_ROUTE, _PLACE, _ROOT_VALUES, _HAS, _BEFORE, _COUNT = (
    f"_headrace_{name}" for name in ("route", "place", "root_values", "has", "before", "count")
)


class Captured:
    """The rows of a stream, whose paths are `routes`. `little`: they are few enough to be kept in memory."""

    def __init__(self, spark: SparkSession, node: Node, routes: Sequence[Route], *, little: bool) -> None:
        self._spark, self.node, self._little = spark, node, little
        files = [(route, [file for files in route.rows.epochs.values() for file in files]) for route in routes]
        self._routes = [(route, some) for route, some in files if some]

    @cached_property
    def content(self) -> DataFrame | None:
        """The rows that are there, each once, with `VALUES` and `TIMES`; None if none ever came."""
        from pyspark.sql import functions as f

        if not self._routes:
            return None
        names = self.node.columns
        net = self._rows.groupBy(VALUES).agg(f.first(_packed(names)).alias(ROOT), f.sum(WEIGHT).alias(TIMES)).where(column(TIMES) > 0)
        return net.select(*_unpacked(names), VALUES, TIMES).localCheckpoint()

    def roots(self, rows: DataFrame, streams: Mapping[Node, Captured]) -> tuple[int, dict[Node, list[DataFrame]]]:
        """Return how many rows of the stream are among these, and their roots by node, with `TIMES`, how often each is needed. `rows` have
        the columns of the stream and `TIMES`, how many of them need a root. `streams`: all that were captured.
        """
        from pyspark.sql import Window
        from pyspark.sql import functions as f

        if not self._routes:
            return 0, {}
        need = valued(rows, self.node.columns).groupBy(VALUES).agg(f.max(TIMES).alias(TIMES)).localCheckpoint()
        names = [_root(n) for n, _ in enumerate(self._routes)]
        there = self._rows.join(need.select(VALUES), VALUES, "left_semi")
        equal = f.struct(*(comparable(column(name), there.schema[name].dataType).alias(name) for name in names))
        each = there.withColumn(_ROOT_VALUES, equal).groupBy(VALUES, _ROUTE, _PLACE, _ROOT_VALUES)
        net = each.agg(*(f.first(name).alias(name) for name in names), f.sum(WEIGHT).alias(_HAS)).where(column(_HAS) > 0)
        latest = Window.partitionBy(VALUES).orderBy(*(column(name).desc() for name in (_PLACE, _ROUTE, _ROOT_VALUES)))
        earlier = f.coalesce(f.sum(_HAS).over(latest.rowsBetween(Window.unboundedPreceding, -1)), f.lit(0))
        enough = net.withColumn(_BEFORE, earlier).join(need, VALUES).where(column(_BEFORE) < column(TIMES))
        chosen = enough.withColumn(TIMES, f.least(column(_HAS), column(TIMES) - column(_BEFORE))).localCheckpoint()
        roots: dict[Node, list[DataFrame]] = {}
        for n, (route, _) in enumerate(self._routes):
            fields = (column(_root(n)).getField(f"{place}").alias(name) for place, name in enumerate(route.columns))
            some = chosen.where(column(_ROUTE) == n).select(*fields, TIMES, _HAS)
            some = _of_repeating(some, streams[route.root]) if route.repeats else some
            roots.setdefault(route.root, []).append(some.drop(_HAS))
        count = chosen.agg(f.coalesce(f.sum(TIMES), f.lit(0))).collect()[0][0]
        return count, roots

    @cached_property
    def _rows(self) -> DataFrame:
        """All rows that came, with their weights, the number of the route of each, and its root in a column of that route."""
        from pyspark.sql import functions as f

        frames = []
        for n, (route, files) in enumerate(self._routes):
            rows = self._spark.read.parquet(*files)
            fields = {name: column(ROOT).getField(f"{place}") for place, name in enumerate(route.columns)}
            file, position = fields.get(FILE, f.lit(None).cast("string")), fields.get(POSITION, f.lit(None).cast("bigint"))
            rows = rows.withColumns({_ROUTE: f.lit(n), _PLACE: f.struct(file.alias(FILE), position.alias(POSITION))})
            frames.append(rows.withColumnRenamed(ROOT, _root(n)))
        whole = valued(reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames), self.node.columns)
        return whole.localCheckpoint() if self._little else whole


def _of_repeating(roots: DataFrame, their: Captured) -> DataFrame:
    """Return roots that may give several rows each, with how often they are needed. They have how many rows all of their kind give, and how
    many of these are needed. A root with a place is there once.
    """
    from pyspark.sql import functions as f

    if their.content is None:
        return roots
    there = their.content.select(VALUES, column(TIMES).alias(_COUNT))
    known = valued(roots, their.node.columns).join(there, VALUES, "left")
    count = f.coalesce(column(_COUNT), f.lit(1))
    if FILE in roots.columns:
        count = f.when(column(FILE).isNotNull() & column(POSITION).isNotNull(), 1).otherwise(count)
    return known.withColumn(TIMES, f.ceil(column(TIMES) * count / column(_HAS)).cast("bigint")).select(*roots.columns)


def once(frames: Iterable[DataFrame]) -> DataFrame:
    """Return the rows of several frames of the same columns, each once, as often as the frame needs it that needs it most."""
    from pyspark.sql import functions as f

    whole = reduce(lambda one, other: one.unionByName(other), frames)
    names = [name for name in whole.columns if name != TIMES]
    grouped = valued(whole, names).groupBy(VALUES).agg(f.first(_packed(names)).alias(ROOT), f.max(TIMES).alias(TIMES))
    return grouped.select(*_unpacked(names), TIMES).localCheckpoint()


def valued(rows: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return rows with `VALUES`, of these columns."""
    from pyspark.sql import functions as f

    types = {field.name: field.dataType for field in rows.schema.fields}
    values = (comparable(column(name), types[name]).alias(f"c{n}") for n, name in enumerate(names))
    return rows.withColumn(VALUES, f.struct(f.lit(0).alias("none"), *values))  # there may be no columns


def comparable(value: Column, kind: DataType) -> Column:
    """Return a value in a form that can be compared: Spark compares no maps and no variants."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import MapType

    if isinstance(kind, MapType) and _is_orderable(kind.keyType) and _is_orderable(kind.valueType):
        return f.array_sort(f.map_entries(value))
    return value if _is_orderable(kind) else f.to_json(f.struct(value.alias("v")))


def column(name: str) -> Column:
    from pyspark.sql import functions as f

    return f.col(quote(name))


def _packed(names: Iterable[str]) -> Column:
    """Return columns as one; there may be none."""
    from pyspark.sql import functions as f

    return f.struct(f.lit(0), *map(column, names))


def _unpacked(names: Iterable[str]) -> list[Column]:
    return [column(ROOT).getField(name).alias(name) for name in names]


def _is_orderable(kind: DataType) -> bool:
    from pyspark.sql.types import ArrayType, CalendarIntervalType, MapType, StructType, VariantType

    if isinstance(kind, ArrayType):
        return _is_orderable(kind.elementType)
    if isinstance(kind, StructType):
        return all(_is_orderable(field.dataType) for field in kind.fields)
    return not isinstance(kind, MapType | VariantType | CalendarIntervalType)


def _root(route: int) -> str:
    return f"{ROOT}_{route}"
