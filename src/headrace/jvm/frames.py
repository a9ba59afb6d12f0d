"""Sessions and DataFrames on both sides of the border: PySpark's wrappers, and the JVM's objects for the kernel.

PySpark keeps the wrapped objects in private attributes (`_jsparkSession`, `_jdf`), and has done so since its first version.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

from headrace.jvm.session import jvm
from headrace.schema import Struct, parse_schema
from headrace.schema.values import rows_from_internal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import tzinfo

    from pyspark.sql import DataFrame, SparkSession


def java_session(spark: SparkSession) -> Any:
    """Return the JVM's object of a session: the first argument of most calls into the kernel."""
    return spark._jsparkSession


def is_frame(value: Any) -> bool:
    """Return whether a value is a DataFrame of a session with a JVM."""
    return hasattr(value, "_jdf")


def java_frame(frame: DataFrame) -> Any:
    """Return the JVM's object of a DataFrame."""
    return frame._jdf


def java_frames(spark: SparkSession, frames: Mapping[str, DataFrame]) -> Any:
    """Return DataFrames by name, as a Java map."""
    result = jvm(spark).java.util.HashMap()
    for name, frame in frames.items():
        result.put(name, java_frame(frame))
    return result


def java_map(spark: SparkSession, texts: Mapping[str, str]) -> Any:
    """Return texts by name, as a Java map."""
    result = jvm(spark).java.util.HashMap()
    for name, text in texts.items():
        result.put(name, text)
    return result


def python_frame(spark: SparkSession, frame: Any) -> DataFrame:
    """Return a DataFrame for the JVM's object of one."""
    from pyspark.sql import DataFrame

    return DataFrame(frame, spark)


Rows = list[tuple[Any, ...]]


def rows_of(frame: DataFrame, time_zone: tzinfo) -> tuple[Rows, Struct]:
    """Return all rows of a DataFrame as tuples of Python values, and their columns. Timestamps are in a time zone."""
    return decoded(jvm(frame.sparkSession).headrace.inspect.Answer.of(java_frame(frame)), time_zone)


def decoded(answer: Any, time_zone: tzinfo) -> tuple[Rows, Struct]:
    """Return the rows of an `Answer` of the kernel, and their columns."""
    schema = parse_schema(answer.schema())
    return rows_from_internal(pickle.loads(bytes(answer.rows())), schema, time_zone), schema
