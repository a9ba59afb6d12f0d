"""Names from PySpark and pandas, and what to write in headrace instead, for hints."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.spelling import nearest

T = TypeVar("T")


def _by_word(table: Mapping[T, str]) -> dict[str, T]:
    """Invert a table from what to write to the words of other libraries, separated by blanks."""
    return {word: ours for ours, words in table.items() for word in words.split()}


WORDS = _by_word(
    {
        "filter(...)": "where query",
        "select(...)": "selectexpr transform",
        "with_columns(...)": "withcolumn withcolumns assign",
        "rename(...)": "withcolumnrenamed withcolumnsrenamed",
        "group_by(...)": "groupby cube rollup",
        "group_by(...).agg(...)": "agg aggregate count sum mean value_counts",
        "dedupe(on=...)": "dropduplicates drop_duplicates",
        "dedupe(on=..., within=...)": "dropduplicateswithinwatermark",
        "distinct()": "unique",
        "top(...)": "orderby order_by sort sort_values limit head take nlargest",
        "union(...)": "unionall unionbyname concat append",
        "join(...)": "merge crossjoin",
        "join_asof(...)": "merge_asof",
        "subtract(...)": "exceptall difference minus",
        "intersect(...)": "intersectall",
        "watermark(...)": "withwatermark",
        "key_by(...).process(...)": "map flatmap apply mapinpandas transformwithstate transformwithstateinpandas",
        "write": "writestream sink",
        "write.foreach_batch(...)": "foreachbatch foreach",
        "schema": "dtypes printschema",
        "as_dataframe()": "todf",
    }
)
"""Verbs by the lower-case names of methods in other libraries."""


CALLS = _by_word(
    {
        "hr.show(stream)": "show display print",
        "hr.collect(stream)": "collect tolist tolocaliterator iterrows itertuples rows",
        "hr.collect(stream).to_pandas()": "topandas to_pandas",
        "hr.collect(stream).to_arrow()": "toarrow to_arrow",
        'hr.job("name", stream.write...).run()': "run start execute",
    }
)
"""Calls with a stream, by the lower-case names of methods in other libraries."""


CONNECTORS = _by_word(
    {
        ('files(..., format="csv", options={"sep": "\\u0001", "quote": "", "header": "false"})',): "text",
        ("delta(...)", "iceberg(...)", "jdbc(...)"): "table saveastable totable insertinto",
        ("foreach_batch(...)",): "foreachbatch foreach",
        ('delta("folder")', 'files("folder", format="parquet")'): "format",
        ('files("folder", format="parquet")',): (
            "load stream option options schema save start mode outputmode partitionby bucketby sortby trigger queryname clusterby"
        ),
    }
)
"""Calls of connectors that replace methods of PySpark's readers and writers."""


FUNCTIONS = frozenset(
    (
        *("count", "sum", "avg", "mean", "min", "max", "first", "last", "stddev", "variance", "collect_list", "collect_set"),
        *("row_number", "rank", "dense_rank", "lag", "lead", "coalesce", "concat", "round", "abs", "floor", "ceil", "length", "upper"),
        *("lower", "trim", "substring", "split", "size", "date_trunc", "to_date", "to_timestamp", "current_timestamp"),
    )
)
"""Functions of Spark that users of `pyspark.sql.functions` often write without `hr.f`."""


_PYTHON = "Python functions cannot run on rows: write an expression or a program, or register a Java or Scala function on the session"

_OF_FUNCTIONS = _by_word(
    {
        'write hr.col("{column}")': "col column",
        'write hr.lit("large")': "lit",
        'write hr.expr("{column} * 2")': "expr",
        "write hr.case((condition, value), otherwise=value), in SQL CASE WHEN condition THEN value ELSE value END": "when otherwise",
        'write hr.f.count("{column}").distinct(), in SQL count(DISTINCT {column})': "count_distinct countdistinct",
        'write hr.f.sum("{column}").distinct(), in SQL sum(DISTINCT {column})': "sum_distinct sumdistinct",
        'write hr.f.listagg("{column}").distinct(), in SQL listagg(DISTINCT {column})': "listagg_distinct string_agg_distinct",
        'write hr.col("{column}").asc(), or by="{column} asc" where a verb takes an order': "asc asc_nulls_first",
        'where a verb takes an order, write by="{column} asc nulls last"': "asc_nulls_last",
        'write hr.col("{column}").desc(), or by="{column} desc" where a verb takes an order': "desc desc_nulls_last",
        'where a verb takes an order, write by="{column} desc nulls first"': "desc_nulls_first",
        'write hr.expr("~flags")': "bitwise_not bitwisenot",
        'write hr.f.map(hr.lit("key"), "value")': "create_map",
        "write hr.f.negative(...)": "negate",
        'for positive numbers, write hr.expr("exp(sum(ln({column})))")': "product",
        "write hr.f and the name of the function, as in hr.f.upper(...)": "call_function call_udf",
        'write hr.expr("timestampadd(HOUR, 1, ts)")': "timestamp_add",
        'write hr.expr("timestampdiff(HOUR, since, until)")': "timestamp_diff",
        "leave it out: joins of streams have no such hint": "broadcast",
        "for a duration, write hr.hours(1) or hr.days(1)": "days hours",
        "for a duration, write hr.expr(\"INTERVAL '1' MONTH\"); for a part of a time, hr.f.month(...) or hr.f.year(...)": "months years",
        _PYTHON: "udf udtf pandas_udf arrow_udf arrow_udtf",
    }
)
"""Hints for functions of `pyspark.sql.functions` that Spark SQL does not have, by lower-case name, with `{column}` for the argument."""

