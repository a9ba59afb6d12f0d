"""TPC-DS as a changing database: its 99 queries, in jobs of ten, each what Spark batch answers after every epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.spark.sql.corpus import Query
from tests.spark.sql.oracle import differences, message
from tests.spark.sql.tpcds import benchmark, epochs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REFUSED: dict[str, str] = {}
"""Queries that headrace refuses, with its reason."""

AT_ONCE = 10
SAMPLE = (12, 95)
"""Queries over the web's sales, which are few."""


def check(numbers: list[int], spark: SparkSession) -> None:
    tpcds = benchmark()
    queries: dict[str, str | Query] = {tpcds.queries[number].name: tpcds.queries[number] for number in numbers}
    tables = [name for name in tpcds.schemas if any(name in tpcds.queries[number].tables([name]) for number in numbers)]
    schemas = {name: tpcds.schemas[name] for name in tables}
    wrong = differences(queries, schemas, epochs(tpcds, tables, numbers[0]), restarts=[2], spark=spark)
    refused = {one.query: one.report for one in wrong if one.report.startswith("refused: ")}
    assert refused == {name: f"refused: {why}" for name, why in REFUSED.items() if name in queries}
    rest = [one for one in wrong if one.query not in refused]
    assert not rest, message(rest)


def test_there_are_99() -> None:
    assert sorted(benchmark().queries) == list(range(1, 100))


def test_a_sample_stays_equal_to_batch(spark: SparkSession) -> None:
    check(list(SAMPLE), spark)


@pytest.mark.full
@pytest.mark.parametrize("first", range(1, 100, AT_ONCE))
def test_all_stay_equal_to_batch(first: int, spark: SparkSession) -> None:
    check(list(range(first, min(first + AT_ONCE, 100))), spark)
