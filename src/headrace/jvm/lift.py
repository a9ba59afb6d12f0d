"""Queries analysed by Spark, as plain trees: relational operators with their expressions as Spark SQL text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headrace.jvm.session import jvm, session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Json = dict[str, Any]


def lift_sql(
    query: str, tables: Mapping[str, str], settings: Mapping[str, str], functions: Sequence[str] = (), missing: str | None = None
) -> Json:
    """The tree of a query over tables of these schemas, or what is wrong with it. Starts the session.

    `functions` are what stands behind CREATE FUNCTION of those that it may call; `missing` is the cure for a table that is not there.
    """
    spark = session()
    asked = {"settings": dict(settings), "query": query, "tables": dict(tables), "functions": list(functions), "missing": missing}
    found: Json = json.loads(jvm(spark).headrace.lift.Lift.sql(spark._jsparkSession, json.dumps(asked)))
    return found


def lift_frame(frame: DataFrame) -> Json:
    """The tree of a DataFrame over views."""
    spark = session()
    found: Json = json.loads(jvm(spark).headrace.lift.Lift.frame(frame._jdf))
    return found


def view(name: str, schema: str) -> DataFrame:
    """A DataFrame that stands for a stream: it has columns and no rows, and cannot be run."""
    from pyspark.sql import DataFrame

    spark = session()
    return DataFrame(jvm(spark).headrace.lift.Lift.view(spark._jsparkSession, name, schema), spark)
