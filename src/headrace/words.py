"""Names under which PySpark and pandas know what is called otherwise here, for whoever writes one of these."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from headrace.spelling import nearest

WORDS: dict[str, str] = {
    word: verb
    for verb, words in {
        "filter(...)": "where query",
        "select(...)": "selectexpr transform",
        "with_columns(...)": "withcolumn withcolumns assign",
        "rename(...)": "withcolumnrenamed withcolumnsrenamed",
        "group_by(...)": "groupby cube rollup",
        "group_by(...).agg(...)": "agg aggregate count sum mean value_counts",
        "dedupe(...)": "dropduplicates drop_duplicates dropduplicateswithinwatermark",
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
    }.items()
    for word in words.split()
}
"""What is written here for a word of theirs, which stands without upper case."""


CALLS: dict[str, str] = {
    word: call
    for call, words in {
        "hr.show(stream)": "show display print",
        "hr.collect(stream)": "collect tolist tolocaliterator iterrows itertuples rows",
        "hr.collect(stream).to_pandas()": "topandas to_pandas",
        "hr.collect(stream).to_arrow()": "toarrow to_arrow",
        'hr.job("name", stream.write...).run()': "run start execute",
    }.items()
    for word in words.split()
}
"""What is called with a stream here, and is a method of theirs."""


FUNCTIONS = frozenset(
    (
        *("count", "sum", "avg", "mean", "min", "max", "first", "last", "stddev", "variance", "collect_list", "collect_set"),
        *("row_number", "rank", "dense_rank", "lag", "lead", "coalesce", "concat", "round", "abs", "floor", "ceil", "length", "upper"),
        *("lower", "trim", "substring", "split", "size", "date_trunc", "to_date", "to_timestamp", "current_timestamp"),
    )
)
"""Functions of Spark that `pyspark.sql.functions` makes a habit of."""


_WINDOWS = {
    "window": 'windows are made in front of it: .window(hr.tumble("ts", "1 minute")), which adds window_start and window_end',
    "session_window": 'sessions are made in front of it: .window(hr.sessions("ts", "1 minute", per="card")), which adds window_start and window_end',
}


def windows_cure(text: str) -> str | None:
    """What to write instead of an expression that calls Spark's `window` or `session_window`; None for another one."""
    called = re.search(r"(?i)(?<![\w.`])(session_window|window)\s*\(", text)
    return _WINDOWS[called[1].lower()] if called else None


def meant(word: str, known: Iterable[str]) -> str | None:
    """What is written here for a verb that is not one of the `known`.

    >>> meant("withColumn", ["filter"]), meant("flter", ["filter"]), meant("x", ["filter"])
    ('with_columns(...)', 'filter', None)
    """
    return WORDS.get(word.lower()) or nearest(word, known)


def public(name: str, known: Iterable[str], verbs: Collection[str]) -> str | None:
    """What is written for a name that the package has not: it may be a verb of streams, or a function of Spark.

    >>> known, verbs = ["job", "letters"], ["filter"]
    >>> public("jop", known, verbs), public("flter", known, verbs), public("sum", known, verbs)
    ('hr.job', 'stream.filter', 'hr.f.sum')
    """
    if name in FUNCTIONS:
        return f"hr.f.{name}"
    if name in verbs or name.lower() in WORDS:
        return f"stream.{WORDS.get(name.lower(), name)}"
    # Of a short word a letter is a third: another one may stand in its place, and none be left out.
    near = nearest(name, known, 0.7) or nearest(name, [one for one in known if len(one) == len(name) <= 4])
    verb = None if near else nearest(name, verbs, 0.75)
    return f"hr.{near}" if near else f"stream.{verb}" if verb else CALLS.get(name.lower())


class Verbs:
    """What has verbs, and says which one was meant where it has no such verb."""

    __slots__ = ()

    if not TYPE_CHECKING:  # a checker of types is to find unknown verbs itself

        def __getattr__(self, name: str) -> Any:
            kind = type(self).__name__
            if name.startswith("_"):
                raise AttributeError(f"{kind!r} object has no attribute {name!r}")
            has = [verb for verb in dir(self) if not verb.startswith("_")]
            found = meant(name, has) if kind == "Stream" else nearest(name, has)
            call = CALLS.get(name.lower()) if kind == "Stream" else None
            hint = f"write {call}" if call else f"did you mean `.{found}`?" if found else f"it has: {', '.join(has)}"
            what = "a stream" if kind == "Stream" else f"a {kind.lower()} stream"
            raise AttributeError(f"{what} has no `{name}`; {hint}")
