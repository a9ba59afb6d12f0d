"""The dead letters in a checkpoint, read without a session and without a lock."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headrace.durable.manifest import Manifest
from headrace.plan import Node, Plan, Role
from headrace.ports import aside
from headrace.spark.checkpoint.folder import Stored


@dataclass(frozen=True)
class Letter:
    """A row that could not be read, computed or written, or that failed an expectation.

    `epoch` and `time`: when that was reported. `source`: where the row came from, if there is only one possibility. `node`: where it
    failed, `reason`: why. `file` and `position`: where it was read. `raw`: its text there, or the row as JSON.
    """

    epoch: int
    time: dt.datetime
    source: str | None
    node: str
    reason: str
    file: str | None
    position: int | None
    raw: str | None


def letters_in(folder: Path, stored: Stored) -> list[Letter]:
    """Return all dead letters, oldest epoch first, without those that were retracted with their rows."""
    plan = Plan.from_json(stored.plan)
    sources = {name: source_of(node) for name, node in plan.nodes.items()}
    all_letters: list[Letter] = []
    for query in sorted((folder / "dead_letters").glob("*")):
        all_letters.extend(_letters(query, sources))
    for sink in sorted((folder / aside.FOLDER).glob("*")):
        for file in sorted(sink.glob("*.json")):
            epoch = int(file.name.partition("-")[0])
            all_letters.extend(
                _letter(epoch, _time(file), json.loads(line), sources) for line in file.read_text(encoding="utf-8").splitlines()
            )
    return sorted(all_letters, key=lambda letter: letter.epoch)


def source_of(node: Node) -> str | None:
    """Return the source whose rows a node sees one by one; None if there are several, or if an operator makes rows of its own."""
    while node.role is Role.STATELESS and len(node.inputs) == 1:
        node = node.inputs[0]
    return str(node.name) if node.role is Role.SOURCE else None


def _letters(query: Path, sources: dict[str, str | None]) -> list[Letter]:
    """Return the dead letters of one query, without retracted ones."""
    manifest = Manifest(query)
    added: list[Letter] = []
    gone: Counter[tuple[object, ...]] = Counter()
    for entry in manifest.entries():
        epoch = entry["epoch"]
        # manifests of format 1 have no time
        time = dt.datetime.fromisoformat(entry["at"]) if "at" in entry else _time(manifest.path(epoch))
        # During a commit, files are still where they were staged.
        files = [next((at for at in (query / file["path"], query / file["staged"]) if at.exists()), None) for file in entry["files"]]
        for line in (line for file in files if file for line in file.read_text(encoding="utf-8").splitlines()):
            row = json.loads(line)
            letter = _letter(epoch, time, row, sources)
            if row.get("_change") == "delete":
                gone[_identity(letter)] += 1
            else:
                added.append(letter)
    return list(_without(added, gone))


def _without(letters: list[Letter], gone: Counter[tuple[object, ...]]) -> Iterator[Letter]:
    for letter in letters:
        if gone[_identity(letter)]:
            gone[_identity(letter)] -= 1
        else:
            yield letter


def _identity(letter: Letter) -> tuple[object, ...]:
    """Return the parts of a letter by which a retraction finds it; a retracted row was read elsewhere."""
    return letter.node, letter.reason, letter.raw


def _letter(epoch: int, time: dt.datetime, row: dict[str, object], sources: dict[str, str | None]) -> Letter:
    position = row.get("position")
    texts = {name: None if row.get(name) is None else str(row[name]) for name in ("file", "raw")}
    node = str(row["node"])
    return Letter(
        epoch,
        time,
        sources.get(node),
        node,
        str(row["reason"]),
        texts["file"],
        position if isinstance(position, int) else None,
        texts["raw"],
    )


def _time(file: Path) -> dt.datetime:
    return dt.datetime.fromtimestamp(file.stat().st_mtime, dt.UTC).replace(microsecond=0)
