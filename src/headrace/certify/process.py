"""A process that runs the copy of a job until it ends or is killed."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from headrace.certify.kills import Kill
from headrace.points import FOLDER, VARIABLE, Armed

PATIENCE = 600.0
"""Seconds after which a process counts as hanging."""

LOCAL, CLUSTER = "local[2]", "local-cluster[2,1,1024]"
"""The masters of copies, without executors of their own, and with two of one core and 1 GiB."""

CHILD = "headrace.certify.child"
"""The module that a process runs: a job, to the end of its input."""

_children: set[subprocess.Popen[bytes]] = set()


@dataclass(frozen=True)
class Place:
    """The folder of one run of a copy: its plan, checkpoint, sinks, passed points, log and temporary files."""

    folder: Path
    partitions: int
    master: str
    child: str = CHILD

    @property
    def sinks(self) -> Path:
        return self.folder / "sinks"

    @property
    def plan(self) -> Path:
        return self.folder / "plan.json"

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    @property
    def left(self) -> Path:
        return self.folder / "left"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    def points(self, number: int) -> Path:
        return self.folder / f"points-{number}"


@dataclass(frozen=True)
class Ended:
    """The end of a process. `code` is 0 if it read all input; `killed` is set if the kill, failure or outage took place; `running` is the
    seconds from its first epoch.
    """

    code: int
    killed: bool
    seconds: float
    running: float


def run(
    place: Place, number: int, kill: Kill | None = None, armed: Armed | None = None, outage: Callable[[], object] | None = None
) -> Ended:
    """Start process `number` at a place, kill it as ordered or start the `outage` where it sleeps, and wait for its end."""
    points = place.points(number)
    points.mkdir(parents=True)
    began = time.monotonic()
    with place.log.open("ab") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", place.child, *map(str, (place.plan, place.checkpoint, place.left, place.partitions))],
            env=_environment(place, points, armed),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # the process and its JVM are one group, to be killed together
        )
    _children.add(child)
    struck = False
    first: float | None = None
    try:
        while (code := child.poll()) is None and (now := time.monotonic()) - began < PATIENCE:
            if first is None and (points / "passed").exists():
                first = now
            if kill is not None and kill.after is not None and first is not None and not struck and now - first >= kill.after:
                struck = _strike(child, kill)
            if outage is not None and not struck and _asleep(child):
                outage()
                struck = True
            if struck and outage is not None:
                # repeatedly, because Python and its JVM may fall asleep at different times
                _wake(child)
            time.sleep(0.01 if kill is not None and kill.after is not None else 0.1)
    finally:
        # a JVM notices the death of its Python only after a moment
        _kill(child)
        child.wait()
        _children.discard(child)
    ended = time.monotonic()
    return Ended(1 if code is None else code, struck or (points / "acted").exists(), ended - began, ended - (first or ended))


def end_all() -> None:
    """End all running processes, whose results are no longer needed."""
    for child in tuple(_children):
        _kill(child)


def _kill(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def _asleep(child: subprocess.Popen[bytes]) -> bool:
    """Return whether a process is stopped at a point."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{child.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "T"
    return False


def _wake(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGCONT)


def _environment(place: Place, points: Path, armed: Armed | None) -> dict[str, str]:
    environment = {name: text for name, text in os.environ.items() if not name.startswith("HEADRACE_POINT")}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    environment["HEADRACE_MASTER"] = place.master
    environment.setdefault("SPARK_DRIVER_MEMORY", "1g")
    environment[FOLDER] = str(points)
    if armed is not None:
        environment[VARIABLE] = str(armed)
    return environment


def _strike(child: subprocess.Popen[bytes], kill: Kill) -> bool:
    """Kill the process and all it started, or one of its executors; return False if it has none now."""
    if not kill.of:
        _kill(child)
        return True
    executors = _executors(child.pid)
    if executors:
        with contextlib.suppress(ProcessLookupError):
            os.kill(random.choice(executors), signal.SIGKILL)
    return bool(executors)


def _executors(child: int) -> list[int]:
    """Return the executors of a run on `local-cluster`, which are processes of its group."""
    executors = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            if b"CoarseGrainedExecutorBackend" in (process / "cmdline").read_bytes() and os.getpgid(int(process.name)) == child:
                executors.append(int(process.name))
    return sorted(executors)
