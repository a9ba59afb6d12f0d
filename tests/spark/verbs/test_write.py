"""write: the sinks of a stream. What each does: tests/spark/connectors."""

from __future__ import annotations

from pyspark.sql import SparkSession

import headrace as hr
from tests.spark.verbs.spelling import streams


def test_sinks_by_the_names_of_their_connectors() -> None:
    assert {"console", "files", "memory"} <= set(dir(streams().sales.write))


def test_rows_in_memory(spark: SparkSession) -> None:
    sink = hr.read.memory([("a", 1), (None, 2)], "k string, v int", name="t").filter("v > 1").write.memory(name="out")
    hr.job("written", sink).require("exactly once")
    assert repr(sink) == "<Sink t.filter to memory>"
