"""The folder `candidate` of a checkpoint: what a deploy to a running job, or a comparison, prepares beside it, while the job goes on.

candidate/cut     a copy of the checkpoint without its state, as of a moment between two epochs
candidate/held    the rows of some sinks at that moment, for a comparison
candidate/shadow  the shadow run, which follows the job from cut to cut
candidate.lock    locked by the process that prepares a candidate
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace.durable import private
from headrace.errors import HeadraceError
from headrace.spark.checkpoint.copying import CANDIDATE, CANDIDATE_LOCK, copy
from headrace.spark.checkpoint.lease import newest_term

CUT, HELD, SHADOW = "cut", "held", "shadow"


@contextmanager
def claim(folder: Path) -> Iterator[Path]:
    """Give the empty folder of a candidate to this process, and remove it at the end."""
    lock = _locked(folder)
    if lock is None:
        raise HeadraceError(
            "CHECKPOINT_IN_USE",
            f"another process is deploying to, or comparing, the checkpoint {folder}",
            hint="wait until it has ended, or cancel it with Ctrl-C, and try again",
        )
    place = folder / CANDIDATE
    try:
        shutil.rmtree(place, ignore_errors=True)
        yield private.folder(place)
    finally:
        shutil.rmtree(place, ignore_errors=True)
        os.close(lock)


def sweep(folder: Path) -> None:
    """Remove a candidate whose process is gone."""
    if (folder / CANDIDATE).is_dir():
        lock = _locked(folder)
        if lock is not None:
            shutil.rmtree(folder / CANDIDATE, ignore_errors=True)
            os.close(lock)


def cut(folder: Path) -> None:
    """Copy a checkpoint, whose queries are all between two epochs, to its candidate."""
    place = folder / CANDIDATE
    if not place.is_dir():
        raise HeadraceError("NOTHING_TO_DEPLOY", f"no deploy to {folder} is being prepared, and no comparison", hint="try again")
    fresh = place / ".cut"
    shutil.rmtree(fresh, ignore_errors=True)
    copy(folder, fresh, state=False)
    # sinks refuse a start that is earlier than one that they know
    (fresh / f"lock.{newest_term(folder)}").touch()
    shutil.rmtree(place / CUT, ignore_errors=True)
    fresh.rename(place / CUT)


def take_over(folder: Path, to: Path) -> bool:
    """Move the shadow run of a candidate to a folder, where its process cannot remove it any more. Returns whether there was one."""
    try:
        (folder / CANDIDATE / SHADOW).rename(to)
    except FileNotFoundError:
        return False
    return True


def _locked(folder: Path) -> int | None:
    """Lock the candidate of a checkpoint; None if another process has locked it."""
    descriptor = os.open(folder / CANDIDATE_LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
