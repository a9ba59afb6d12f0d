from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.spark.lookups.shelf import Shelf


@pytest.fixture(scope="session")
def filled(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return Shelf(spark, tmp_path_factory.mktemp("shelf"))


@pytest.fixture
def shelf(filled: Shelf) -> Iterator[Shelf]:
    """The shelf, empty and whole."""
    filled.object.clear()
    yield filled
    filled.object.clear()
