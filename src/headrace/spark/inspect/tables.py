"""Tables of the state: what of a job's state is shown, under which names, and at which epochs it can be read.

A program `alerts` gives the table `alerts` with a row for each key, `alerts_<cell>` for each cell with entries, and `alerts_held_<input>`
for the rows that wait for the watermark. An operator of a query has the table of its name, a join one for each side. The plan and the
identity in `job.json` say all of it; no session is needed. Only which values an aggregate keeps is known to Spark alone: those tables
are named where it is asked (`inspect/RelationTables.scala`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from headrace.ops.relational import Relational
from headrace.plan import DisplayNames, Node, Plan
from headrace.spark.checkpoint.folder import Stored, query_folder
from headrace.spark.compile.identity import Entry
from headrace.spark.compile.layout import Cell

KEYS, CELL, HELD = "keys", "cell", "held"


@dataclass(frozen=True)
class StateTable:
    """One table. Of a program `shows` is KEYS, CELL or HELD, and `of` the name of the cell or input; of an operator of a query it is one of
    `Relational.tables`."""

    name: str
    shows: str
    of: str = ""


@dataclass(frozen=True)
class Kept:
    """An operator that keeps state: the query it belongs to, its entry in the identity, its node in the plan, its tables.

    Names of its tables begin with `name`; by its stored name they would begin with `stored`.
    """

    query: str
    entry: Entry
    node: Node
    tables: tuple[StateTable, ...]
    name: str = ""
    stored: str = ""


def kept(stored: Stored) -> tuple[Kept, ...]:
    """What the operators of a checkpoint's job keep. Those that the job no longer has are left out."""
    plan = Plan.from_json(stored.plan)
    found = [
        (query.name, entry, plan.nodes[name])
        for query in stored.identity.queries
        for name, entry in query.live().items()
        if name in plan.nodes and entry.shape.keeps
    ]
    # Operators come first, so that no part of one takes the name of another.
    names, shown = _Names(), DisplayNames.of(plan)
    given = {entry.op: names.give(_plain(entry.shape.name, shown)) for _, entry, _ in found}
    all = [
        Kept(query, entry, node, tuple(_tables(node, entry, given[entry.op], names)), given[entry.op], re.sub(r"\W", "_", entry.shape.name))
        for query, entry, node in found
    ]
    return tuple(one for one in all if one.tables)


def _plain(name: str, shown: DisplayNames) -> str:
    """`join(orders, items)` as `join_orders_items`."""
    return name if shown(name) == name else re.sub(r"\W+", "_", shown(name)).strip("_")


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


def _tables(node: Node, entry: Entry, name: str, names: _Names) -> Iterable[StateTable]:
    """The tables of an operator."""
    if isinstance(node, Relational):
        # Of several each has a name of its own.
        own = len(node.tables) == 1
        return [StateTable(name if own else names.give(f"{name}_{shows}"), shows) for shows in node.tables]
    return _of_program(entry, name, names)


def _of_program(entry: Entry, name: str, names: _Names) -> Iterable[StateTable]:
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
