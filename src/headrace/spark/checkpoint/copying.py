"""Copies of a checkpoint whose queries are between two epochs. Files that are written once are hard links."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from headrace.durable import private
from headrace.durable.links import link
from headrace.durable.manifest import CONTROL, STAGING
from headrace.spark.checkpoint.channel import COMMANDS
from headrace.spark.checkpoint.lease import is_lock
from headrace.spark.checkpoint.switch import NEXT, SWITCH

SAVEPOINTS = "savepoints"
CANDIDATE = "candidate"
CANDIDATE_LOCK = "candidate.lock"
_LEFT_OUT = {SAVEPOINTS, CANDIDATE, CANDIDATE_LOCK, NEXT, SWITCH, COMMANDS, "errors.log"}
_WRITTEN_ONCE = ("queries", "epochs", "dead_letters", "refused", "repaired")
"""The folders whose files are written once, and then only removed or replaced by others. Manifests that are lists of lines may grow."""
_STATE = "state"


def copy(folder: Path, to: Path, *, state: bool = True, links: bool = True) -> None:
    """Copy a checkpoint, with the state of its queries or without it. Spark's own clean-up may remove old files meanwhile.

    Without it, a copy cannot return to an earlier epoch, so what is kept for that is left out too. `links`: whether files that are written
    once become links.
    """
    private.folder(to)
    for name in os.listdir(folder):
        path = folder / name
        if is_lock(name) or name in _LEFT_OUT or name.startswith("."):
            continue
        if path.is_dir():
            copied = not links or name not in _WRITTEN_ONCE
            for parent, folders, files in os.walk(path):
                here = to / Path(parent).relative_to(folder)
                here.mkdir(exist_ok=True)
                if Path(parent).name == CONTROL:
                    folders[:] = [one for one in folders if one != STAGING]
                if not state and Path(parent).parent == folder / "queries":
                    folders[:] = [one for one in folders if one != _STATE]
                for file in files if state or name != "epochs" else (one for one in files if one.endswith(".json")):
                    _take(Path(parent, file), here / file, copied=copied or file.endswith(".jsonl"))
        else:
            _take(path, to / name, copied=True)


def _take(source: Path, to: Path, *, copied: bool) -> None:
    """Copy or link a file."""
    with suppress(FileNotFoundError):
        if copied:
            shutil.copy2(source, to)
        else:
            link(source, to)
