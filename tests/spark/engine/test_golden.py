"""What released versions wrote is read: their plans, and their checkpoints, which go on as if nothing had happened."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests import golden


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("case", golden.checkpoints(), ids=lambda case: f"{case.parents[1].name}-{case.name}")
def test_a_golden_checkpoint_goes_on(case: Path, tmp_path: Path) -> None:
    kept, anew = tmp_path / "kept", tmp_path / "anew"
    shutil.copytree(case, kept)
    anew.mkdir()
    *before, last = golden.runs(case)
    golden.run(last, kept, last=True)
    for step in before:
        golden.run(step, anew, last=False)
    before_the_last = golden.results(anew)
    golden.run(last, anew, last=True)
    assert golden.results(kept) == golden.results(anew)
    # else a checkpoint that was begun anew, or never asked, would do as well
    assert golden.results(case) == before_the_last != golden.results(kept)
