"""Many short epochs with restarts and kills among them: each row once, and a checkpoint that does not grow."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.faults.soak import check, soak


@pytest.mark.full
def test_a_hundred_epochs_and_some(tmp_path: Path) -> None:
    # more than are kept
    soak(tmp_path, epochs=120, stops=1, kills=1)
    check(tmp_path, epochs=120)


@pytest.mark.full
def test_fifty_thousand_epochs(tmp_path: Path) -> None:
    """In the folder that HEADRACE_SOAK names it goes on where it was stopped."""
    folder = Path(os.environ.get("HEADRACE_SOAK", tmp_path))
    ends = soak(folder, epochs=50_000, stops=20, kills=20)
    check(folder, epochs=50_000)
    early, late = ([end.files for end in ends if low <= end.epoch < high] for low, high in ((1_000, 20_000), (20_000, 50_001)))
    assert max(late) <= 1.25 * max(early)
