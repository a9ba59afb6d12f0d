"""A job that is killed in its very first epoch, when nothing of it is there yet."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from headrace.points import OF_SINKS, POINTS, VARIABLE
from tests.faults import places
from tests.faults.placed import Place
from tests.faults.test_kill_lakes import lay_out
from tests.faults.test_standby import PATIENCE

pytestmark = pytest.mark.usefixtures("spark")

PLACES = [f"{name}@summed" if name in OF_SINKS else name for name in POINTS]


@pytest.mark.parametrize("point", [PLACES[0], *(pytest.param(place, marks=pytest.mark.full) for place in PLACES[1:])])
def test_killed_in_the_first_epoch(tmp_path: Path, point: str) -> None:
    rows = lay_out(tmp_path)
    place = Place("delta", tmp_path, None)
    first = place.start("first", **{VARIABLE: f"{point}:kill"})
    try:
        assert first.process.wait(PATIENCE) == -signal.SIGKILL, first.log_text()[-3000:]
    finally:
        first.over()
    places.job(tmp_path, place.kind, place.address).run(checkpoint=tmp_path / "state", progress=False)
    place.check(rows)
