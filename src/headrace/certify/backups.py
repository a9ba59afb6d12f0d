"""Checkpoints as operators put them back: whole, with files of two moments, or without a part."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

Backup: TypeAlias = Callable[[Path, Path, Path], None]
"""Makes a checkpoint in the third folder of an early copy in the first one and the newest copy in the second."""


def put_back(kept: Path, checkpoint: Path) -> None:
    """A copy in the place of the checkpoint."""
    shutil.rmtree(checkpoint, ignore_errors=True)
    shutil.copytree(kept, checkpoint)


def early(old: Path, new: Path, checkpoint: Path) -> None:
    """The early copy as it is."""
    put_back(old, checkpoint)


def newest(old: Path, new: Path, checkpoint: Path) -> None:
    """The newest copy as it is."""
    put_back(new, checkpoint)


def two_moments(chosen: Callable[[list[Path]], set[Path]]) -> Backup:
    """Files of both copies, the `chosen` ones of the later moment, as in a copy of a folder that is written meanwhile."""

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
    """The files behind this part of the way: they were copied last."""
    return lambda files: set(files[int(len(files) * part) :])


def until(part: float) -> Callable[[list[Path]], set[Path]]:
    """The files in front of this part of the way."""
    return lambda files: set(files[: int(len(files) * part)])


def some(seed: int) -> Callable[[list[Path]], set[Path]]:
    """Every other file, by chance."""
    return lambda files: set(random.Random(seed).sample(files, len(files) // 2))


def without(part: Callable[[Path], Path | None], of: Backup) -> Backup:
    """A copy without one of its parts."""

    def make(old: Path, new: Path, checkpoint: Path) -> None:
        of(old, new, checkpoint)
        lost = part(checkpoint)
        if lost is not None:
            shutil.rmtree(lost) if lost.is_dir() else lost.unlink()

    return make


def last(pattern: str) -> Callable[[Path], Path | None]:
    """The newest of the numbered files of a log."""

    def find(checkpoint: Path) -> Path | None:
        found = [file for file in checkpoint.glob(pattern) if file.stem.isdigit()]
        return max(found, key=lambda file: int(file.stem), default=None)

    return find


def first(pattern: str) -> Callable[[Path], Path | None]:
    """A file or folder of this name."""
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
"""What may be missing."""


def kind(name: str) -> str:
    """What a backup is one of.

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
"""By what they are called; the last one has to go on after all that was refused before."""
