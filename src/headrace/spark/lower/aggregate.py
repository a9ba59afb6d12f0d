"""An aggregate in a query document."""

from __future__ import annotations

from headrace.ops import Aggregate
from headrace.spark.lower.operator import Inlet, Lowering, inlets, lower, shape
from headrace.spark.lower.relation import inlet, lowered, shape_of


@inlets.register
def _(node: Aggregate, at: Lowering, steady: bool = True) -> tuple[Inlet, ...]:
    key = at.schemas.keys[str(node.name)].ddl
    rows = inlet(node.input, at, delivery="null_key", key=node.keys, key_schema=key)
    # The row of the seed wakes the group, and says nothing.
    return (rows,) if node.seed is None else (rows, inlet(node.seed, at, delivery="null_key", name="seed", side=1))


shape.register(Aggregate, shape_of)
lower.register(Aggregate, lowered)
