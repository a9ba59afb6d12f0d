"""Rows that the target of a sink rejects: dead letters, in a folder per sink in the checkpoint."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from headrace.durable.atomic import replace
from headrace.errors import HeadraceError
from headrace.masking import masked
from headrace.ports.sink import SinkContext, Staged

FOLDER = "refused"
NULL_KEY = "NULL_KEY: a key column is null"
"""The reason for a row without a place in a target that is kept by key."""
CURE = 'correct such rows upstream of the sink, or make them dead letters: on_refused="dead_letter". Nothing of the epoch was written.'


def put_aside(context: SinkContext, epoch: int, letters: Iterable[tuple[str, str]], part: int = 0) -> None:
    """Store the rejected rows of one part of an epoch, as pairs of a reason and the row's text, where `headrace letters` finds them. With
    `on_refused="fail"` raise the first one instead.

    A retry of the epoch replaces the part's file, or removes it if the retry rejects no rows. Part 0 holds the rows that tasks rejected;
    parts from 1 on are the sink's own.
    """
    folder = context.checkpoint / FOLDER / context.name
    file = folder / f"{epoch:020}-{part:05}.json"
    entries = [{"node": context.name, "reason": masked(reason), "file": None, "position": None, "raw": raw} for reason, raw in letters]
    if not entries:
        file.unlink(missing_ok=True)
        return
    if context.on_refused == "fail":
        raise HeadraceError("ROW_REFUSED", f"{context.name}: {entries[0]['reason']}", hint=CURE)
    folder.mkdir(parents=True, exist_ok=True)
    replace(file, "".join(json.dumps(letter) + "\n" for letter in entries))


def put_aside_by_tasks(context: SinkContext, epoch: int, staged: Staged) -> None:
    """Store the rows of an epoch that its tasks rejected (`headrace.sink.Aside`)."""
    letters = [letter for part in staged.parts for letter in json.loads(part.get("aside", "[]"))]
    put_aside(context, epoch, sorted((letter["reason"], letter["raw"]) for letter in letters))


def refused_of(context: SinkContext, epoch: int) -> int:
    """The number of rows of an epoch that the sink itself rejected, after its tasks had staged them."""
    folder = context.checkpoint / FOLDER / context.name
    if not folder.is_dir():
        return 0
    return sum(_lines(file) for file in folder.glob(f"{epoch:020}-*.json") if not file.stem.endswith(f"-{0:05}"))


def counted(checkpoint: Path) -> Mapping[str, int]:
    """The number of stored rows, by folder."""
    files = sorted((checkpoint / FOLDER).glob("*/*.json"))
    counts: dict[str, int] = {}
    for file in files:
        counts[str(file.parent)] = counts.get(str(file.parent), 0) + _lines(file)
    return counts


def _lines(file: Path) -> int:
    with file.open(encoding="utf-8") as lines:
        return sum(1 for _ in lines)
