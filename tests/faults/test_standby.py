"""Two processes with one job: the second waits, takes over from a killed or sleeping first one, and what wakes up late writes nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import headrace as hr
from headrace.points import VARIABLE
from tests.faults.child import job
from tests.faults.test_kill import CHILD, check, children, lay_out

PATIENCE = 120


def start(folder: Path, log: Path, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
    variables = {**os.environ, "HEADRACE_MASTER": "local[2]", "SPARK_DRIVER_MEMORY": "1g", "HEADRACE_LEASE": "10 seconds", **environment}
    with log.open("wb") as out:
        return subprocess.Popen(
            [sys.executable, str(CHILD), str(folder), *arguments], stdout=out, stderr=out, env=variables, start_new_session=True
        )


def state_of(process: int) -> str:
    """T: it is stopped; Z or nothing: it is gone."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""


def until(seen: object, what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not seen():  # type: ignore[operator]
        assert time.monotonic() < end, what
        time.sleep(0.05)


def ended(child: subprocess.Popen[bytes], log: Path) -> None:
    assert child.wait(PATIENCE) == 0, log.read_text()[-3000:]


def woken(child: subprocess.Popen[bytes]) -> None:
    for process in (*children(child.pid), child.pid):
        os.kill(process, signal.SIGCONT)


def cleared(child: subprocess.Popen[bytes]) -> None:
    for process in (*children(child.pid), child.pid):
        if state_of(process):
            os.kill(process, signal.SIGKILL)
    child.wait(PATIENCE)


@pytest.mark.usefixtures("spark")
def test_the_second_takes_over_from_one_that_was_killed(tmp_path: Path) -> None:
    expected = lay_out(tmp_path)
    first = start(tmp_path, tmp_path / "first", **{VARIABLE: "before sink commit@out#3:hang"})
    until((tmp_path / "state" / "lock.1").exists, "the first holds the checkpoint")
    second = start(tmp_path, tmp_path / "second", "--standby")
    try:
        until(lambda: b"waiting to take over" in (tmp_path / "second").read_bytes(), "the second waits")
        who = f"killed: the checkpoint {tmp_path / 'state'} is in use by process {first.pid} on {os.uname().nodename}"
        assert who in (tmp_path / "second").read_text()
        with pytest.raises(hr.CheckpointError, match="CHECKPOINT_IN_USE"):
            job(tmp_path).run(checkpoint=tmp_path / "state", progress=False)
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
        ended(second, tmp_path / "second")
    finally:
        cleared(first)
        cleared(second)
    check(tmp_path, expected)


@pytest.mark.parametrize(
    "point",
    [
        pytest.param("before sink commit@out#3", id="before the commit", marks=pytest.mark.full),
        pytest.param("in sink commit@twice#3", id="in the commit", marks=pytest.mark.full),
        pytest.param("after sink commit@out#3", id="between two sinks", marks=pytest.mark.full),
        pytest.param("before the record#3", id="before the record", marks=pytest.mark.full),
        pytest.param("after staging@out#3", id="in a task", marks=pytest.mark.full),
        pytest.param("before the commit log#3", id="before the commit log", marks=pytest.mark.full),
        pytest.param("after offsets are logged#3", id="before the tasks", marks=pytest.mark.full),
        pytest.param("after the commit log#2", id="between two epochs", marks=pytest.mark.full),
    ],
)
def test_one_that_sleeps_is_replaced_and_writes_nothing_when_it_wakes_up(tmp_path: Path, point: str) -> None:
    expected = lay_out(tmp_path)
    first = start(tmp_path, tmp_path / "first", **{VARIABLE: f"{point}:pause"})
    try:
        until(lambda: state_of(first.pid) == "T", "the first sleeps")
        second = start(tmp_path, tmp_path / "second", "--standby")
        ended(second, tmp_path / "second")
        check(tmp_path, expected)
        woken(first)
        assert first.wait(PATIENCE) != 0
        assert "LEASE_LOST" in (tmp_path / "first").read_text(), (tmp_path / "first").read_text()[-3000:]
    finally:
        cleared(first)
    check(tmp_path, expected)


@pytest.mark.full
@pytest.mark.parametrize("point", ["after the commit log#2", "after offsets are logged#3"])
def test_one_that_wakes_up_while_the_other_begins_leaves_the_epoch_to_it(tmp_path: Path, point: str) -> None:
    expected = lay_out(tmp_path)
    first = start(tmp_path, tmp_path / "first", **{VARIABLE: f"{point}:pause"})
    second = None
    try:
        until(lambda: state_of(first.pid) == "T", "the first sleeps")
        # It has seen what there is, and is about to log an epoch of its own, or to begin the tasks of the one that is logged.
        begins = "before offsets are logged" if point.startswith("after the commit") else "in a task@out"
        second = start(tmp_path, tmp_path / "second", "--standby", **{VARIABLE: f"{begins}:pause"})
        until(lambda: state_of(second.pid) == "T", "the second sleeps")
        woken(first)
        assert first.wait(PATIENCE) != 0
        assert "LEASE_LOST" in (tmp_path / "first").read_text(), (tmp_path / "first").read_text()[-3000:]
        woken(second)
        ended(second, tmp_path / "second")
    finally:
        cleared(first)
        if second is not None:
            cleared(second)
    check(tmp_path, expected)
