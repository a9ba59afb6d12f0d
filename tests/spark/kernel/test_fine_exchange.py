"""Many rows reach the sort before a level in parts, in a JVM of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.kernel.conftest import Trials


@pytest.mark.full
def test_the_parts_of_a_partition_are_the_partition(trials: Trials, tmp_path: Path) -> None:
    trials("org.apache.spark.sql.headrace.FineExchangeTrial", tmp_path / "files")
