"""schema: a stream's columns with their types."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from tests.spark.verbs.spelling import streams


def test_types_are_those_of_spark(spark: SparkSession) -> None:
    stream = streams().sales.group_by("shop").agg(n="count(*)", s="sum(amount)", m="avg(amount)")
    assert [(field.name, field.type.text) for field in stream.schema.fields] == [
        ("shop", "string"),
        ("n", "bigint"),
        ("s", "bigint"),
        ("m", "double"),
    ]


def test_a_function_that_spark_does_not_know(spark: SparkSession) -> None:
    with pytest.raises(hr.HeadraceError, match="uper"):
        _ = streams().sales.select(x="uper(shop)").schema
