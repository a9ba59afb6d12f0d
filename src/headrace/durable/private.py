"""Private folders and files: only their owner can enter or read them."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def folder(path: Path) -> Path:
    """Make a folder that only its owner can enter. An existing folder gets the same mode, unless another user owns it.

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
    """Make a file that only its owner can read, if there is none. An existing file gets the same mode."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    _alone(path, 0o600)
    return path


def _alone(path: Path, mode: int) -> None:
    # Only the owner may change the mode, and some file systems have none.
    with suppress(OSError):
        if path.stat().st_mode & 0o077:
            path.chmod(mode)
