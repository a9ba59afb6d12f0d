"""Sinks that wrap another one and change its commits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace import ports
from headrace.packages import Packages


class StandIn(ports.Sink):
    """A sink whose commits are done by `meddle`. It is not closed either, as if its process were paused."""

    def __init__(self, sink: ports.Sink, meddle: Callable[[int, ports.Staged], None]) -> None:
        self.sink = sink
        # The job's identity must be that of a job with the sink itself.
        vars(self)["connector"] = sink.connector
        self.on_refused = sink.on_refused
        self._meddle = meddle

    @property
    def traits(self) -> ports.SinkTraits:
        return self.sink.traits

    @property
    def needs(self) -> Packages:
        return self.sink.needs

    @property
    def key(self) -> tuple[str, ...]:
        return self.sink.key

    @property
    def owns(self) -> str | None:
        return self.sink.owns

    def options(self) -> dict[str, Any]:
        return self.sink.options()

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> StandIn:
        raise TypeError("a stand-in exists in its check only")

    def check(self, columns: tuple[str, ...]) -> None:
        self.sink.check(columns)

    def mark(self, context: ports.SinkContext) -> ports.Mark | None:
        return self.sink.mark(context)

    def rewind(self, context: ports.SinkContext, mark: ports.Mark) -> ports.Rewind:
        return self.sink.rewind(context, mark)

    def open(self, context: ports.SinkContext) -> None:
        self.sink.open(context)

    def recover(self) -> None:
        self.sink.recover()

    def stage(self) -> dict[str, Any]:
        return self.sink.stage()

    def commit(self, epoch: int, staged: ports.Staged) -> None:
        self._meddle(epoch, staged)


class Paused(Exception):
    """Raised to end the run without the sink's knowledge."""
