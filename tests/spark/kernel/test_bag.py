"""The bag against a plain sorted map, in a JVM of its own without Spark: a million calls do not go through py4j.

One that fails names its seed.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.scale import FULL
from tests.spark.kernel.conftest import Trials


@pytest.fixture
def trial(trials: Trials) -> Trials:
    return partial(trials, "headrace.bag.BagTrial")


def test_small_bags(trial: Trials) -> None:
    """Up to ten entries: mostly one page, and back and forth between one and few."""
    trial("sequences", 1, 2000 if FULL else 100, 500, 10)


def test_bags_of_many_pages(trial: Trials) -> None:
    """Random calls, pages from 128 bytes to 4 KB, one page held up to 64, entries up to 20 KB, reopened and rolled back at any time."""
    trial("sequences", 10_000, 3000 if FULL else 150, 2000, 500)


def test_bags_of_thousands(trial: Trials) -> None:
    trial("sequences", 20_000, 200 if FULL else 4, 20_000, 20_000 if FULL else 5000)


def test_a_large_bag_reads_and_writes_few_pages(trial: Trials) -> None:
    trial("large", 1_000_000 if FULL else 50_000)


def test_taking_at_the_front_does_not_write_what_it_passes(trial: Trials) -> None:
    trial("queue", 1_000_000 if FULL else 20_000)


def test_pages_are_put_together_again(trial: Trials) -> None:
    trial("shrinking", 1_000_000 if FULL else 20_000)


@pytest.mark.full
def test_bags_in_sparks_state_store(trial: Trials, tmp_path: Path) -> None:
    """Two bags for each of several keys through state variables, over many epochs and from the checkpoint; then all of a key is removed."""
    trial("store", tmp_path / "state")


def test_what_a_caller_does_wrong_is_told(trial: Trials) -> None:
    trial("misuse")
