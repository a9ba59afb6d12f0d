"""A checkpoint's files on their way to another folder, which gets its name once it is complete."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterable
from pathlib import Path

from headrace.spark.checkpoint.folder import MIGRATED
from headrace.spark.checkpoint.lease import is_lock


def unfinished(new: Path) -> Path:
    """Return the folder in which a checkpoint is made before it gets its name; what a killed rewrite left there is useless."""
    return new.with_name(f".{new.name}.unfinished")


def last_epoch(query: Path) -> int | None:
    """Return the last committed epoch of a query; None if it has none."""
    return max((int(path.name) for path in (query / "commits").glob("*") if path.name.isdigit()), default=None)


def copy(old: Path, new: Path, rewritten: Collection[str]) -> None:
    """Copy everything but `job.json` and, of the queries to be rewritten, the state and the commit that names it."""
    left_out = {old: {*filter(is_lock, os.listdir(old)), "job.json", MIGRATED}}
    for name in rewritten:
        query = old / "queries" / name
        epoch = last_epoch(query)
        left_out[query / "commits"] = {f"{epoch}", f".{epoch}.crc"}
        for operator in (query / "state").glob("*"):
            # the remaining files describe the state, but do not contain it
            left_out[operator] = {path.name for path in operator.glob("*") if path.name.isdigit()}

    def ignored(folder: str, names: list[str]) -> Iterable[str]:
        here = left_out.get(Path(folder), set())
        return [name for name in names if name in here or name.startswith(".job.json.")]

    shutil.copytree(old, new, ignore=ignored, dirs_exist_ok=True)
