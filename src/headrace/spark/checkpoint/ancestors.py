"""The ancestors of a fork: the jobs that it was forked from, with their sinks, to which it must not write (`run/ancestors.py`).

forked.json    in the checkpoint of a fork: its ancestors, the nearest first
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from headrace.durable import atomic
from headrace.durable.sums import read, text_of, unreadable
from headrace.errors import HeadraceError
from headrace.ops.sink import restored_sink
from headrace.plan.codec import short, typed
from headrace.ports import Sink
from headrace.spark.checkpoint.folder import Stored, stored_in
from headrace.spark.checkpoint.history import incomplete
from headrace.spark.checkpoint.record import place_of, recorded
from headrace.spark.compile.identity import DEAD_LETTERS
from headrace.spark.compile.shapes import SINK

FORMAT = 2
"""In format 1, places are as the record names them: Kafka without its servers, HTTP as it was spelled."""
FILE = "forked.json"
ID = "fork-"
"""The id of a fork begins with this, so that a lost file is noticed."""


@dataclass(frozen=True)
class Ancestor:
    """A job as its sinks know it. `id`: that of its checkpoint; `places`: the sink at each location, and at each place that only the record
    knows; `sinks`: the query and the name of each sink.
    """

    id: str
    job: str
    places: Mapping[str, str]
    sinks: tuple[tuple[str, str], ...]

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "job": self.job, "places": dict(self.places), "sinks": [list(one) for one in self.sinks]}

    def at(self, sink: Sink) -> str | None:
        """Return the name of its sink that writes where another sink would; None if there is none."""
        return self.places.get(sink.location) or self.places.get(place_of(sink))

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        places = {typed(place, str): typed(sink, str) for place, sink in typed(value["places"], Mapping).items()}
        sinks = tuple((typed(query, str), typed(sink, str)) for query, sink in value["sinks"])
        return cls(typed(value["id"], str), typed(value["job"], str), places, sinks)


def ancestors(folder: Path) -> tuple[Ancestor, ...]:
    """Return the ancestors of the job whose checkpoint is in a folder, the nearest first; none if it was not forked. Raises
    CHECKPOINT_INCOMPLETE if it was, and they are not known.
    """
    stored = stored_in(folder)
    if stored is not None and stored.id.startswith(ID) and not (folder / FILE).exists():
        raise incomplete(folder / FILE, f"is gone, and {stored.job} is a fork")
    return _read(folder)


def _read(folder: Path) -> tuple[Ancestor, ...]:
    file = folder / FILE
    value = read(file)
    if value is None:
        return ()
    try:
        if value["format"] not in range(1, FORMAT + 1):
            raise HeadraceError(
                "CHECKPOINT_FORMAT",
                f"{file} has format {short(value['format'])}; this version of headrace reads formats 1 to {FORMAT}",
                hint="use the version of headrace that wrote it, or start over with fresh=True",
            )
        return tuple(map(Ancestor.from_json, value["ancestors"]))
    except HeadraceError as problem:
        raise problem if problem.code == "CHECKPOINT_FORMAT" else unreadable(file, problem.message) from None
    except (AttributeError, KeyError, TypeError, ValueError) as problem:
        raise unreadable(file, f"it is not a {FILE} of headrace ({type(problem).__name__}: {problem})") from None


def store_ancestors(folder: Path, all: Sequence[Ancestor]) -> None:
    """Write the ancestors of the job whose checkpoint is in a folder."""
    atomic.replace(folder / FILE, text_of({"format": FORMAT, "ancestors": [one.to_json() for one in all]}, indent=1))


def line(folder: Path, *others: Path) -> tuple[Ancestor, ...]:
    """Return a job and its ancestors, the job first. `folder`: its checkpoint; `others`: parts of it, as of other moments."""
    known: dict[str, Ancestor] = {}
    for one in (*_jobs((folder, *others)), *ancestors(folder), *(one for other in others for one in _read(other))):
        first = known.get(one.id, one)
        sinks = tuple(dict.fromkeys((*first.sinks, *one.sinks)))
        known[one.id] = Ancestor(one.id, first.job, {**one.places, **first.places}, sinks)
    return tuple(known.values())


def _jobs(folders: Iterable[Path]) -> Iterator[Ancestor]:
    for folder in folders:
        stored = stored_in(folder)
        if stored is not None:
            yield Ancestor(stored.id, stored.job, dict(_places(folder, stored)), tuple(_sinks(stored)))


def _places(folder: Path, stored: Stored) -> Iterator[tuple[str, str]]:
    """Yield the location and the name of each sink of the plan, and the place and the name of those that got rows before."""
    present = set()
    for node in stored.plan["nodes"]:
        if node["op"] == "sink":
            with suppress(HeadraceError, KeyError):  # its connector may not be installed here
                sink = restored_sink(node["connector"], node["options"])
                present.add(place_of(sink))
                yield sink.location, node["name"]
    for query in stored.identity.queries:
        for name, written in recorded(folder / "record", query.name).written.items():
            if written.place not in present:
                yield written.place, name


def _sinks(stored: Stored) -> Iterator[tuple[str, str]]:
    for query in stored.identity.queries:
        for entry in query.entries:
            if entry.shape.kind == SINK and entry.shape.name != DEAD_LETTERS:
                yield entry.home or query.name, entry.shape.name
