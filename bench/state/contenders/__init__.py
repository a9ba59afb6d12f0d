"""The contenders, by the names that `--contenders` takes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from bench.environments import python
from bench.state.contenders.bytewax import PACKAGES, Bytewax
from bench.state.contenders.contender import Answer, Contender
from bench.state.contenders.kernel import Kernel
from bench.state.contenders.scala import ScalaProcessor
from bench.state.contenders.spark import PandasProcessor, ReadingAlone, RowProcessor

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HEADRACE, IN_TIME, SCALA, ROW, PANDAS, BYTEWAX, READING = "headrace", "time", "scala", "row", "pandas", "bytewax", "reading"
NAMES = (HEADRACE, IN_TIME, SCALA, ROW, PANDAS, BYTEWAX, READING)
TITLES = {
    HEADRACE: "headrace",
    IN_TIME: "headrace, order=time",
    SCALA: "Scala on Spark's typed API",
    ROW: "PySpark transformWithState",
    PANDAS: "transformWithStateInPandas",
    BYTEWAX: "bytewax, 2 processes",
    READING: "read and write alone",
}
SHARES = {PANDAS: 0.2}


def contenders(spark: SparkSession, names: Iterable[str], report: Callable[[str], object]) -> dict[str, Contender]:
    makers: dict[str, Callable[[], Contender]] = {
        HEADRACE: lambda: Kernel(TITLES[HEADRACE], "arrival"),
        IN_TIME: lambda: Kernel(TITLES[IN_TIME], "time"),
        SCALA: lambda: ScalaProcessor(TITLES[SCALA], spark),
        ROW: lambda: RowProcessor(TITLES[ROW], spark),
        PANDAS: lambda: PandasProcessor(TITLES[PANDAS], spark, SHARES[PANDAS]),
        BYTEWAX: lambda: Bytewax(TITLES[BYTEWAX], python(*PACKAGES)),
        READING: lambda: ReadingAlone(TITLES[READING], spark),
    }
    by_name: dict[str, Contender] = {}
    for name in names:
        try:
            by_name[name] = makers[name]()
        except subprocess.CalledProcessError as problem:
            report(f"{TITLES[name]} is left out, it could not be installed: {problem}")
    return by_name


__all__ = ["BYTEWAX", "HEADRACE", "IN_TIME", "NAMES", "PANDAS", "READING", "ROW", "SCALA", "TITLES", "Answer", "Contender", "contenders"]
