"""Queries and DataFrames lifted to plain trees.

The oracle is Spark itself: a tree is rebuilt as a DataFrame (`rebuilt.py`) over the same rows and must give what Spark answers to the
query. What a tree looks like is compared in a few places only, where the shape is the point.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.spark.lift.lifting import lift
from tests.spark.lift.rebuilt import Node, Rebuilt
from tests.spark.lift.tables import QUERIES, SCHEMAS, frames

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[dict[str, DataFrame]]:
    tables = frames(spark)
    yield tables
    for name in tables:
        spark.catalog.dropTempView(name)


def rows(frame: DataFrame) -> list[str]:
    return sorted(repr(plain(tuple(row))) for row in frame.collect())


def plain(value: Any) -> Any:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else float(f"{value:.12g}") + 0.0
    if isinstance(value, tuple | list):
        return tuple(map(plain, value))
    if isinstance(value, dict):
        return sorted((repr(plain(k)), plain(v)) for k, v in value.items())
    return value


def tree(spark: SparkSession, query: str) -> Node:
    answer = lift(spark, query, SCHEMAS)
    assert "tree" in answer, answer
    lifted: Node = answer["tree"]
    return lifted


@pytest.mark.parametrize("name", QUERIES)
def test_means_what_the_query_means(spark: SparkSession, tables: dict[str, DataFrame], name: str) -> None:
    answer = lift(spark, QUERIES[name], SCHEMAS)
    assert "tree" in answer, answer
    assert answer == lift(spark, QUERIES[name], SCHEMAS), "lifted again, all names are the same"
    original, rebuilt = spark.sql(QUERIES[name]), Rebuilt(spark, tables).frame(answer["tree"])
    assert [f.dataType.simpleString() for f in rebuilt.schema] == [f.dataType.simpleString() for f in original.schema]
    schema = spark.createDataFrame([], answer["schema"]).schema
    assert [(f.name, f.dataType.simpleString()) for f in schema] == [(f.name, f.dataType.simpleString()) for f in rebuilt.schema]
    assert rows(rebuilt) == rows(original)
