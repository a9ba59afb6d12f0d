"""A sink for changes that keeps none of them, as `bench.state.nothing` is one for rows that are added."""

from __future__ import annotations

from typing import Any

import headrace as hr
from bench.state.nothing import Nothing
from headrace import ops, ports


class Unkept(Nothing):
    @property
    def traits(self) -> ports.SinkTraits:
        return ports.SinkTraits(False, super().traits.why, ("append", "changes"))


def write_unkept(stream: hr.Stream) -> Any:
    """`stream.write.unkept()`, without installing a connector for it."""
    connected = Unkept()
    return ops.write.Sink(ops.sink.sink(stream._node, connected, None, None), connected)
