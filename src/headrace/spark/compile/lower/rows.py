"""Operators over whole rows: ledger, consolidation, rows for a span of time."""

from __future__ import annotations

from headrace.ops import Consolidate, Ledger, Temporal
from headrace.spark.compile.lower.operator import Inlet, Lowering, inlets, lower, shape
from headrace.spark.compile.lower.relation import inlet, lowered, shape_of


@inlets.register(Consolidate)
@inlets.register(Ledger)
@inlets.register(Temporal)
def _(node: Consolidate | Ledger | Temporal, at: Lowering, steady: bool = True) -> tuple[Inlet, ...]:
    # The row is the key, and of equal rows it makes no difference which comes first.
    return (inlet(node.input, at, delivery="row", key_schema=at.schemas.of[str(node.input.name)].ddl, order=None),)


for _kind in (Consolidate, Ledger, Temporal):
    shape.register(_kind, shape_of)
    lower.register(_kind, lowered)
