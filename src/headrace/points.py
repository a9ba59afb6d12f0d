"""Named points of a run at which a test, or `headrace certify`, kills, stops or fails the process. A point that is not armed does nothing.

HEADRACE_POINT in the environment of the process arms a point: `NAME[@OF][#N]:ACTION`. OF is the sink or query for which the point is
passed. N is the number of the passing, by default 1. ACTION is `kill` (kill -9), `hang` (until the process is ended), `pause` (the whole
process sleeps until SIGCONT) or `fail`.
HEADRACE_POINT_FOLDER names a folder. Each passing adds a line to its file `passed`, and a point that acts creates the file `acted`. If that
file exists, no point acts: of several processes with the same environment, only one acts, once.

The kernel has the same points in `headrace.point.Point`, and so has each executor. A `kill` in the driver's JVM ends its Python too.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

VARIABLE = "HEADRACE_POINT"
FOLDER = "HEADRACE_POINT_FOLDER"
OWNER = "HEADRACE_POINT_OWNER"
"""The process that started a JVM, which the JVM's points kill too; set while the JVM starts."""
ACTIONS = ("kill", "hang", "pause", "fail")

POINTS: Mapping[str, str] = {
    "before offsets are logged": "Spark has chosen the epoch's input and has not logged it.",
    "after offsets are logged": "The epoch's input is logged: a restart repeats this epoch on the same input.",
    "in a task": "A task has passed its first row to the sink's writer.",
    "before state commit": "A task has worked on its state and has not committed the changes.",
    "after state commit": "A task has committed the changes of its state; other tasks of the epoch may not have.",
    "after staging": "A task has passed all its rows to the sink's writer. They are staged (in Kafka, committed).",
    "before sink commit": "All tasks are done and the sink is about to commit. The sinks before it have committed the epoch.",
    "at a call in sink commit": "The sink's commit is about to call something outside the process (a file system, a server), or to wait.",
    "in sink commit": "The sink's commit is between two of its steps, if it has more than one.",
    "after sink commit": "The sink has committed the epoch, and the next sink has not begun to.",
    "before the record": "All sinks have committed; the record of counts does not have the epoch yet.",
    "after the record": "The record has the epoch; the call of the driver has not returned to Spark.",
    "before the commit log": "Spark has the result of the commit and has not logged the epoch as committed.",
    "after the commit log": "The epoch is committed, and the next has not begun.",
}
"""All points, in the order in which an epoch passes them. A point of sinks is passed for each sink."""

CALL = "at a call in sink commit"
"""The only point that an epoch passes many times, so a kill there has a number."""

DEPLOY_CALL = "at a call in a deploy"
RUNNING_POINTS: Mapping[str, str] = {
    "after a cut": "A deploy to a running job has a copy of its checkpoint, and prepares the version.",
    "before the command": "The version is prepared; the process that runs the job does not know of it.",
    "before the old queries end": "That process has made all parts of the new version.",
    "before the new queries start": "The checkpoint has the new version, and no query runs.",
}
"""The further points of a deploy to a running job, in the order in which it passes them: the first two in the process that deploys."""
DEPLOY_POINTS: Mapping[str, str] = {
    "before the switch": "A deploy has made all parts of the new version; the checkpoint still has the old one.",
    "after the switch": "The new version counts, and its parts are not in place yet.",
    DEPLOY_CALL: "A deploy is about to change something on the disk.",
}
"""The points of a deploy, which no epoch passes."""
FORK_POINTS: Mapping[str, str] = {
    "after the copy": "A fork has copied the checkpoint of its parent.",
    "before the fork": "The checkpoint of the fork is complete, and not in its place yet.",
}
"""The points of a fork, in the order in which it passes them, around those of its deploy."""

OF_SINKS = ("in a task", "after staging", "before sink commit", CALL, "in sink commit", "after sink commit")
"""The points that are passed for a sink, by its name; the others are passed for a query."""


