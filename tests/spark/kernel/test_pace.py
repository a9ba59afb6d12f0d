"""The rests of a task that leaves cores to others."""

from __future__ import annotations

import pytest

from tests.spark.kernel.conftest import Trials


@pytest.mark.parametrize(("share", "rows", "work"), [(0.25, 2_000, 1_000_000), (0.5, 7, 300_000_000), (0.9, 100_000, 70_000)])
def test_work_and_rest(trials: Trials, share: float, rows: int, work: int) -> None:
    worked, rested = map(int, trials("headrace.PaceTrial", share, rows, work).split())
    assert worked / (worked + rested) == pytest.approx(share, rel=0.01)


def test_short_work_has_no_rest(trials: Trials) -> None:
    assert trials("headrace.PaceTrial", 0.25, 19, 1_000_000).split() == ["19000000", "0"]
