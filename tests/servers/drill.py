"""A job from files to one sink, whose checkpoint is copied and put back as an operator does it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.certify.backups import put_back

Row = tuple[str, int]


class Drill:
    """`write` makes the sink of a stream of `k string, n int`, and `contents` reads what it holds; each number is a row."""

    def __init__(self, folder: Path, write: Callable[[Any], Any], contents: Callable[[], list[Row]]) -> None:
        self.folder = folder
        self.checkpoint = folder / "checkpoint"
        self.contents = contents
        self._write = write
        (folder / "in").mkdir()

    def add(self, *numbers: int) -> None:
        """Add an input file with a row for each number."""
        lines = (json.dumps({"k": f"k{number}", "n": number}) for number in numbers)
        (self.folder / "in" / f"{numbers[0]:06}.json").write_text("\n".join(lines) + "\n")

    def run(self, *, files: int = 1, fresh: bool = False) -> None:
        """Read what is new, so many files an epoch."""
        source = hr.read.files(self.folder / "in", format="json", schema="k string, n int", files_per_epoch=files, name="rows")
        hr.job("drill", self._write(source)).run(checkpoint=self.checkpoint, flush=False, fresh=fresh, progress=False)

    def keep(self, name: str) -> None:
        """Copy the checkpoint."""
        put_back(self.checkpoint, self.folder / name)

    def put_back(self, name: str) -> None:
        put_back(self.folder / name, self.checkpoint)

    @property
    def term(self) -> str:
        """The file that names the newest start."""
        return max(path.name for path in self.checkpoint.glob("lock.*"))


def restore(drill: Drill, *, ahead: int, starts: int) -> None:
    """Four epochs, a copy, `ahead` epochs more; the copy is refused at each of its starts, and the newest checkpoint goes on."""
    for number in range(4):
        drill.add(number)
    drill.run()
    drill.keep("old")
    for number in range(4, 4 + ahead):
        drill.add(number)
    drill.run()
    drill.keep("new")
    drill.put_back("old")
    drill.add(1000, 1001)
    before, term = drill.contents(), drill.term
    assert before == rows(*range(4 + ahead))
    for _ in range(starts):
        with pytest.raises(hr.CheckpointError, match=f"CHECKPOINT_BEHIND: out holds epoch {3 + ahead}"):
            drill.run(files=ahead + 1)
    assert (drill.contents(), drill.term) == (before, term)
    drill.put_back("new")
    drill.run()
    assert drill.contents() == rows(*range(4 + ahead), 1000, 1001)


def rows(*numbers: int) -> list[Row]:
    """What a sink holds after these numbers."""
    return sorted((f"k{number}", number) for number in numbers)
