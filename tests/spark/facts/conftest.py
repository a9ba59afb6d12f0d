"""One run of all cases for all tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.spark.facts.run import Ran, run, run_again, run_now

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="package")
def runs(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> list[Ran]:
    return [one(spark, tmp_path_factory.mktemp("facts")) for one in (run_now, run)]


@pytest.fixture(scope="package")
def again(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return run_again(spark, tmp_path_factory.mktemp("again"))
