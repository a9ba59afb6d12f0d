"""Witnesses of which none can be left out."""

from __future__ import annotations

import pytest
from pyspark.sql import Row, SparkSession

from headrace.spark.why.origin import least
from tests.spark.sql.batch import small

CASES = {
    "one": ([0b1], 0b1, 1),
    "each its own": ([0b001, 0b010, 0b100], 0b111, 3),
    "one is enough": ([0b01, 0b11, 0b10], 0b11, 1),
    "the first is superfluous": ([0b0011, 0b0101, 0b1010], 0b1111, 2),
    "no aggregate": ([0, 0, 0], 0, 1),
}


@pytest.mark.parametrize("name", CASES)
def test_least(spark: SparkSession, name: str) -> None:
    from pyspark.sql import functions as f

    masks, full, count = CASES[name]
    with small(spark):
        rows = spark.createDataFrame(
            [Row(rows=[Row(row=Row(id=n), mask=mask) for n, mask in enumerate(masks)])],
            "rows array<struct<row: struct<id: int>, mask: bigint>>",
        )
        (left,) = rows.select(least(f.col("rows"), full)).collect()[0]
    kept = [one["mask"] for one in left]
    assert len(kept) == count
    union = 0
    for mask in kept:
        union |= mask
    assert union == full
