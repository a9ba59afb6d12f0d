"""Steps: what stateless nodes do to a row, as data that routes carry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.errors import Site


@dataclass(frozen=True)
class Where:
    """Keep the rows for which a condition is true. With a `reason` the others are dead letters."""

    text: str
    site: Site | None = None
    reason: str | None = None

    def to_json(self, node: str) -> dict[str, Any]:
        reason = {} if self.reason is None else {"reason": self.reason}
        return {"where": self.text, **reason, **_place(node, self.site)}


@dataclass(frozen=True)
class Project:
    """Compute all columns of the output, in order."""

    items: tuple[tuple[str, str], ...]
    site: Site | None = None

    def to_json(self, node: str) -> dict[str, Any]:
        return {"project": [list(item) for item in self.items], **_place(node, self.site)}


@dataclass(frozen=True)
class Generate:
    """A row for each one that a generator makes, its columns after the input's."""

    text: str
    names: tuple[str, ...]
    outer: bool
    site: Site | None = None

    def to_json(self, node: str) -> dict[str, Any]:
        return {"generate": self.text, "names": list(self.names), "outer": self.outer, **_place(node, self.site)}


@dataclass(frozen=True)
class Weigh:
    """Multiply the row's weight by a number: 1 for a row that is added, -1 for one that is taken away.

    A row without a number is a dead letter. `reason` says why, in SQL.
    """

    text: str
    site: Site | None = None
    reason: str | None = None

    def to_json(self, node: str) -> dict[str, Any]:
        reason = {} if self.reason is None else {"reason": self.reason}
        return {"weigh": self.text, **reason, **_place(node, self.site)}


@dataclass(frozen=True)
class Unweigh:
    """Show the weight in one more column: as a number, or as the words insert and delete, the row as often as it counts."""

    name: str
    change: bool
    site: Site | None = None

    def to_json(self, node: str) -> dict[str, Any]:
        return {"unweigh": self.name, "change": self.change, **_place(node, self.site)}


@dataclass(frozen=True)
class Expect:
    """Count the rows that meet each condition, by its name, and those that do not; of the latter `otherwise` says what becomes."""

    items: tuple[tuple[str, str], ...]
    otherwise: str
    site: Site | None = None

    def to_json(self, node: str) -> dict[str, Any]:
        return {"expect": [list(item) for item in self.items], "otherwise": self.otherwise, **_place(node, self.site)}


Step = Where | Project | Generate | Weigh | Unweigh | Expect


def _place(node: str, site: Site | None) -> dict[str, Any]:
    return {"node": node, "site": None if site is None else str(site)}
