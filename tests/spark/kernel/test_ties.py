"""First rows with ties against a plain list of rows, in a JVM of its own without Spark; one that fails names its seed."""

from __future__ import annotations

import pytest

from tests.scale import FULL
from tests.spark.kernel.conftest import Trials

MAIN = "headrace.operator.partition.TiesTrial"


def test_random_histories(trials: Trials) -> None:
    """Rows that come and go, often alike, by columns with nulls, NaN, both zeros and a collation; each epoch by an instance of its own."""
    trials(MAIN, "random", 1, 20_000 if FULL else 300)


@pytest.mark.full
def test_what_an_epoch_of_a_large_partition_costs(trials: Trials) -> None:
    """It sends what differs and reads a few pages, whether a row comes within a tie or pushes out a thousand."""
    trials(MAIN, "large", 1_000_000 if FULL else 50_000)
