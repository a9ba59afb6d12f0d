"""A folder that is made beside the place where it will be: one rename at the end, so all of it is there or nothing."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace.durable import private
from headrace.errors import HeadraceError
from headrace.spark.run.failures import unwritable

LOG = "errors.log"


@contextmanager
def beside(folder: Path) -> Iterator[Path]:
    """Give a place beside a folder in which to make it, for a rename to it, and remove the place at the end.

    What a killed process has left there is removed first. If a file of Java traces is named in an error, it is kept.
    """
    place = folder.with_name(f".{folder.name}.unfinished")
    try:
        private.folder(place)
        lock = os.open(place / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as problem:
        raise unwritable(folder, problem) from None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            hint = "wait until it has ended, or choose another folder"
            raise HeadraceError("CHECKPOINT_IN_USE", f"another process is making {folder}", hint=hint) from None
        fresh = place / "checkpoint"
        try:
            shutil.rmtree(fresh, ignore_errors=True)
            (place / LOG).unlink(missing_ok=True)
            yield fresh
        except HeadraceError as error:
            _keep_log(error, fresh, place)
            raise
        except OSError as problem:
            raise unwritable(folder, problem) from None
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
            if not (place / LOG).exists():
                shutil.rmtree(place, ignore_errors=True)
    finally:
        os.close(lock)


def _keep_log(error: HeadraceError, unfinished: Path, place: Path) -> None:
    """Keep the Java trace that the hint of an error names, which would go with the folder."""
    log = unfinished / LOG
    if log.exists() and error.hint and str(log) in error.hint:
        log.replace(place / LOG)
        error.hint = error.hint.replace(str(log), str(place / LOG))
