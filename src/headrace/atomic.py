"""A small file is replaced as a whole: a reader, a crash or a power cut sees the old text or the new one, and nothing between."""

from __future__ import annotations

import os
from pathlib import Path


def replace(path: Path, text: str) -> None:
    """Write the text beside the file, then give it the file's name; both are on the disk when this returns.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "job.json")
    >>> replace(path, "old"); replace(path, "new")
    >>> path.read_text(), [other.name for other in path.parent.iterdir()]
    ('new', ['job.json'])
    """
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with fresh.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
