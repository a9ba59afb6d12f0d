"""Tables of the state: what of a job's state is shown, under which names, and at which epochs it can be read.

A program `alerts` gives the table `alerts` with a row for each key, `alerts_<cell>` for each cell with entries, and `alerts_held_<input>`
for the rows that wait for the watermark. The plan and the identity in `job.json` say all of it; no session is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from headrace.ops import Program
from headrace.plan import Plan
from headrace.spark.checkpoint import Stored, query_folder
from headrace.spark.identity import Entry
from headrace.spark.layout import Cell

KEYS, CELL, HELD = "keys", "cell", "held"


@dataclass(frozen=True)
class StateTable:
    """One table: `shows` is KEYS, CELL or HELD, `of` the name of the cell or input."""

    name: str
    shows: str
    of: str = ""


@dataclass(frozen=True)
class Kept:
    """A program that keeps state: the query it belongs to, its entry in the identity, its broadcast inputs, its tables."""

    query: str
    entry: Entry
    broadcast: tuple[str, ...]
    tables: tuple[StateTable, ...]


def kept(stored: Stored) -> tuple[Kept, ...]:
    """What the programs of a checkpoint's job keep. Programs that the job no longer has are left out."""
    plan = Plan.from_json(stored.plan)
    found = [
        (query.name, entry, node)
        for query in stored.identity.queries
        for name, entry in query.live().items()
        if isinstance(node := plan.nodes.get(name), Program)
    ]
    # Programs come first, so that no cell of one takes the name of another.
    names = _Names()
    of_keys = {entry.op: names.give(entry.shape.name) for _, entry, _ in found}
    return tuple(Kept(query, entry, node.broadcast, tuple(_tables(entry, of_keys[entry.op], names))) for query, entry, node in found)


def _tables(entry: Entry, name: str, names: _Names) -> Iterable[StateTable]:
    cells = entry.layouts[-1].cells
    if entry.shape.key or any(_in_row(cell) for cell in cells):
        yield StateTable(name, KEYS)
    for cell in cells:
        if not _in_row(cell):
            yield StateTable(names.give(f"{name}_{cell.name}"), CELL, cell.name)
    for held in entry.shape.inputs if entry.shape.order == "time" else ():
        yield StateTable(names.give(f"{name}_held_{held}"), HELD, held)


def _in_row(cell: Cell) -> bool:
    """Whether a cell is a column of its key's row; others have entries."""
    return cell.kind in ("value", "aggregate") or (cell.kind == "timer" and cell.key is None)


class _Names:
    """Names that SQL takes without quotes, each given once: what is no letter, digit or underscore becomes an underscore.

    >>> names = _Names()
    >>> names.give("charges.Count"), names.give("charges_count"), names.give("alerts")
    ('charges_Count', 'charges_count_2', 'alerts')
    """

    def __init__(self) -> None:
        self._given: set[str] = set()

    def give(self, wanted: str) -> str:
        plain = re.sub(r"\W", "_", wanted)
        name, number = plain, 2
        while name.lower() in self._given:
            name, number = f"{plain}_{number}", number + 1
        self._given.add(name.lower())
        return name


def epochs(folder: Path, query: str) -> tuple[int, ...]:
    """The epochs of a query whose state can be read: Spark keeps the last ones (`spark.sql.streaming.minBatchesToRetain`, 100)."""
    place = query_folder(folder, query)
    logged = _numbers(place / "commits") & _numbers(place / "offsets")
    # Each epoch leaves a file of its own number plus one in every partition, which goes when Spark cleans up.
    states = [_numbers(partition) for partition in place.glob("state/*/0")]
    return tuple(sorted(epoch for epoch in logged if states and all(epoch + 1 in there for there in states)))


def _numbers(folder: Path) -> set[int]:
    """The numbers that names of files begin with: `7`, `8_<id>.changelog`."""
    return {int(number) for path in folder.glob("*") if (number := path.name.partition("_")[0]).isdigit()}
