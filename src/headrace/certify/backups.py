"""Checkpoints as operators restore them: whole, with files of two moments, or without a part."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

Backup: TypeAlias = Callable[[Path, Path, Path], None]
"""Makes a checkpoint in the third folder, from an early copy in the first and the newest copy in the second."""


def put_back(kept: Path, checkpoint: Path) -> None:
    """Replace the checkpoint by a copy."""
    shutil.rmtree(checkpoint, ignore_errors=True)
    shutil.copytree(kept, checkpoint)


def early(old: Path, new: Path, checkpoint: Path) -> None:
    """Restore the early copy unchanged."""
    put_back(old, checkpoint)


def newest(old: Path, new: Path, checkpoint: Path) -> None:
    """Restore the newest copy unchanged."""
    put_back(new, checkpoint)


def two_moments(chosen: Callable[[list[Path]], set[Path]]) -> Backup:
    """Return a backup with files of both copies, the `chosen` ones from the newest, as when a folder is copied while it is written."""

    def make(old: Path, new: Path, checkpoint: Path) -> None:
        shutil.rmtree(checkpoint, ignore_errors=True)
        files = sorted({file.relative_to(copy) for copy in (old, new) for file in copy.rglob("*") if file.is_file()})
        later = chosen(files)
        for file in files:
            source = (new if file in later else old) / file
            if source.exists():
                (checkpoint / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, checkpoint / file)

    return make


def from_(part: float) -> Callable[[list[Path]], set[Path]]:
    """Choose the files after this fraction: the ones copied last."""
    return lambda files: set(files[int(len(files) * part) :])


def until(part: float) -> Callable[[list[Path]], set[Path]]:
    """Choose the files before this fraction."""
    return lambda files: set(files[: int(len(files) * part)])


def some(seed: int) -> Callable[[list[Path]], set[Path]]:
    """Choose a random half of the files."""
    return lambda files: set(random.Random(seed).sample(files, len(files) // 2))


def without(part: Callable[[Path], Path | None], of: Backup) -> Backup:
    """Return a backup that lacks one of its parts."""

    def make(old: Path, new: Path, checkpoint: Path) -> None:
        of(old, new, checkpoint)
        lost = part(checkpoint)
        if lost is not None:
            shutil.rmtree(lost) if lost.is_dir() else lost.unlink()

    return make


def last(pattern: str) -> Callable[[Path], Path | None]:
    """Find the newest of the numbered files of a log."""

    def find(checkpoint: Path) -> Path | None:
        files = [file for file in checkpoint.glob(pattern) if file.stem.isdigit()]
        return max(files, key=lambda file: int(file.stem), default=None)

    return find


def first(pattern: str) -> Callable[[Path], Path | None]:
    """Find the first file or folder of this pattern."""
    return lambda checkpoint: next(iter(sorted(checkpoint.glob(pattern))), None)


PARTS: Mapping[str, Callable[[Path], Path | None]] = {
    "queries/": first("queries"),
    "offsets/": first("queries/*/offsets"),
    "the newest offsets": last("queries/*/offsets/*"),
    "commits/": first("queries/*/commits"),
    "the newest commit": last("queries/*/commits/*"),
    "sources/": first("queries/*/sources"),
    "the newest entry of a source": last("queries/*/sources/*/*"),
    "state/": first("queries/*/state"),
    "epochs/": first("epochs"),
    "the newest identity": last("epochs/*/*.json"),
    "record/": first("record"),
    "job.json": first("job.json"),
}
"""The parts that may be missing."""


def kind(name: str) -> str:
    """Return the kind of a backup.

    >>> kind("a copy that took long, from 25%"), kind("an early copy without queries/"), kind("the newest")
    ('a copy that took long', 'an early copy without a part', 'the newest')
    """
    of, without, _ = name.partition(" without ")
    return f"{of} without a part" if without else name.partition(",")[0]


BACKUPS: Mapping[str, Backup] = {
    "an early copy": early,
    **{f"a copy that took long, from {part:.0%}": two_moments(from_(part)) for part in (0.25, 0.5, 0.75)},
    **{f"a copy that took long, until {part:.0%}": two_moments(until(part)) for part in (0.25, 0.5, 0.75)},
    **{f"files of two moments, {seed}": two_moments(some(seed)) for seed in range(3)},
    **{f"an early copy without {name}": without(part, early) for name, part in PARTS.items()},
    **{f"the newest without {name}": without(part, newest) for name, part in PARTS.items()},
    "the newest": newest,
}
"""The backups by name. A start must continue from the last one, whatever was refused before."""
