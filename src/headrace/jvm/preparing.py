"""`headrace prepare` in the background: the first job of a machine starts it, so that later starts are prepared.

It runs once at a time, as a process of its own, in idle processor time. It ends with its work, not with the job. A failure is kept in a
file and not tried again. HEADRACE_PREPARE=never turns it off.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.jvm import archive, cache, launch
from headrace.jvm.java import Java

SWITCH = "HEADRACE_PREPARE"
PATIENCE = 900
"""The seconds after which a background process gives up, on a machine that is always busy."""
_MEMORY, _DISK = 2 << 30, 1 << 30
"""The bytes that must be free: in memory for a second Spark, on disk for the archive while it is made."""

_unprepared: Java | None = None


def started_without(java: Java) -> None:
    """Remember that this process started its JVM without an archive."""
    global _unprepared
    _unprepared = java


def later() -> None:
    """Begin in the background, if this process started unprepared and nothing prevents it. Never fails, never waits."""
    global _unprepared
    java, _unprepared = _unprepared, None
    if java is None or os.environ.get(SWITCH) == "never":
        return
    with contextlib.suppress(OSError, HeadraceError):
        if not archive.place(java).is_file() and not failure(java).is_file() and _room():
            # A daemon: it waits only so that a long job keeps no zombie process.
            threading.Thread(target=_begin, name="headrace prepare", daemon=True).start()


def failure(java: Java) -> Path:
    """Return the file with the reason why preparing in the background failed."""
    return archive.place(java).with_suffix(".failed")


@contextlib.contextmanager
def alone(*, wait: bool) -> Iterator[bool]:
    """Return whether this is the one process that prepares. Removes what a killed one left behind."""
    folder = cache.folder("classes")
    with open(folder.with_suffix(".lock"), "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        for old in folder.glob("making-*"):
            shutil.rmtree(old, ignore_errors=True)
        yield True


def step_back() -> None:
    """Run this process and its children in idle processor time, and end them as after an error on a signal or after PATIENCE."""
    os.nice(19)
    if hasattr(os, "SCHED_IDLE"):
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, lambda *_: sys.exit(1))
    signal.alarm(PATIENCE)


def _room() -> bool:
    cache.folder("classes")
    return os.access(cache.folder("classes"), os.W_OK) and shutil.disk_usage(cache.root()).free >= _DISK and launch.free_memory() >= _MEMORY


def _begin() -> None:
    # That process inherits nothing of this job: no master, no point to end at, no settings.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HEADRACE_") or name == "HEADRACE_CACHE"}
    source = str(Path(__file__).resolve().parents[2])
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (source, environment.get("PYTHONPATH"))))
    with contextlib.suppress(OSError, HeadraceError):
        subprocess.Popen(
            [sys.executable, "-m", "headrace", "prepare", "--in-background"],
            cwd=cache.folder("classes"),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ).wait()
