"""Snapshot: a run at one moment, for those who watch it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from headrace.errors import HeadraceError
from headrace.plan import DisplayNames
from headrace.spark.run.progress import Progress
from headrace.spark.run.summary import Summary


@dataclass(frozen=True)
class Snapshot:
    """A run at one moment. `state_keys` counts the keys with state of each operator, by its stored name."""

    status: str
    error: HeadraceError | None
    progress: Progress
    summary: Summary
    state_keys: Mapping[str, int] = field(default_factory=dict)
    notices: tuple[str, ...] = ()

    @cached_property
    def shown(self) -> DisplayNames:
        """The display names of the nodes."""
        return DisplayNames(self.summary.names)

    def to_json(self) -> dict[str, Any]:
        """Return the status and the counts, as `headrace status` prints them."""
        return {"status": self.status, **self.summary.to_json()}
