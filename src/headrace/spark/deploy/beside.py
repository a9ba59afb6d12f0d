"""A folder that is made beside the place where it will be: one rename at the end, so all of it is there or nothing."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from headrace.durable import atomic, private
from headrace.errors import HeadraceError
from headrace.spark.run.failures import unwritable

LOG = "errors.log"


@contextmanager
def beside(folder: Path, refusal: Callable[[Path, OSError], HeadraceError] = unwritable) -> Iterator[Path]:
    """Give a place beside a folder in which to make it, for `reveal`, and remove the place at the end.

    The remains of a killed process are removed first. A log of Java traces that an error names is kept. `refusal` makes the error for a
    place that cannot be written.
    """
    place = folder.with_name(f".{folder.name}.unfinished")
    fresh = place / "checkpoint"
    try:
        lock = _locked(place)
    except OSError as problem:
        raise refusal(folder, problem) from None
    if lock is None:
        hint = "wait until it has ended, or choose another folder"
        raise HeadraceError("CHECKPOINT_IN_USE", f"another process is making {folder}", hint=hint)
    try:
        shutil.rmtree(fresh, ignore_errors=True)
        (place / LOG).unlink(missing_ok=True)
        yield fresh
    except HeadraceError as error:
        _keep_log(error, fresh, place)
        raise
    except OSError as problem:
        raise refusal(folder, problem) from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        if not (place / LOG).exists():
            shutil.rmtree(place, ignore_errors=True)
        os.close(lock)


def reveal(fresh: Path, folder: Path) -> None:
    """Put a folder in its place in one step, with all files on disk. Raises FileExistsError if something has come there meanwhile."""
    for path in fresh.rglob("*"):
        if not path.is_symlink():
            atomic.keep(path)
    try:
        fresh.rename(folder)
    except OSError as problem:
        raise (FileExistsError(problem.errno, problem.strerror) if problem.errno in (errno.EEXIST, errno.ENOTEMPTY) else problem) from None
    atomic.keep(folder.parent)


def _locked(place: Path) -> int | None:
    """Make a folder and lock it; None if another process has locked it."""
    while True:
        private.folder(place)
        file = place / "lock"
        lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        except OSError:
            return lock  # this file system has no locks
        with suppress(FileNotFoundError):
            if os.fstat(lock).st_ino == file.stat().st_ino:
                return lock
        os.close(lock)  # the process before has removed it meanwhile


def _keep_log(error: HeadraceError, unfinished: Path, place: Path) -> None:
    """Keep the Java trace that the hint of an error names, which would go with the folder."""
    log = unfinished / LOG
    if log.exists() and error.hint and str(log) in error.hint:
        log.replace(place / LOG)
        error.hint = error.hint.replace(str(log), str(place / LOG))
