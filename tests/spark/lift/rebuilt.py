"""A lifted tree as a PySpark DataFrame again: what the tree means, said by Spark's own batch engine."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

Node = dict[str, Any]

_numbers = itertools.count()


class Rebuilt:
    """Builds frames over `tables`. Texts are read by name, as whoever runs a tree reads them."""

    def __init__(self, spark: SparkSession, tables: Mapping[str, DataFrame]) -> None:
        self._spark = spark
        self._tables = tables

    def frame(self, node: Node) -> DataFrame:
        frame: DataFrame = getattr(self, f"_{node['node']}")(node)
        return frame

    def _table(self, node: Node) -> DataFrame:
        return self._tables[node["name"]]

    def _values(self, node: Node) -> DataFrame:
        columns = node["columns"]
        if not node["rows"]:
            return self._spark.createDataFrame([], ", ".join(f"{_quoted(name)} {ddl}" for name, ddl in columns))
        one = self._spark.range(1).select()
        rows = [one.select(*(_text(text).alias(name) for text, (name, _) in zip(row, columns, strict=True))) for row in node["rows"]]
        return _union(rows)

    def _project(self, node: Node) -> DataFrame:
        return self.frame(node["input"]).select(*_named(node["columns"]))

    def _filter(self, node: Node) -> DataFrame:
        return self.frame(node["input"]).filter(_text(node["condition"]))

    def _join(self, node: Node) -> DataFrame:
        left, right = self.frame(node["left"]), self.frame(node["right"])
        assert not {c.lower() for c in left.columns} & {c.lower() for c in right.columns}, "names of the two sides are distinct"
        parts = [f"({a}) {'<=>' if null_safe else '='} ({b})" for (a, b), null_safe in zip(node["keys"], node["null_safe"], strict=True)]
        if node["condition"] is not None:
            parts.append(f"({node['condition']})")
        on = _text(" AND ".join(parts) or "true")
        how = node["how"]
        if how == "existence":
            from pyspark.sql import functions as f

            matched = left.join(right, on, "left_semi").withColumn(node["mark"], f.lit(True))
            return matched.unionAll(left.join(right, on, "left_anti").withColumn(node["mark"], f.lit(False)))
        return left.join(right, on, {"semi": "left_semi", "anti": "left_anti"}.get(how, how))

    def _single(self, node: Node) -> DataFrame:
        return self._join(node)

    def _aggregate(self, node: Node) -> DataFrame:
        frame = self.frame(node["input"])
        if not node["aggregates"]:
            assert node["keys"], "an aggregate has keys or functions"
            return frame.select(*_named(node["keys"])).distinct()
        return frame.groupBy(*_named(node["keys"])).agg(*_named(node["aggregates"]))

    def _window(self, node: Node) -> DataFrame:
        for _, text in node["functions"]:
            assert all(key in text for key in node["keys"])
        return self.frame(node["input"]).select("*", *_named(node["functions"]))

    def _limit(self, node: Node) -> DataFrame:
        frame = self.frame(node["input"])
        if node["order"]:
            frame = frame.orderBy(*(_order(text, direction, nulls) for text, direction, nulls in node["order"]))
        frame = frame.offset(node["offset"])
        return frame if node["count"] is None else frame.limit(node["count"])

    def _generate(self, node: Node) -> DataFrame:
        view = f"rebuilt_{next(_numbers)}"
        self.frame(node["input"]).createOrReplaceTempView(view)
        names = ", ".join(map(_quoted, node["names"]))
        if node["text"].startswith("variant_explode("):  # which LATERAL VIEW does not know
            call = node["text"].replace("(", "_outer(", 1) if node["outer"] else node["text"]
            return self._spark.sql(f"SELECT * FROM {view} JOIN LATERAL {call} AS g ({names})")
        return self._spark.sql(f"SELECT * FROM {view} LATERAL VIEW {'OUTER ' if node['outer'] else ''}{node['text']} g AS {names}")

    def _windows(self, node: Node) -> DataFrame:
        assert node["kind"] != "cumulate", "Spark has no such windows"
        size, step, offset = (f"'{node[part]} microseconds'" for part in ("size", "step", "offset"))
        windowed = self.frame(node["input"]).select("*", _text(f"window({node['time']}, {size}, {step}, {offset})").alias("w"))
        ends = ("w.start", "w.end", "w.end - INTERVAL '0.001' SECOND")
        return windowed.select("*", *(_text(text).alias(name) for text, name in zip(ends, node["names"], strict=True))).drop("w")

    def _sessions(self, node: Node) -> DataFrame:
        until = node["until"] or f"timestampadd(MICROSECOND, {node['gap']}L, {node['time']})"
        rows = (
            self.frame(node["input"]).select("*", _text(node["time"]).alias("_start"), _text(until).alias("_end")).filter("_end > _start")
        )
        of = f"PARTITION BY {', '.join(['0', *node['per']])}"
        before = f"max(_end) OVER ({of} ORDER BY _start, _end ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
        begun = rows.select("*", _text(f"CASE WHEN _start <= {before} THEN 0 ELSE 1 END").alias("_begins"))
        numbered = begun.select("*", _text(f"sum(_begins) OVER ({of} ORDER BY _start, _end ROWS UNBOUNDED PRECEDING)").alias("_number"))
        ends = (f"{end} OVER ({of}, _number)" for end in ("min(_start)", "max(_end)", "max(_end - INTERVAL '0.001' SECOND)"))
        bounded = numbered.select("*", *(_text(text).alias(name) for text, name in zip(ends, node["names"], strict=True)))
        return bounded.drop("_start", "_end", "_begins", "_number")

    def _union(self, node: Node) -> DataFrame:
        return _union([self.frame(n) for n in node["inputs"]])


def _text(text: str) -> Column:
    from pyspark.sql import functions as f

    return f.expr(text)


def _named(pairs: Sequence[Sequence[str]]) -> list[Column]:
    return [_text(text).alias(name) for name, text in pairs]


def _order(text: str, direction: str, nulls: str) -> Column:
    ordered: Column = getattr(_text(text), f"{direction}_nulls_{nulls}")()
    return ordered


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    first, *others = frames
    for other in others:
        first = first.unionAll(other)
    return first


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
