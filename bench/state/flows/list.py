"""A list that is traversed at every thousandth entry."""

from __future__ import annotations

from collections.abc import Iterable

import bytewax.operators as op
from bytewax.dataflow import Dataflow

from bench.state.flows.ends import Files, Nothing

EVERY = 1_000


def growing(state: list[int] | None, v: int) -> tuple[list[int], Iterable[tuple[int, int]]]:
    values = [] if state is None else state
    values.append(v)
    return values, () if len(values) % EVERY else [(len(values), sum(values))]


flow = Dataflow("list")
events = op.input("event", flow, Files("event", "v"))
op.output("out", op.stateful_flat_map("growing", events, growing), Nothing())
