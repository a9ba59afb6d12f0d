"""Small files that are written as a whole: after a crash or a power cut a reader finds the old text or the new one, never a part."""

from __future__ import annotations

import os
import threading
from pathlib import Path


def replace(path: Path, text: str) -> None:
    """Write the text beside the file, then rename it to the file; both are on disk when this returns.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "job.json")
    >>> replace(path, "old"); replace(path, "new")
    >>> path.read_text(), [other.name for other in path.parent.iterdir()]
    ('new', ['job.json'])
    """
    _beside(path, text).replace(path)
    keep(path.parent)


def create(path: Path, text: str) -> bool:
    """Create a file; of several writers only one succeeds. Returns whether this one did.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "0.json")
    >>> create(path, "first"), create(path, "second"), path.read_text()
    (True, False, 'first')
    """
    fresh = _beside(path, text)
    try:
        os.link(fresh, path)
    except FileExistsError:
        return False
    finally:
        fresh.unlink()
    keep(path.parent)
    return True


def _beside(path: Path, text: str) -> Path:
    fresh = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    with fresh.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    return fresh


def keep(path: Path) -> None:
    """Write a file, or the names in a folder, to the disk."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
