"""Every query of the corpus stays what Spark batch answers, over random changes and a restart.

A fixed sample runs each time; all of them are for `make test-all`. The queries were written from Spark's SQL reference, not from what
headrace can do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.spark.sql.batch import Batch
from tests.spark.sql.changing import random_epochs
from tests.spark.sql.corpus import Query, corpus
from tests.spark.sql.oracle import differences, run
from tests.spark.sql.same import differing
from tests.spark.sql.tables import SCHEMAS, UNTIED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES = corpus()
EPOCHS, RESTART = 6, 3
GROUP, SAMPLE = 25, 14
GROUPS = [QUERIES[start : start + GROUP] for start in range(0, len(QUERIES), GROUP)]


def named(queries: list[Query]) -> dict[str, Query]:
    return {query.name: query for query in queries}


def test_there_are_enough_and_no_name_is_used_twice() -> None:
    assert len(named(QUERIES)) == len(QUERIES) >= 160


def test_the_oracle_notices_a_wrong_answer(spark: SparkSession) -> None:
    wrong = Query("wrong", "SELECT id, n FROM sales", "SELECT id, n FROM sales WHERE id IS NULL")
    right = Query("right", "SELECT id, n FROM sales")
    refused = Query("refused", "SELECT id, rand() FROM sales")
    reported = differences(named([wrong, right, refused]), SCHEMAS, random_epochs(1, 3), spark=spark)
    assert {(one.query, bool(one.missing), bool(one.extra), one.report[:8]) for one in reported} == {
        ("wrong", False, True, ""),
        ("refused", False, False, "refused:"),
    }


def test_a_sample_stays_equal_to_batch(spark: SparkSession) -> None:
    sample = QUERIES[7 :: len(QUERIES) // SAMPLE]
    run(named(sample), SCHEMAS, random_epochs(1, EPOCHS), restarts=[RESTART], spark=spark)


@pytest.mark.full
@pytest.mark.parametrize("seed", [2, 3])
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: f"{group[0].name}-{group[-1].name}")
def test_all_stay_equal_to_batch(group: list[Query], seed: int, spark: SparkSession) -> None:
    run(named(group), SCHEMAS, random_epochs(seed, EPOCHS), restarts=[RESTART], spark=spark)


@pytest.mark.full
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: f"{group[0].name}-{group[-1].name}")
def test_an_oracle_that_completes_ties_answers_the_query(group: list[Query], spark: SparkSession) -> None:
    """Where rows are all different and their order is settled, the oracle's text and the query's own answer alike in batch."""
    with Batch(spark, SCHEMAS) as batch:
        batch.hold(UNTIED)
        wrong = {}
        for query in group:
            if query.oracle is not None:
                missing, extra = differing(batch.answer(query.oracle), batch.answer(query.text), query.tolerance)
                if missing or extra:
                    wrong[query.name] = (missing, extra)
        assert wrong == {}
