"""kill -9 while a deploy to a running job is prepared, and while the job switches: it goes on as the old version, or ends as the new one."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from headrace.points import DEPLOY_CALL, DEPLOY_POINTS, FOLDER, RUNNING_POINTS, VARIABLE
from headrace.spark.checkpoint.lease import held_by
from tests.faults.test_kill_deploy import done, done_here
from tests.faults.test_kill_rebuild import JOB, add, assert_new, held

pytestmark = pytest.mark.usefixtures("spark")

FOLLOWING = JOB.replace("files_per_epoch=1", "follow=True")


def version(folder: Path, over: int, *, follow: bool = True) -> str:
    file = folder / f"over{over}{'' if follow else 'once'}.py"
    file.write_text((FOLLOWING if follow else JOB).format(over=over, folder=folder))
    return str(file)


@contextmanager
def running(folder: Path, file: str, point: str | None = None, *, ready: Callable[[], bool]) -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs a job, and has read what is there."""
    environment = {**os.environ, "HEADRACE_MASTER": "local[2]", "SPARK_DRIVER_MEMORY": "1g", FOLDER: str(folder)}
    if point is not None:
        environment[VARIABLE] = point
    with (folder / "log").open("ab") as log:
        arguments = [sys.executable, "-m", "headrace", "run", file, "--checkpoint", "state", "--partitions", "2"]
        child = subprocess.Popen(arguments, stdout=log, stderr=log, env=environment, cwd=folder, start_new_session=True)
    try:
        while not ready():
            assert child.poll() is None, (folder / "log").read_text()
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(0.1)
        yield child
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def has_read(folder: Path) -> bool:
    return sum(held(folder, "out").values()) == 7


SENDER = list(RUNNING_POINTS)[:2]
RECEIVER = [
    *list(RUNNING_POINTS)[2:],
    *(name for name in DEPLOY_POINTS if name != DEPLOY_CALL),
    *(f"{DEPLOY_CALL}#{number}" for number in (1, 40, 80)),
]


def sampled(points: list[str], *sample: str) -> list[object]:
    return [pytest.param(point, marks=() if point in sample else pytest.mark.full) for point in points]


@pytest.mark.parametrize("point", sampled(SENDER))
def test_the_deploy_is_killed(point: str, tmp_path: Path) -> None:
    """The job does not notice, and the next deploy removes what is left."""
    add(tmp_path, 0)
    with running(tmp_path, version(tmp_path, 3), ready=lambda: has_read(tmp_path)) as child:
        command = ("deploy", version(tmp_path, 6), "--checkpoint", str(tmp_path / "state"), "--partitions", "3")
        done(tmp_path, *command, point=f"{point}:kill", code=-signal.SIGKILL)
        assert (tmp_path / "state" / "candidate").is_dir() and child.poll() is None
        add(tmp_path, 1)
        done_here(*command)
        assert not (tmp_path / "state" / "candidate").exists() and child.poll() is None
        done_here("stop", str(tmp_path / "state"))
    continued(tmp_path, (0, 1))


@pytest.mark.parametrize("point", sampled(RECEIVER, "before the old queries end"))
def test_the_job_is_killed(point: str, tmp_path: Path) -> None:
    """The deploy is completed by the process that has asked for it."""
    add(tmp_path, 0)
    with running(tmp_path, version(tmp_path, 3), f"{point}:kill", ready=lambda: has_read(tmp_path)) as child:
        done_here("deploy", version(tmp_path, 6), "--checkpoint", str(tmp_path / "state"), "--partitions", "3")
        assert child.wait(300) == -signal.SIGKILL and (tmp_path / "acted").exists()
    assert held_by(tmp_path / "state") is None
    continued(tmp_path, (0,))


def continued(folder: Path, parts: tuple[int, ...]) -> None:
    run = ("run", version(folder, 6, follow=False), "--checkpoint", str(folder / "state"), "--no-flush")
    done_here(*run)
    assert_new(folder, parts)
    add(folder, 9)
    done_here(*run)
    assert_new(folder, (*parts, 9))
    assert json.loads((folder / "state" / "job.json").read_text())["partitions"] == 3
