"""The state of a level over many epochs, in a JVM of its own: Spark's maintenance, which goes by the clock, never comes."""

from __future__ import annotations

import re
from pathlib import Path

from tests.scale import FULL
from tests.spark.kernel.conftest import Trials


def test_the_lineage_of_a_store_stays_short(trials: Trials, tmp_path: Path) -> None:
    """Its header would overflow after 864 epochs."""
    said = trials("org.apache.spark.sql.execution.streaming.state.headrace.LineageTrial", "bounded", tmp_path, 20_000 if FULL else 900)
    longest, files = map(int, re.findall(r"lineage (\d+) files (\d+)", said)[0])
    assert longest <= 400
    assert files <= 1_500


def test_a_store_whose_lineage_is_too_long_is_freed(trials: Trials, tmp_path: Path) -> None:
    said = trials("org.apache.spark.sql.execution.streaming.state.headrace.LineageTrial", "stuck", tmp_path)
    assert int(re.findall(r"stuck at version (\d+)", said)[0]) > 800
