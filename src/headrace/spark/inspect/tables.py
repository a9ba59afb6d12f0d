"""The operators of a checkpoint's job that may keep state, the names of their tables, and the epochs at which they can be read.

The operators in the kernel decide which tables there are (`operator/Layout.scala`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from headrace.plan import DisplayNames, Node, Plan
from headrace.spark.checkpoint.folder import Stored, query_folder
from headrace.spark.compile.identity import Entry


@dataclass(frozen=True)
class Kept:
    """An operator that has a place for state: its query, its entry in the identity, its node in the plan.

    Names of its tables begin with `name`; with its stored name they would begin with `stored`.
    """

    query: str
    entry: Entry
    node: Node
    name: str
    stored: str


def kept(stored: Stored) -> tuple[Kept, ...]:
    """Return the operators of a checkpoint's job, without those that the job no longer has."""
    plan = Plan.from_json(stored.plan)
    entries = [
        (query.name, entry, plan.nodes[name])
        for query in stored.identity.queries
        for name, entry in query.live().items()
        if name in plan.nodes and entry.shape.keeps
    ]
    names, shown = _Names(), DisplayNames.of(plan)
    return tuple(
        Kept(query, entry, node, names.give(_plain(entry.shape.name, shown)), re.sub(r"\W", "_", entry.shape.name))
        for query, entry, node in entries
    )


def _plain(name: str, shown: DisplayNames) -> str:
    """`join(orders, items)` as `join_orders_items`."""
    return name if shown(name) == name else re.sub(r"\W+", "_", shown(name)).strip("_")


class _Names:
    """Unique names that SQL takes without quotes: characters other than letters, digits and underscores become underscores.

    >>> names = _Names()
    >>> names.give("charges.Count"), names.give("charges_count"), names.give("alerts")
    ('charges_Count', 'charges_count_2', 'alerts')
    """

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def give(self, wanted: str) -> str:
        plain = re.sub(r"\W", "_", wanted)
        name, number = plain, 2
        while name.lower() in self._taken:
            name, number = f"{plain}_{number}", number + 1
        self._taken.add(name.lower())
        return name


def epochs(folder: Path, query: str) -> tuple[int, ...]:
    """Return the epochs of a query whose state can be read: Spark keeps the last ones (`spark.sql.streaming.minBatchesToRetain`, 100)."""
    place = query_folder(folder, query)
    logged = _numbers(place / "commits") & _numbers(place / "offsets")
    # Each epoch leaves a file with its number plus one in every partition, until Spark cleans up.
    states = [_numbers(partition) for partition in place.glob("state/*/0")]
    return tuple(sorted(epoch for epoch in logged if states and all(epoch + 1 in there for there in states)))


def _numbers(folder: Path) -> set[int]:
    """Return the numbers that names of files begin with: `7`, `8_<id>.changelog`."""
    return {int(number) for path in folder.glob("*") if (number := path.name.partition("_")[0]).isdigit()}
