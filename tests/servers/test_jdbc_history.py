"""Databases whose checkpoint, or who themselves, are not of the history that they should be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.servers.drill import Drill, restore
from tests.servers.tables import Place, rows

pytestmark = pytest.mark.usefixtures("spark", "here")


@pytest.mark.parametrize(
    ("ahead", "starts"), [(1, 2), pytest.param(4, 10, marks=pytest.mark.full), pytest.param(50, 1, marks=pytest.mark.full)]
)
def test_a_checkpoint_that_was_put_back(place: Place, tmp_path: Path, ahead: int, starts: int) -> None:
    drill = Drill(tmp_path, lambda stream: stream.write.jdbc(place.url, "t", name="out", **place.options), lambda: rows(place, "t"))
    restore(drill, ahead=ahead, starts=starts)
