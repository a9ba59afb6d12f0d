"""Trials of the kernel in a JVM of its own without Spark: they are Scala (`scala/`), compiled against the kernel's jar."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.jvm import compile, java
from headrace.jvm.packages import attach, provide
from headrace.packages import Packages
from tests.spark.kernel.trials import TRIALS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Trials = Callable[..., str]


@pytest.fixture(scope="session")
def writers(spark: SparkSession) -> None:
    """The session with the writers of `writers/`, as a connector brings them."""
    attach(spark, [Packages(scala=Path(__file__).parent / "writers", name="writers")])


@pytest.fixture(scope="session")
def trials() -> Trials:
    """Runs the main class of a trial with some words."""
    runtime, kernel, jar = java.find(), compile.kernel_jar(), provide(TRIALS)[-1]

    def run(main: str, *words: object) -> str:
        path = f"{jar}:{kernel}:{compile.spark_jars()}/*"
        command = [str(runtime.executable), "-Xmx1g", "-XX:+UseSerialGC", "-cp", path, main, *map(str, words)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        assert done.returncode == 0, done.stdout
        return done.stdout

    return run
