"""One row for each key, in a query document."""

from __future__ import annotations

from headrace.ops import Upserts
from headrace.spark.compile.lower.operator import Inlet, Lowering, inlets, lower, shape
from headrace.spark.compile.lower.relation import inlet, lowered, shape_of
from headrace.syntax import quote


@inlets.register
def _(node: Upserts, at: Lowering, steady: bool = True) -> tuple[Inlet, ...]:
    key = [(f"key_{i}", quote(name)) for i, name in enumerate(node.key, 1)]
    # Of a row without a key nobody can say which one it replaces; in a result a null is a key as any other.
    delivery, order = ("key", "position") if node.last else ("null_key", "rows")
    return (inlet(node.input, at, delivery=delivery, key=key, key_schema=at.schemas.keys[str(node.name)].ddl, order=order),)


shape.register(Upserts, shape_of)
lower.register(Upserts, lowered)
