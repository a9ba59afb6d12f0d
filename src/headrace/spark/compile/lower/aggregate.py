"""An aggregate in a query document."""

from __future__ import annotations

from headrace.ops import Aggregate
from headrace.spark.compile.lower.operator import Inlet, Lowering, inlets, lower, shape
from headrace.spark.compile.lower.relation import inlet, lowered, only_added, shape_of


@inlets.register
def _(node: Aggregate, at: Lowering, steady: bool = True) -> tuple[Inlet, ...]:
    key = at.schemas.keys[str(node.name)].ddl
    # Of rows that are only added each is taken by itself.
    order = None if only_added(node) else "rows"
    rows = inlet(node.input, at, delivery="null_key", key=node.keys, key_schema=key, order=order)
    # The row of the seed wakes the group, and says nothing.
    return (rows,) if node.seed is None else (rows, inlet(node.seed, at, delivery="null_key", name="seed", side=1, order=order))


shape.register(Aggregate, shape_of)
lower.register(Aggregate, lowered)
