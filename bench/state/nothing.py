"""A sink that keeps nothing, like Spark's noop sink: tasks only count the rows that reach them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import headrace as hr
from headrace import ops, ports


class Nothing(ports.Sink):
    connector = "nothing"

    @property
    def traits(self) -> ports.SinkTraits:
        return ports.SinkTraits(False, "rows are only counted, and once more where an epoch is repeated")

    def options(self) -> dict[str, Any]:
        return {}

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        return cls()

    def open(self, context: ports.SinkContext) -> None:
        self.rows = 0

    def stage(self) -> dict[str, Any]:
        return {"kind": "none"}

    def commit(self, epoch: int, staged: ports.Staged) -> None:
        self.rows += staged.count


def write_nothing(stream: hr.Stream) -> Any:
    """`stream.write.nothing()`, without a connector being installed."""
    connected = Nothing()
    return ops.write.Sink(ops.sink.sink(stream._node, connected, None, None), connected)
