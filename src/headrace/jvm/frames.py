"""Sessions and frames on both sides of the border: what PySpark wraps, as the kernel takes and gives it.

PySpark keeps the wrapped objects in private attributes (`_jsparkSession`, `_jdf`), and has done so since its first version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.jvm.session import jvm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession


def java_session(spark: SparkSession) -> Any:
    """The session in the JVM: the first argument of most calls into the kernel."""
    return spark._jsparkSession


def java_frame(frame: DataFrame) -> Any:
    """The frame in the JVM."""
    return frame._jdf


def java_frames(spark: SparkSession, frames: Mapping[str, DataFrame]) -> Any:
    """Frames by their names as a map of Java."""
    result = jvm(spark).java.util.HashMap()
    for name, frame in frames.items():
        result.put(name, java_frame(frame))
    return result


def java_map(spark: SparkSession, texts: Mapping[str, str]) -> Any:
    """Texts by their names as a map of Java."""
    result = jvm(spark).java.util.HashMap()
    for name, text in texts.items():
        result.put(name, text)
    return result


def python_frame(spark: SparkSession, frame: Any) -> DataFrame:
    """A frame of the JVM as a DataFrame."""
    from pyspark.sql import DataFrame

    return DataFrame(frame, spark)
