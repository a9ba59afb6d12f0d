"""kill -9 at a point of a deploy, of the epoch after it, or of a switch, for each pair of versions: its sinks end as those of the new version.

The points go round: each is that of every so many pairs. Only what is killed, or runs in mid-stream, is a process of its own.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from headrace.points import CALL, DEPLOY_CALL, DEPLOY_POINTS, POINTS, RUNNING_POINTS
from tests.faults.test_kill_deploy import done, done_here
from tests.faults.test_kill_deploy_running import running
from tests.spark.engine.pairs import AGAIN, PAIRS, STARTS, Pair, add, check_equal, held

pytestmark = [pytest.mark.full, pytest.mark.usefixtures("spark")]

JOB = """
import sys
from pathlib import Path

sys.path.insert(0, {root!r})
from tests.spark.engine.pairs import PAIRS

job = PAIRS[{name!r}].{version}(Path({folder!r}), Path({out!r}), follow={follow})
"""

ROOT = Path(__file__).parents[2]

OF_STATE = "after state commit"
"""A point that a deploy passes only if it makes state anew."""
IN_SHADOW = ("in a task", OF_STATE, "after staging", "before the record", "after the commit log")
IN_SWITCH = ("before the switch", *(f"{DEPLOY_CALL}#{number}" for number in (1, 4, 30)), "after the switch")
IN_RUN = [name for name in POINTS if name not in ("before offsets are logged", "after offsets are logged", CALL, "in sink commit")]
IN_SENDER = list(RUNNING_POINTS)[:2]
IN_RECEIVER = [*list(RUNNING_POINTS)[2:], *(name for name in DEPLOY_POINTS if name != DEPLOY_CALL), f"{DEPLOY_CALL}#1", f"{DEPLOY_CALL}#4"]

STOPPED = [name for name, pair in PAIRS.items() if not pair.refused]
IN_MID_STREAM = [name for name, pair in PAIRS.items() if not (pair.refused or pair.refused_running)]


def turn(name: str, points: Sequence[str]) -> str:
    return points[list(PAIRS).index(name) % len(points)]


def version(folder: Path, name: str, which: str, out: str = "out", *, follow: bool = False) -> str:
    file = folder / f"{which}_{out}{'_follow' if follow else ''}.py"
    file.write_text(JOB.format(root=str(ROOT), name=name, version=which, folder=str(folder), out=str(folder / out), follow=follow))
    return str(file)


def deploy(folder: Path, name: str, *, follow: bool = False) -> list[str]:
    pair = PAIRS[name]
    choices = [word for sink, how in pair.on_change.items() for word in ("--on-change", f"{sink}={how}")]
    partitions = ["--partitions", str(pair.partitions)] if pair.partitions is not None else []
    return ["deploy", version(folder, name, "new", follow=follow), "--checkpoint", str(folder / "state"), *choices, *partitions]


def killed(folder: Path, command: Sequence[str], point: str, *, passes: bool = True) -> None:
    """Run a command that is killed at a point. `passes`: whether it is known to pass it."""
    (folder / "acted").unlink(missing_ok=True)
    done(folder, *command, point=f"{point}:kill", code=-signal.SIGKILL if passes else None)
    assert (folder / "acted").exists() or not passes


def check_new(folder: Path, name: str) -> None:
    """Run the new version to the end of time, and another one from the start."""
    done_here("run", version(folder, name, "new"), "--checkpoint", str(folder / "state"))
    done_here("run", version(folder, name, "new", "afresh"), "--checkpoint", str(folder / "other"), "--partitions", "3")
    check_equal(PAIRS[name], folder / "out", folder / "afresh")


def points_of(pair: Pair) -> tuple[str, ...]:
    """The points of a deploy to a job that was stopped."""
    return () if pair.how == STARTS else (*IN_SHADOW, *IN_SWITCH) if pair.how == AGAIN else IN_SWITCH


@pytest.mark.parametrize("name", STOPPED)
def test_killed(name: str, tmp_path: Path) -> None:
    for part in (0, 1):
        add(tmp_path, part)
    state = str(tmp_path / "state")
    done_here("run", version(tmp_path, name, "old"), "--checkpoint", state, "--no-flush", "--partitions", "3")
    if points := points_of(PAIRS[name]):
        point = turn(name, points)
        killed(tmp_path, deploy(tmp_path, name), point, passes=point != OF_STATE)
    done_here(*deploy(tmp_path, name))
    add(tmp_path, 2)
    killed(tmp_path, ("run", version(tmp_path, name, "new"), "--checkpoint", state), turn(name, IN_RUN))
    check_new(tmp_path, name)


@pytest.mark.parametrize("name", IN_MID_STREAM)
def test_killed_in_mid_stream(name: str, tmp_path: Path) -> None:
    """If the process that deploys is killed, the job goes on; if that of the job, the other one completes the deploy."""
    add(tmp_path, 0)
    point = turn(name, (*IN_SENDER, *IN_RECEIVER))
    in_job = point in IN_RECEIVER
    old = version(tmp_path, name, "old", follow=True)
    with running(tmp_path, old, f"{point}:kill" if in_job else None, ready=lambda: bool(held(tmp_path / "out" / "stays"))) as child:
        if in_job:
            done_here(*deploy(tmp_path, name, follow=True))
            assert child.wait(300) == -signal.SIGKILL and (tmp_path / "acted").exists()
        else:
            killed(tmp_path, deploy(tmp_path, name, follow=True), point)
            add(tmp_path, 1)
            done_here(*deploy(tmp_path, name, follow=True))
            assert child.poll() is None
            done_here("stop", str(tmp_path / "state"))
    add(tmp_path, 2)
    check_new(tmp_path, name)
