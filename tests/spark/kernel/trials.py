"""Trials of the kernel: Scala (`scala/`), compiled against the kernel's jar."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.jvm.packages import attach
from headrace.jvm.session import jvm
from headrace.packages import Packages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TRIALS = Packages(scala=Path(__file__).parent / "scala", name="trials")


def attached(spark: SparkSession) -> Any:
    """The JVM's packages by name, those of the trials among them."""
    attach(spark, [TRIALS])
    return jvm(spark)
