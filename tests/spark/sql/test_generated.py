"""Queries that are made up, over the tables of the corpus: joins, filters, groups, windows, unions and subqueries in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, seed
from hypothesis import strategies as st

from tests.scale import runs
from tests.spark.sql.changing import random_epochs
from tests.spark.sql.generated import query
from tests.spark.sql.oracle import run
from tests.spark.sql.tables import SCHEMAS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AT_ONCE = 8
"""Queries of one job: most of what a case costs is the job, not its queries."""

pytestmark = pytest.mark.usefixtures("spark")
SEEDS = st.integers(0, 2**32)


@seed(20260101)
@runs(1, 25)
@given(seeds=st.lists(SEEDS, min_size=AT_ONCE, max_size=AT_ONCE, unique=True), changes=SEEDS)
def test_generated_queries_stay_equal_to_batch(spark: SparkSession, seeds: list[int], changes: int) -> None:
    texts = [query(one) for one in seeds]
    run({f"query {one}: {text}": text for one, text in zip(seeds, texts, strict=True)}, SCHEMAS, random_epochs(changes, 4), restarts=[2])
