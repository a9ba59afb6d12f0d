"""What a query leaves in this process when it has ended."""

from __future__ import annotations

import threading

from pyspark.sql import SparkSession

from headrace.testing import Harness


def run() -> None:
    with Harness() as h:
        rows = h.source("rows", "k string")
        out = h.collect(rows)
        h.commit({"rows": [("+", ("a",))]})
        h.restart()
        h.commit({"rows": [("+", ("b",))]})
        assert out.rows() == [("a",), ("b",)]


def test_no_thread_is_left_of_a_query_that_has_ended(spark: SparkSession) -> None:
    run()  # from the first one on this process listens, and is told what the JVM has no use for any more
    before = set(threading.enumerate())
    run()
    run()
    served = set(threading.enumerate()) - before
    for thread in served:
        thread.join(30)
    assert [thread.name for thread in served if thread.is_alive()] == []
