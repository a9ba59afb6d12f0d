"""TPC-H as a changing database: the 22 queries as one job, each what Spark batch answers after every epoch.

The sample loads scale factor 0.01 at once, `make test-all` loads 0.1 in ten, each with refreshes between and a restart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from bench.tpch.changing import Database
from bench.tpch.changing import Epoch as Changed
from bench.tpch.data import tables
from bench.tpch.queries import QUERIES
from bench.tpch.tables import SCHEMAS

from tests.spark.sql.changing import Change, Epoch
from tests.spark.sql.corpus import Query
from tests.spark.sql.oracle import run

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

ALL = {query.name: Query(query.name, query.text, query.batch) for query in QUERIES}


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def commit(epoch: Changed) -> dict[str, list[Change]]:
    return {name: [("-", row) for row in rows(change.taken)] + [("+", row) for row in rows(change.added)] for name, change in epoch.items()}


def epochs(scale: float, slices: int, share: float) -> list[Epoch]:
    """All slices with a refresh after each, and two epochs of one row."""
    database = Database(tables(scale), slices=slices)
    changes = [change for number in range(slices) for change in (database.load(number), database.refresh(share))]
    return [commit(epoch) for epoch in (*changes, database.one_row(), database.one_row())]


def test_there_are_22() -> None:
    assert [query.name for query in QUERIES] == [f"q{number:02}" for number in range(1, 23)]


def test_a_sample_of_a_small_database_stays_equal_to_batch(spark: SparkSession) -> None:
    sample = dict(list(ALL.items())[2::12])
    run(sample, SCHEMAS, epochs(0.01, 1, 0.02), restarts=[2], spark=spark)


@pytest.mark.full
def test_a_small_database_stays_equal_to_batch(spark: SparkSession) -> None:
    run(ALL, SCHEMAS, epochs(0.01, 2, 0.02), restarts=[3], spark=spark)


@pytest.mark.full
def test_a_larger_database_stays_equal_to_batch(spark: SparkSession) -> None:
    run(ALL, SCHEMAS, epochs(0.1, 10, 0.005), restarts=[7], spark=spark)
