"""What is its user's alone: a folder that nobody else enters, a file that nobody else reads."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def folder(path: Path) -> Path:
    """Make a folder that its user alone may enter. One that is there becomes such a folder, unless it is somebody else's.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "fraud")
    >>> path.mkdir(mode=0o755)
    >>> oct(folder(path).stat().st_mode & 0o777)
    '0o700'
    """
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    _alone(path, 0o700)
    return path


def file(path: Path) -> Path:
    """Make a file that its user alone may read, where there is none. One that is there becomes such a file."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    _alone(path, 0o600)
    return path


def _alone(path: Path, mode: int) -> None:
    # the owner decides, and some file systems know no modes
    with suppress(OSError):
        if path.stat().st_mode & 0o077:
            path.chmod(mode)
