"""A sink for changes that keeps none of them, like `bench.state.nothing` for added rows."""

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
    """`stream.write.unkept()`, without a connector being installed."""
    connected = Unkept()
    return ops.write.Sink(ops.sink.sink(stream._node, connected, None, None), connected)
