"""Equal rows that become one before they are sent: their net, and when that is given up."""

from __future__ import annotations

from tests.scale import FULL
from tests.spark.kernel.conftest import Trials

TRIALS = 600 if FULL else 40


def test_random_rows(trials: Trials) -> None:
    trials("headrace.wire.CombinedTrial", "random", 1, TRIALS)


def test_where_rows_differ_it_is_given_up(trials: Trials) -> None:
    trials("headrace.wire.CombinedTrial", "pays")
