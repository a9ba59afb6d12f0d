"""A disk of a few megabytes: a file system in memory, which only root can make."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers import not_to_be_had


class Disk:
    """A file system of a size that can be changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(self, size: str) -> None:
        _done("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(self.folder))

    def grow(self, size: str) -> None:
        _done("mount", "-o", f"remount,size={size}", str(self.folder))

    def remove(self) -> None:
        _done("umount", "--lazy", str(self.folder))


def _done(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(done.stderr.strip())


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """A disk of 2 MB."""
    volume = Disk(tmp_path / "disk")
    volume.folder.mkdir()
    try:
        volume.make("2m")
    except OSError as problem:
        not_to_be_had("a disk of its own", problem)
    yield volume
    volume.remove()
