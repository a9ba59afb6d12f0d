"""Running count and sum per key."""

from __future__ import annotations

import bytewax.operators as op
from bytewax.dataflow import Dataflow

from bench.state.flows.ends import Files, Nothing


def running(state: tuple[int, int] | None, v: int) -> tuple[tuple[int, int], tuple[int, int]]:
    n, total = state or (0, 0)
    after = (n + 1, total + v)
    return after, after


flow = Dataflow("count")
events = op.input("event", flow, Files("event", "v"))
op.output("out", op.stateful_map("running", events, running), Nothing())
