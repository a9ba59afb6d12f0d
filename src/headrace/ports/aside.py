"""Rows that the other side of a sink does not take: dead letters, in a folder for each sink beside the checkpoint."""

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
"""The reason for a row that has no place in what is kept by key."""
CURE = (
    'nothing of the epoch was written. Mend such rows in front of the sink, or let them go to the dead letters: on_refused="dead_letter".'
)


def put_aside(context: SinkContext, epoch: int, letters: Iterable[tuple[str, str]], part: int = 0) -> None:
    """Keep rows of a part of an epoch, each a reason and its text, where `headrace letters` finds them; with `on_refused="fail"` raise the
    first one.

    Done again for an epoch it is the same file: what is put aside now takes the place of what was put aside before, so none at all removes
    the file. Part 0 is of the tasks; parts from 1 on are the sink's own.
    """
    folder = context.checkpoint / FOLDER / context.name
    file = folder / f"{epoch:020}-{part:05}.json"
    told = [{"node": context.name, "reason": masked(reason), "file": None, "position": None, "raw": raw} for reason, raw in letters]
    if not told:
        file.unlink(missing_ok=True)
        return
    if context.on_refused == "fail":
        raise HeadraceError("ROW_REFUSED", f"{context.name}: {told[0]['reason']}", hint=CURE)
    folder.mkdir(parents=True, exist_ok=True)
    replace(file, "".join(json.dumps(letter) + "\n" for letter in told))


def put_aside_by_tasks(context: SinkContext, epoch: int, staged: Staged) -> None:
    """Keep what the tasks of an epoch have put aside (`headrace.sink.Aside`)."""
    found = [letter for part in staged.parts for letter in json.loads(part.get("aside", "[]"))]
    put_aside(context, epoch, sorted((letter["reason"], letter["raw"]) for letter in found))


def refused_of(context: SinkContext, epoch: int) -> int:
    """How many rows of an epoch the sink itself has put aside, after its tasks had staged them."""
    folder = context.checkpoint / FOLDER / context.name
    if not folder.is_dir():
        return 0
    return sum(_lines(file) for file in folder.glob(f"{epoch:020}-*.json") if not file.stem.endswith(f"-{0:05}"))


def counted(checkpoint: Path) -> Mapping[str, int]:
    """How many rows lie there, by folder."""
    files = sorted((checkpoint / FOLDER).glob("*/*.json"))
    found: dict[str, int] = {}
    for file in files:
        found[str(file.parent)] = found.get(str(file.parent), 0) + _lines(file)
    return found


def _lines(file: Path) -> int:
    with file.open(encoding="utf-8") as lines:
        return sum(1 for _ in lines)
