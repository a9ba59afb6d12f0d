"""Rows that the other side of a sink does not take: dead letters, in a folder for each sink beside the checkpoint."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from headrace.atomic import replace
from headrace.masking import masked
from headrace.ports.sink import SinkContext, Staged

FOLDER = "refused"
NULL_KEY = "NULL_KEY: a key column is null"
"""The reason for a row that has no place in what is kept by key."""


def put_aside(context: SinkContext, epoch: int, letters: Iterable[tuple[str, str]], part: int = 0) -> None:
    """Keep rows, each a reason and its text, where `headrace letters` finds them. Done again for an epoch it is the same file."""
    folder = context.checkpoint / FOLDER / context.name
    folder.mkdir(parents=True, exist_ok=True)
    told = ({"node": context.name, "reason": masked(reason), "file": None, "position": None, "raw": raw} for reason, raw in letters)
    replace(folder / f"{epoch:020}-{part:05}.json", "".join(json.dumps(letter) + "\n" for letter in told))


def put_aside_by_tasks(context: SinkContext, epoch: int, staged: Staged) -> None:
    """Keep what the tasks of an epoch have put aside (`headrace.sink.Aside`)."""
    found = [letter for part in staged.parts for letter in json.loads(part.get("aside", "[]"))]
    if found:
        put_aside(context, epoch, sorted((letter["reason"], letter["raw"]) for letter in found))


def counted(checkpoint: Path) -> Mapping[str, int]:
    """How many rows lie there, by folder."""
    files = sorted((checkpoint / FOLDER).glob("*/*.json"))
    found: dict[str, int] = {}
    for file in files:
        with file.open(encoding="utf-8") as lines:
            found[str(file.parent)] = found.get(str(file.parent), 0) + sum(1 for _ in lines)
    return found
