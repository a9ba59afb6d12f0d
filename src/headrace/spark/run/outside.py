"""What higher packages attach to a run: deploys to it, and a monitor that shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from headrace.plan import Explanation
from headrace.spark.checkpoint.channel import Command
from headrace.spark.run.commands import Work
from headrace.spark.run.snapshot import Snapshot
from headrace.spark.run.started import Started


class Deploys(Protocol):
    """What carries out deploys to a run."""

    has_ended: bool
    """Whether the old queries were stopped, so that a failure ends the run."""

    def accept(self, command: Command) -> None:
        """Read a command, while the queries go on."""

    @property
    def held(self) -> Work:
        """How the rows of sinks are copied, which the queries do not write to meanwhile."""

    def switch(self, command: Command) -> tuple[Started | None, Mapping[str, Any]]:
        """Replace the queries, which are between two epochs. Returns the new ones, None if the old ones go on, and the command's result."""


class Monitor(Protocol):
    """What shows a run while it lives."""

    @property
    def url(self) -> str | None:
        """The address, once it is open."""

    def open(self) -> None:
        """Reserve the address; raises if that is impossible. Called before the checkpoint is changed."""

    def serve(self, look: Callable[[], Snapshot], explained: Callable[[], Explanation]) -> None:
        """Show a run from now on: its counts by `look`, its plan by `explained`."""

    def close(self) -> None:
        """End, and release the address."""
