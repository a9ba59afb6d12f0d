"""Named points of a run at which a test, or `headrace certify`, kills, stops or fails the process. Not armed, a point does nothing.

A point is armed by HEADRACE_POINT, in the environment of the process: `NAME[@OF][#N]:ACTION`. OF is what the point is passed for (a sink,
a source), N which passing it is (the first, 1), and ACTION is `kill` (as kill -9 does), `hang` (until somebody ends it) or `fail`.
The kernel has the same points, in `headrace.point.Point`.
"""

from __future__ import annotations

import os
import re
import signal
import threading
from dataclasses import dataclass

VARIABLE = "HEADRACE_POINT"
ACTIONS = ("kill", "hang", "fail")


class Injected(Exception):
    """The failure of a point that was armed to fail."""


@dataclass(frozen=True)
class Armed:
    """A point, and what happens there.

    >>> Armed.parse("before sink commit@out#3:kill")
    Armed(name='before sink commit', of='out', passing=3, action='kill')
    """

    name: str
    of: str
    passing: int
    action: str

    @classmethod
    def parse(cls, text: str) -> Armed:
        found = re.fullmatch(r"([^@#:]+)(?:@([^#:]+))?(?:#(\d+))?:(\w+)", text)
        if found is None or found[4] not in ACTIONS:
            raise ValueError(f"{VARIABLE} is NAME[@OF][#N]:{'|'.join(ACTIONS)}, not {text!r}")
        return cls(found[1], found[2] or "", int(found[3] or 1), found[4])


_armed = Armed.parse(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None
_passed = 0
_lock = threading.Lock()


def point(name: str, of: str = "") -> None:
    """Pass a point: `of` is the sink or source it is passed for."""
    if _armed is None or _armed.name != name or _armed.of not in ("", of):
        return
    global _passed
    with _lock:
        _passed += 1
        if _passed != _armed.passing:
            return
    if _armed.action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if _armed.action == "hang":
        threading.Event().wait()
    raise Injected(f"{name} of {of}" if of else name)
