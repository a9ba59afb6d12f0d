"""explain: what a stream is made of, and what is known about it. Plans of many queries: tests/spark/layers."""

from __future__ import annotations

from pyspark.sql import SparkSession

from tests.spark.verbs.spelling import streams


def test_a_line_for_each_operator(spark: SparkSession) -> None:
    text = str(streams().sales.group_by("shop").agg(n="count(*)").explain())
    assert "source  sales: memory (0 rows)" in text
    assert "aggregate by shop: count(*) AS n" in text


def test_verbose_has_facts_and_columns(spark: SparkSession) -> None:
    text = str(streams().sales.group_by("shop").agg(n="count(*)").explain(verbose=True))
    assert "state: grows with the number of groups: a row of numbers for a group of shop" in text
