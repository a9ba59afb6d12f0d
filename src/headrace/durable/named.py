"""Files and folders named by a user, with errors for those that cannot be used."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from headrace.errors import HeadraceError

Named = str | os.PathLike[str]


def existing(path: Named) -> Path:
    """Check that a file can be read. Raises FILE_MISSING.

    >>> existing("nowhere.json")
    Traceback (most recent call last):
    ...
    headrace.errors.ConfigError: FILE_MISSING: nowhere.json does not exist
    ...
    """
    place = Path(path)
    if place.is_dir():
        raise HeadraceError("FILE_MISSING", f"{path} is a folder, not a file", hint="name a file in it")
    if not place.is_file():
        raise HeadraceError("FILE_MISSING", f"{path} does not exist", hint=f"the full path is {place.absolute()}")
    try:
        place.open("rb").close()
    except OSError as problem:
        raise HeadraceError(
            "FILE_MISSING", f"{path} cannot be read: {problem.strerror}", hint="give this user permission to read it"
        ) from None
    return place


def write(path: Named, text: str) -> None:
    """Write a file. Raises FOLDER_NOT_WRITABLE."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as problem:
        raise _refused(path, problem, "name a file in an existing folder that this user can write to") from None


def folder(path: Named) -> Path:
    """Make a folder if it does not exist. Raises FOLDER_NOT_WRITABLE."""
    place = Path(path)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise _refused(path, problem, "give this user write permission on it, or choose another folder") from None
    return place


def _refused(path: Named, problem: OSError, hint: str) -> HeadraceError:
    return HeadraceError("FOLDER_NOT_WRITABLE", f"{path} cannot be written: {problem.strerror}", hint=write_cure(problem, hint))


def write_cure(problem: OSError | None, otherwise: str) -> str:
    """The hint for a file or folder that cannot be written: on a full disk, only space helps."""
    return "free space on its disk" if problem is not None and problem.errno in (errno.ENOSPC, errno.EDQUOT) else otherwise