_OF_COLUMNS = _by_word(
    {
        "write .cast(...)": "astype",
        'write hr.expr("try_cast(amount AS int)")': "try_cast",
        "write .alias(...)": "name",
        "write hr.f.equal_null(one, other)": "eqnullsafe",
        'for an item, write xs[0]; for the value of a key, xs["key"]': "getitem",
        'for a field, write hr.col("place").city': "getfield",
        'build a new struct: hr.struct(city="place.city", zip="upper(place.zip)")': "withfield dropfields",
        'write it in SQL: hr.expr("flags & 4")': "bitwiseand bitwiseor bitwisexor",
        "use it on the frame of as_dataframe()": "outer",
    }
)
"""Hints for methods of PySpark's columns, by lower-case name."""


def function_cure(name: str, text: str = "") -> str | None:
    """Return the hint for a function of PySpark that Spark SQL does not have. Its example has the argument that the function has in `text`.

    >>> function_cure("countDistinct", "countDistinct(shop)")
    'write hr.f.count("shop").distinct(), in SQL count(DISTINCT shop)'
    """
    cure = _OF_FUNCTIONS.get(name.lower())
    called = re.search(rf"\b{re.escape(name)}\(([A-Za-z_]\w*)\)", text)
    return cure.format(column=called[1] if called else "amount") if cure else None


def method_cure(name: str, has: Collection[str]) -> str:
    """Return the hint for a method that columns do not have."""
    cure = _OF_COLUMNS.get(name.lower()) or function_cure(name)
    spelled = {method.replace("_", ""): method for method in has}
    near = nearest(name.replace("_", ""), spelled)
    if cure is not None or near is not None:
        return cure or f"did you mean `.{spelled[str(near)]}()`?"
    return f"call a Spark function as hr.f.{name}(...)" if name in FUNCTIONS else f"if it is a Spark function, write hr.f.{name}(...)"


_WINDOWS = {
    "window": 'assign windows first: .window(hr.tumble("ts", "1 minute")), which adds window_start and window_end',
    "session_window": 'assign sessions first: .window(hr.sessions("ts", "1 minute", per="card")), which adds window_start and window_end',
}


def windows_cure(text: str) -> str | None:
    """Return the hint for an expression that calls Spark's `window` or `session_window`, else None."""
    called = re.search(r"(?i)(?<![\w.`])(session_window|window)\s*\(", text)
    return _WINDOWS[called[1].lower()] if called else None


def meant(word: str, known: Iterable[str]) -> str | None:
    """Return what to write for a verb that is not one of the `known`.

    >>> meant("withColumn", ["filter"]), meant("flter", ["filter"]), meant("x", ["filter"])
    ('with_columns(...)', 'filter', None)
    """
    return WORDS.get(word.lower()) or nearest(word, known)


def public(name: str, known: Iterable[str], verbs: Collection[str]) -> str | None:
    """Return what to write for a name that the package does not have: another name, a verb of streams, or a function of Spark.

    >>> known, verbs = ["job", "letters"], ["filter"]
    >>> public("jop", known, verbs), public("flter", known, verbs), public("sum", known, verbs)
    ('hr.job', 'stream.filter', 'hr.f.sum')
    """
    if name in FUNCTIONS:
        return f"hr.f.{name}"
    if name in verbs or name.lower() in WORDS:
        return f"stream.{WORDS.get(name.lower(), name)}"
    # One letter is a third of a short name, so less similarity is enough there, but only between names of the same length.
    near = nearest(name, known, 0.7) or nearest(name, [one for one in known if len(one) == len(name) <= 4])
    verb = None if near else nearest(name, verbs, 0.75)
    return f"hr.{near}" if near else f"stream.{verb}" if verb else CALLS.get(name.lower())


class Verbs:
    """The base of classes with verbs. An unknown verb raises an error with a suggestion."""

    __slots__ = ()

    if not TYPE_CHECKING:  # a type checker must report unknown verbs itself

        def __getattr__(self, name: str) -> Any:
            kind = type(self).__name__
            if name.startswith("_"):
                raise AttributeError(f"{kind!r} object has no attribute {name!r}")
            has = [verb for verb in dir(self) if not verb.startswith("_")]
            suggestion = meant(name, has) if kind == "Stream" else nearest(name, has)
            call = CALLS.get(name.lower()) if kind == "Stream" else None
            if kind == "Stream" and name in self.columns:
                call = f'hr.col("{name}") for the column, or its name in a SQL string'
            hint = f"write {call}" if call else f"did you mean `.{suggestion}`?" if suggestion else f"it has: {', '.join(has)}"
            what = "a stream" if kind == "Stream" else f"a {kind.lower()} stream"
            raise AttributeError(f"{what} has no `{name}`; {hint}")
