"""The state of a level over many epochs, in a JVM of its own: Spark's maintenance, which goes by the clock, never comes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.scale import FULL
from tests.spark.kernel.conftest import Trials


@pytest.mark.full
def test_the_lineage_of_a_store_stays_short(trials: Trials, tmp_path: Path) -> None:
    """Unbounded, it has an entry for each epoch, and its header overflows after 864."""
    report = trials("org.apache.spark.sql.execution.streaming.state.headrace.LineageTrial", "bounded", tmp_path, 20_000 if FULL else 450)
    longest, files = map(int, re.findall(r"lineage (\d+) files (\d+)", report)[0])
    assert longest <= 400  # less than there are epochs
    assert files <= 1_500


# Through the whole engine, at a hundred epochs: tests/spark/engine/test_fast_epochs.py.
@pytest.mark.full
def test_a_store_whose_lineage_is_too_long_is_freed(trials: Trials, tmp_path: Path) -> None:
    report = trials("org.apache.spark.sql.execution.streaming.state.headrace.LineageTrial", "stuck", tmp_path)
    assert int(re.findall(r"stuck at version (\d+)", report)[0]) > 800
