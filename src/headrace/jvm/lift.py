"""Queries as Spark has analysed them: plain trees of relational operators, with expressions as Spark SQL text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headrace.jvm.frames import java_frame, java_session, python_frame
from headrace.jvm.session import jvm, session
from headrace.syntax import system_times

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Json = dict[str, Any]


def lift_sql(
    query: str,
    tables: Mapping[str, str],
    settings: Mapping[str, str],
    times: Mapping[str, str],
    functions: Sequence[str] = (),
    missing: str | None = None,
    outside: Sequence[str] = (),
) -> Json:
    """Return the tree of a query over tables with these schemas, or its error. Starts the session.

    `times`: the columns with the time from which rows of tables are valid. `functions`: what follows CREATE FUNCTION of those it may call.
    `missing`: the cure for a table that does not exist. `outside`: the tables that are no streams.
    """
    spark = session()
    text, clauses = system_times(query)
    request = {
        "settings": dict(settings),
        "query": text,
        "tables": dict(tables),
        "times": dict(times),
        "system_times": [{"table_end": _units(query, one.table_end), "time": one.time, "start": one.time_start} for one in clauses],
        "functions": list(functions),
        "missing": missing,
        "outside": list(outside),
    }
    tree: Json = json.loads(jvm(spark).headrace.lift.Lift.sql(java_session(spark), json.dumps(request)))
    return tree


def _units(text: str, place: int) -> int:
    """Return an offset in a text, in the JVM's units of UTF-16."""
    return len(text[:place].encode("utf-16-le")) // 2


def lift_frame(frame: DataFrame) -> Json:
    """Return the tree of a DataFrame over views."""
    spark = session()
    tree: Json = json.loads(jvm(spark).headrace.lift.Lift.frame(java_frame(frame)))
    return tree


def view(name: str, schema: str) -> DataFrame:
    """Return a DataFrame in place of a stream: it has columns and no rows, and cannot be run."""
    spark = session()
    return python_frame(spark, jvm(spark).headrace.lift.Lift.view(java_session(spark), name, schema))
