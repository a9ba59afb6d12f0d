"""Two processes with one job that writes to a server or a lake: the second takes over, and what wakes up late writes nothing."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.points import FOLDER, VARIABLE
from tests.faults.placed import Child, Place
from tests.faults.test_kill_lakes import EPOCHS, ROWS, lay_out
from tests.faults.test_standby import PATIENCE, until


@pytest.fixture
def place(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> Place:
    servers = {"kafka": "broker", "postgresql": "postgres", "mariadb": "mariadb"}
    return Place(kind, tmp_path, request.getfixturevalue(servers[kind]) if kind in servers else None)


@pytest.fixture
def children(place: Place) -> Iterator[list[Child]]:
    """The processes of a test, which end with it."""
    started: list[Child] = []
    yield started
    for child in started:
        child.over()


KINDS = ("kafka", "postgresql", "mariadb", "delta", "iceberg")
SLEEPS = ("in a task@added#3", "after staging@added#3", "before sink commit@summed#2", "in sink commit@summed#2")


@pytest.mark.full
@pytest.mark.parametrize(
    ("kind", "point"),
    [(kind, point) for kind in KINDS for point in SLEEPS],
)
def test_one_that_sleeps_is_replaced(place: Place, children: list[Child], point: str) -> None:
    rows = lay_out(place.folder)
    children.append(first := place.start("first", **{VARIABLE: f"{point}:pause"}))
    until((place.folder / "state" / "lock.1").exists, "the first holds the checkpoint")
    children.append(second := place.start("second", "--standby"))
    until(first.asleep, "the first sleeps")
    first.sent(signal.SIGSTOP)
    second.ended()
    assert "waiting to take over" in second.log_text()
    place.check(rows)
    first.sent(signal.SIGCONT)
    assert first.process.wait(PATIENCE) != 0
    assert re.search("LEASE_LOST|SINK_FENCED|KAFKA_FENCED", first.log_text()), first.log_text()[-3000:]
    place.check(rows)


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_one_that_is_killed_is_replaced(place: Place, children: list[Child]) -> None:
    rows = lay_out(place.folder)
    (points := place.folder / "points").mkdir()
    children.append(first := place.start("first", **{VARIABLE: "in sink commit@summed#2:hang", FOLDER: str(points)}))
    until((place.folder / "state" / "lock.1").exists, "the first holds the checkpoint")
    children.append(second := place.start("second", "--standby"))
    until((points / "acted").exists, "the first stands in the middle of a commit")
    until(lambda: "waiting to take over" in second.log_text(), "the second waits")
    added = place.rows("added", ("k", "id"), newest=False)
    assert 0 < len(added) < EPOCHS * ROWS
    first.sent(signal.SIGKILL)
    second.ended()
    place.check(rows)
