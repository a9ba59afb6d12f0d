"""A checkpoint's files on their way to another folder, which gets its name when all is there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Iterable
from pathlib import Path

from headrace.spark.checkpoint import MOVED


def unfinished(new: Path) -> Path:
    """Where a checkpoint is made before it gets its name; what a killed rewrite left there is of no use."""
    return new.with_name(f".{new.name}.unfinished")


def last_epoch(query: Path) -> int | None:
    """The last committed epoch of a query; None if it has none."""
    return max((int(path.name) for path in (query / "commits").glob("*") if path.name.isdigit()), default=None)


def copy(old: Path, new: Path, rewritten: Collection[str]) -> None:
    """Everything but `job.json` and, of the queries that are to be rewritten, the state and the commit that names it."""
    left_out = {old: {"lock", "job.json", MOVED}}
    for name in rewritten:
        query = old / "queries" / name
        epoch = last_epoch(query)
        left_out[query / "commits"] = {f"{epoch}", f".{epoch}.crc"}
        for operator in (query / "state").glob("*"):
            # what stays tells which state there is, not what it holds
            left_out[operator] = {path.name for path in operator.glob("*") if path.name.isdigit()}

    def ignored(folder: str, names: list[str]) -> Iterable[str]:
        here = left_out.get(Path(folder), set())
        return [name for name in names if name in here or name.startswith(".job.json.")]

    shutil.copytree(old, new, ignore=ignored, dirs_exist_ok=True)


def rebase(query: Path, to: Path) -> None:
    """Spark notes in full where the schemas of a state lie: have it look below `to`."""
    for note in (query / "state").glob("*/_metadata/v2/*"):
        if not note.name.isdigit():
            continue
        version, text = note.read_text(encoding="utf-8").split("\n", 1)
        told = json.loads(text)
        operator = to / "state" / note.parents[2].name / "_stateSchema"
        for store in told["stateStoreInfo"]:
            paths = [Path(path) for path in store["stateSchemaFilePaths"]]
            store["stateSchemaFilePaths"] = [f"file:{operator / path.parent.name / path.name}" for path in paths]
        note.write_text(f"{version}\n{json.dumps(told, separators=(',', ':'))}", encoding="utf-8")
        for name in (f".{note.name}.crc", f"{note.name}.crc"):
            note.with_name(name).unlink(missing_ok=True)
