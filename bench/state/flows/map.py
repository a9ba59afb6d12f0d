"""The sum of each item of a key."""

from __future__ import annotations

import bytewax.operators as op
from bytewax.dataflow import Dataflow

from bench.state.flows.ends import Files, Nothing


def spent(state: dict[int, int] | None, event: tuple[int, int]) -> tuple[dict[int, int], tuple[int, int]]:
    totals = {} if state is None else state
    item, v = event
    total = totals[item] = totals.get(item, 0) + v
    return totals, (item, total)


flow = Dataflow("map")
events = op.input("event", flow, Files("event", "item", "v"))
op.output("out", op.stateful_map("spent", events, spent), Nothing())
