"""watermark: which column is event time. What it does: tests/spark/kernel/test_program_time.py, test_window.py. In YAML and SQL:
tests/unit/spec/test_build.py, tests/unit/sql/test_catalogue.py.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from headrace.testing import Harness
from tests.spark.verbs.spelling import streams
from tests.unit.errors import check_error


def test_it_changes_no_rows_and_holds_none_back(spark: SparkSession) -> None:
    with Harness(partitions=1) as h:
        out = h.collect(h.source("t", "k string, ts timestamp", watermark=("ts", "1 minute")).select("k"))
        h.commit()
        h.commit({"t": [("+", ("b", "2026-01-01 10:00:00")), ("+", ("a", "2026-01-01 09:00:00")), ("+", ("c", None))]})
        assert out.rows() == [("a",), ("b",), ("c",)]


def test_not_a_source() -> None:
    check_error(
        """
        WATERMARK_PLACE: a watermark must be set on a source, and sales.filter is not one
          at test_watermark.py:*: lambda: streams().sales.filter("id > 1").watermark("id", "1 minute"),
          hint: call it first: hr.read.<connector>(...).watermark("ts", "5 minutes"), then filter, select and so on
          more: headrace error WATERMARK_PLACE
        """,
        lambda: streams().sales.filter("id > 1").watermark("id", "1 minute"),
    )


def test_not_a_timestamp() -> None:
    check_error(
        """
        WATERMARK_TYPE: a watermark needs a timestamp column, and `id` of sales is int
          at test_watermark.py:*: lambda: streams().sales.watermark("id", "1 minute"),
          hint: give it the type timestamp in the schema: id timestamp
          more: headrace error WATERMARK_TYPE
        """,
        lambda: streams().sales.watermark("id", "1 minute"),
    )
