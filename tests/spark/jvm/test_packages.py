"""Jars and Scala of connectors in a running session."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.jvm import compile, java
from headrace.jvm.packages import attach
from headrace.packages import Jar, Packages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.full
def test_jars_and_scala_are_there_for_driver_and_executors(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scala that reads the kernel, Spark and a jar of its own, of which a data source is found by Spark as one of its own is."""
    compile.kernel_jar()
    library, own = tmp_path / "library", tmp_path / "own"
    library.mkdir()
    own.mkdir()
    (library / "Text.scala").write_text('package attached.library\nobject Text { def of(n: Int): String = s"no. $n" }\n')
    (own / "Trial.scala").write_text(
        "package attached\n"
        "object Trial {\n"
        "  def inTasks(spark: org.apache.spark.sql.SparkSession): String =\n"
        '    spark.sparkContext.parallelize(Seq(1, 2), 2).map(library.Text.of).collect().mkString(", ")\n'
        "  def kernel: String = classOf[headrace.sink.Staged].getSimpleName\n"
        "}\n"
    )
    jar = tmp_path / "repository" / "org" / "example" / "text" / "1" / "text-1.jar"
    jar.parent.mkdir(parents=True)
    assert compile.scalac(java.find(), library, jar) is None
    monkeypatch.setenv("HEADRACE_MAVEN", str(tmp_path / "repository"))
    needed = Packages((Jar("org.example:text:1", hashlib.sha256(jar.read_bytes()).hexdigest()),), own, name="attached")
    for _ in range(2):
        attach(spark, [needed])
    jvm = spark._jvm
    assert jvm is not None
    trial = jvm.attached.Trial
    assert (trial.inTasks(spark._jsparkSession), trial.kernel()) == ("no. 1, no. 2", "Staged")
    carried = spark.sparkContext._jsc.sc().listJars().mkString(",")  # type: ignore[union-attr]  # a running session has one
    assert carried.count("text-1.jar") == carried.count("headrace-attached-") == 1
