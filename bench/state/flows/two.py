"""Charges and payments of a key, and its balance after each of them."""

from __future__ import annotations

import bytewax.operators as op
from bytewax.dataflow import Dataflow

from bench.state.flows.ends import Files, Nothing


def owed(state: tuple[int, int] | None, by: int) -> tuple[tuple[int, int], tuple[int, int]]:
    n, sum = state or (0, 0)
    after = (n + 1, sum + by)
    return after, after


flow = Dataflow("two")
charges = op.input("event", flow, Files("event", "v"))
payments = op.map_value("negative", op.input("payments", flow, Files("payments", "v")), lambda v: -v)
op.output("out", op.stateful_map("owed", op.merge("both", charges, payments), owed), Nothing())
