"""Window functions and first rows in a query document."""

from __future__ import annotations

from headrace.ops import Partition, Top
from headrace.spark.compile.lower.operator import Inlet, Lowering, inlets, lower, shape
from headrace.spark.compile.lower.relation import inlet, lowered, shape_of


@inlets.register(Partition)
@inlets.register(Top)
def _(node: Partition | Top, at: Lowering, steady: bool = True) -> tuple[Inlet, ...]:
    key = tuple((f"key_{i}", text) for i, text in enumerate(node.per, 1))
    return (inlet(node.input, at, delivery="null_key", key=key, key_schema=at.schemas.keys[str(node.name)].ddl),)


for _kind in (Partition, Top):
    shape.register(_kind, shape_of)
    lower.register(_kind, lowered)
