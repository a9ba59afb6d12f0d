"""kill -9 in the epoch that replaces the rows of a sink."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.test_kill_deploy import done
from tests.faults.test_kill_pairs import check_new, deploy, killed, version
from tests.spark.engine.pairs import add, held

pytestmark = pytest.mark.full


@pytest.mark.parametrize("point", ["before sink commit", "in sink commit", "after sink commit"])
def test_killed_while_rows_are_replaced(point: str, tmp_path: Path) -> None:
    """A reader then has the old rows or the new ones."""
    name = "windows that close, replaced"
    for part in (0, 1):
        add(tmp_path, part)
    for which, out, state in (("old", "out", "state"), ("new", "afresh", "other")):
        done(tmp_path, "run", version(tmp_path, name, which, out), "--checkpoint", state, "--no-flush", "--partitions", "3")
    old, new = held(tmp_path / "out" / "closed"), held(tmp_path / "afresh" / "closed")
    done(tmp_path, *deploy(tmp_path, name))
    killed(tmp_path, ("run", version(tmp_path, name, "new"), "--checkpoint", "state", "--no-flush"), f"{point}@closed_out")
    assert held(tmp_path / "out" / "closed") == (new if point == "after sink commit" else old) != {}
    add(tmp_path, 2)
    check_new(tmp_path, name)
