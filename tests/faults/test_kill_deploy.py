"""kill -9 in the middle of `headrace deploy`: the checkpoint is that of one version or the other, and doing it again works."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import headrace as hr
from headrace import cli
from headrace.jvm.launch import SHORT_LIVED
from headrace.points import DEPLOY_CALL, DEPLOY_POINTS, FOLDER, VARIABLE

pytestmark = pytest.mark.usefixtures("spark")

JOB = """
import headrace as hr

class Count(hr.Program):
    seen = hr.List("{key}")

    def on_event(self, e):
        self.seen.append(e.k)
        hr.emit(k=self.key.k, n=self.seen.size())

rows = hr.read.files("{folder}/in", format="json", schema="k {key}", name="in")
counts = rows.key_by("k").process(Count, order="arrival").named("counts")
sinks = [counts.write.files("{folder}/out", format="json", name="out")]
if {deeper}:
    pairs = rows.group_by("k").agg(n="count(*)").group_by("n").agg(keys="count(*)").named("by_size")
    sinks.append(pairs.write.files("{folder}/sizes", format="json", mode="changes", name="sizes"))
job = hr.job("counts", *sinks)
"""


def version(folder: Path, number: int) -> Path:
    """The second one has wider keys, one more level and one more sink."""
    file = folder / f"v{number}.py"
    file.write_text(JOB.format(key="int" if number == 1 else "bigint", deeper=number > 1, folder=folder))
    return file


def add(folder: Path, name: str) -> None:
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / name).write_text("".join(f"{json.dumps({'k': k % 7})}\n" for k in range(70)))


def done(folder: Path, *command: str, point: str | None = None, code: int | None = 0) -> None:
    """Run a command to its end, as a process of its own. `code`: the exit code; None if the process may be killed or not."""
    java = f"{SHORT_LIVED} {os.environ.get('SPARK_SUBMIT_OPTS', '')}"
    environment = {**os.environ, "HEADRACE_MASTER": "local[2]", "SPARK_DRIVER_MEMORY": "1g", "SPARK_SUBMIT_OPTS": java, FOLDER: str(folder)}
    if point is not None:
        environment[VARIABLE] = point
    with (folder / "log").open("ab") as log:
        arguments = [sys.executable, "-m", "headrace", *command]
        child = subprocess.Popen(arguments, stdout=log, stderr=log, env=environment, cwd=folder, start_new_session=True)
        ended = child.wait(300)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
    assert ended == code or (code is None and ended in (0, -signal.SIGKILL)), (folder / "log").read_text()


def done_here(*command: str) -> None:
    """Run a command to its end in this process and its session, which costs less where nothing is killed."""
    assert cli.main(command) == 0


POINTS = [f"{name}:kill" for name in DEPLOY_POINTS if name != DEPLOY_CALL]
LATER = [f"{DEPLOY_CALL}#{number}:kill" for number in (1, 4, 30, 60, 90, 120, 150)]


# a rescale is killed before and after the switch in every run of the tests
@pytest.mark.full
@pytest.mark.parametrize("point", [*POINTS, *LATER])
def test_killed(point: str, tmp_path: Path) -> None:
    add(tmp_path, "1.json")
    state = str(tmp_path / "state")
    done_here("run", str(version(tmp_path, 1)), "--checkpoint", state, "--no-flush", "--partitions", "2")
    deploy = ("deploy", str(version(tmp_path, 2)), "--checkpoint", state, "--partitions", "3")
    done(tmp_path, *deploy, point=point, code=-signal.SIGKILL)
    assert (tmp_path / "acted").exists()
    if point == POINTS[0]:
        # the old version goes on as if nothing had been
        add(tmp_path, "2.json")
        done_here("run", str(version(tmp_path, 1)), "--checkpoint", state, "--no-flush")
    done_here(*deploy)
    add(tmp_path, "2.json" if point != POINTS[0] else "3.json")
    done_here("run", str(version(tmp_path, 2)), "--checkpoint", state)
    assert not [path.name for path in (tmp_path / "state").iterdir() if path.name in ("next", "switch")]
    rows = [json.loads(line) for file in hr.committed_files(tmp_path / "out") for line in file.read_text().splitlines()]
    most = 31 if point == POINTS[0] else 21
    assert sorted((row["k"], row["n"]) for row in rows) == [(k, n) for k in range(7) for n in range(1, most)]
    made = json.loads((tmp_path / "state" / "job.json").read_text())
    assert made["partitions"] == 3
