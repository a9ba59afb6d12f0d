"""Sessions and DataFrames on both sides of the border: PySpark's wrappers, and the JVM's objects for the kernel.

PySpark keeps the wrapped objects in private attributes (`_jsparkSession`, `_jdf`), and has done so since its first version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.jvm.session import jvm

if TYPE_CHECKING:
    from collections.abc import Mapping

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
