from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.spark.lookups.shelf import Shelf


@pytest.fixture(scope="session")
def filled(spark: SparkSession) -> Shelf:
    return Shelf(spark)


@pytest.fixture
def shelf(filled: Shelf) -> Iterator[Shelf]:
    """The shelf, empty and whole."""
    filled.object.clear()
    yield filled
    filled.object.clear()