class Injected(Exception):
    """The failure of a point that was armed to fail."""


@dataclass(frozen=True)
class Armed:
    """A point and its action.

    >>> Armed.parse("before sink commit@out#3:kill")
    Armed(name='before sink commit', of='out', passing=3, action='kill')
    >>> str(Armed("in a task", "out"))
    'in a task@out#1:kill'
    """

    name: str
    of: str = ""
    passing: int = 1
    action: str = "kill"

    @classmethod
    def parse(cls, text: str) -> Armed:
        match = re.fullmatch(r"([^@#:]+)(?:@([^:]+?))?(?:#(\d+))?:(\w+)", text)
        if match is None or match[4] not in ACTIONS:
            raise ValueError(f"{VARIABLE} is NAME[@OF][#N]:{'|'.join(ACTIONS)}, not {text!r}")
        return cls(match[1], match[2] or "", int(match[3] or 1), match[4])

    def __str__(self) -> str:
        return f"{self.name}{'@' + self.of if self.of else ''}#{self.passing}:{self.action}"


_armed = Armed.parse(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None
_folder = Path(os.environ[FOLDER]) if os.environ.get(FOLDER) else None
_passed = 0
_lock = threading.Lock()

OFF = _armed is None and _folder is None
"""Set if no point is armed and none is noted, as in every ordinary run."""


def point(name: str, of: str = "") -> None:
    """Pass a point: `of` is the sink or query it is passed for."""
    if not OFF:
        _pass(name, of)


@contextmanager
def calls(of: str, name: str = CALL) -> Iterator[None]:
    """Pass a point at each call inside the block that may change something outside the process.

    `sys.setprofile` shows the calls of this thread: those of the operating system, files, sockets and waits, and those of compiled
    third-party libraries.
    """
    if OFF:
        yield
        return

    def look(frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call" and _leaves(called):
            sys.setprofile(None)
            try:
                _pass(name, of)
            finally:
                sys.setprofile(look)

    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(None)


_OUTSIDE = {
    "posix": {"open", "write", "fsync", "rename", "replace", "link", "unlink", "remove", "mkdir", "rmdir", "truncate", "ftruncate"},
    "_io": {"open", "write", "flush", "close"},
    "io": {"open"},
    "_socket": {"send", "sendall"},
    "_ssl": {"write"},
    "time": {"sleep"},
}


def _leaves(called: Any) -> bool:
    """Return whether a compiled function may change something outside the process.

    >>> import time
    >>> _leaves(os.rename), _leaves(time.sleep), _leaves(len), _leaves([].append), _leaves(open)
    (True, True, False, False, True)
    """
    owner = getattr(called, "__module__", None) or type(getattr(called, "__self__", None)).__module__
    known = _OUTSIDE.get(owner)
    if known is not None:
        return called.__name__ in known
    return owner.partition(".")[0] not in sys.stdlib_module_names


def environment() -> dict[str, str]:
    """Return the variables that another process of this run needs for its points."""
    return {name: os.environ[name] for name in (VARIABLE, FOLDER) if os.environ.get(name)}


def _pass(name: str, of: str) -> None:
    global _passed
    if _folder is not None:
        with (_folder / "passed").open("a", encoding="utf-8") as file:
            file.write(f"{name}@{of}\n")
    if _armed is None or _armed.name != name or _armed.of not in ("", of):
        return
    with _lock:
        _passed += 1
        if _passed != _armed.passing or not _first():
            return
    if _armed.action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if _armed.action == "hang":
        threading.Event().wait()
    if _armed.action == "pause":
        os.kill(os.getpid(), signal.SIGSTOP)
        return
    raise Injected(f"{name} of {of}" if of else name)


def _first() -> bool:
    """Return whether no point has acted yet, and note that one does; without a folder, always True."""
    if _folder is None:
        return True
    try:
        (_folder / "acted").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True
