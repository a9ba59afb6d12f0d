"""Sessions with a gap. Rows arrive in the order of time, so the next row ends a session; the last sessions end with the input.

bytewax also has session windows; this is several times as fast.
"""

from __future__ import annotations

from typing import Any

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.operators import StatefulBatchLogic

from bench.state.flows.ends import Files, Nothing

GAP = 30 * 60 * 1_000_000


class Sessions(StatefulBatchLogic):
    def __init__(self, state: tuple[int, int, int] | None) -> None:
        self.start, self.last, self.n = state or (0, 0, 0)

    def on_batch(self, values: list[int]) -> tuple[list[Any], bool]:
        closed = []
        for ts in values:
            if self.n and ts > self.last + GAP:
                closed.append((self.start, self.last, self.n))
                self.n = 0
            if not self.n:
                self.start = ts
            self.last = ts
            self.n += 1
        return closed, StatefulBatchLogic.RETAIN

    def on_eof(self) -> tuple[list[Any], bool]:
        return [(self.start, self.last, self.n)], StatefulBatchLogic.DISCARD

    def snapshot(self) -> tuple[int, int, int]:
        return self.start, self.last, self.n


flow = Dataflow("sessions")
events = op.input("event", flow, Files("event", "ts"))
op.output("out", op.stateful_batch("sessions", events, Sessions), Nothing())
