"""The switch of a checkpoint to a new version: all of it or nothing.

next      job.json, and queries, epochs and records of replaced queries, while a deploy writes them; ignored, and removed when the
          checkpoint is next opened
switch    the same, complete. The rename puts the new version in force; the next process that opens the checkpoint finishes the move
"""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path

from headrace.durable import atomic, private
from headrace.durable.sums import read, text_of
from headrace.points import point
from headrace.spark.checkpoint.corrections import FOLDER
from headrace.spark.checkpoint.record import of_query

NEXT = "next"
SWITCH = "switch"
_PARTS = ("queries", "epochs", FOLDER)
_GONE = "gone.json"


def prepare(folder: Path) -> Path:
    """Return the empty folder in which a deploy makes its parts; what an interrupted one has left is useless."""
    place = folder / NEXT
    _remove(place)
    private.folder(place)
    return place


def commit(folder: Path, gone: Collection[str]) -> None:
    """Put what was prepared in force. `gone`: the queries that the checkpoint no longer has."""
    place = folder / NEXT
    atomic.replace(place / _GONE, text_of({"queries": sorted(gone)}))
    for path in place.rglob("*"):
        atomic.keep(path)
    atomic.keep(place)
    point("before the switch")
    place.rename(folder / SWITCH)
    atomic.keep(folder)
    point("after the switch")
    finish(folder)


def is_switching(folder: Path) -> bool:
    """Return whether a switch has begun and must be finished."""
    return (folder / SWITCH).is_dir()


def finish(folder: Path) -> None:
    """Finish a switch that has begun, and remove what an interrupted deploy has left. It may be repeated at any point."""
    _remove(folder / NEXT)
    place = folder / SWITCH
    if not place.is_dir():
        return
    for part in _PARTS:
        private.folder(folder / part)
        for path in _listed(place / part):
            _remove(folder / part / path.name)
            path.rename(folder / part / path.name)
    (folder / "record").mkdir(exist_ok=True)
    for path in _listed(place / "record"):
        query = path.name.rpartition(".json")[0].rpartition(".")[0]
        _remove_records(folder, query)
        path.rename(folder / "record" / path.name)
    gone = read(place / _GONE)
    for query in gone["queries"] if gone else ():
        for part in _PARTS:
            _remove(folder / part / query)
        _remove_records(folder, query)
    job = place / "job.json"
    if job.exists():
        job.replace(folder / "job.json")
    atomic.keep(folder)
    shutil.rmtree(place)


def _remove_records(folder: Path, query: str) -> None:
    for path in (folder / "record").glob("*.json"):
        if of_query(path.name, query):
            path.unlink()


def _remove(folder: Path) -> None:
    if folder.is_dir():
        shutil.rmtree(folder)


def _listed(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []
