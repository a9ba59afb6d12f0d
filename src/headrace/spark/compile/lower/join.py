"""A join in a query document: which rows of its sides can meet, and in which group."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.ops import AsOf, Join
from headrace.plan import Node
from headrace.schema import Struct
from headrace.spark.compile.lower.operator import Inlet, Json, Lowering, inlets, lower, shape
from headrace.spark.compile.lower.relation import inlet, lowered, only_added, shape_of, site_of
from headrace.syntax import quote

RIGHT, LEFT = 0, 1

Key = list[tuple[str, str]]

# Which sides keep rows that meet none.
_KEPT = {"left": (LEFT,), "anti": (LEFT,), "existence": (LEFT,), "full": (LEFT, RIGHT)}


@inlets.register
def _(node: Join, at: Lowering, steady: bool = True) -> tuple[Inlet, ...]:
    if not node.keys:
        return _sharded(node, at)
    # Rows of two streams to which rows are only added meet in any order.
    order = None if node.how == "inner" and only_added(node) else "rows"
    return tuple(
        inlet(stream, at, delivery="null_key", key=key, key_schema=schema, name=name, side=side, order=order, steps=steps)
        for name, side, stream in (("right", RIGHT, node.right), ("left", LEFT, node.left))
        for key, schema, steps in [met(node, side, stream, at, node.null_safe)]
    )


def met(node: AsOf | Join, side: int, stream: Node, at: Lowering, null_safe: Sequence[int] = ()) -> tuple[Key, str, tuple[Json, ...]]:
    """The key of a side with its schema, and the step that leaves out rows which can meet none and are not kept."""
    texts = [pair[0 if side == LEFT else 1] for pair in node.keys]
    plain = [i for i in range(len(texts)) if i not in null_safe]
    none = " OR ".join(f"({texts[i]}) IS NULL" for i in plain)
    key = [(f"key_{i}", text) for i, text in enumerate(texts, 1)]
    schema = at.schemas.keys[str(node.name)].ddl
    kept = side in _KEPT.get(node.how, ())
    steps = () if kept or not plain else ({"where": f"NOT ({none})", "node": str(node.name), "site": site_of(node)},)
    if node.how in _KEPT and plain:
        schema += ", spread int"
        key.append(("spread", f"CASE WHEN {none} THEN {_spread(stream, side, at)} END" if kept else "CAST(NULL AS int)"))
    return key, schema, steps


def _sharded(node: Join, at: Lowering) -> tuple[Inlet, ...]:
    """Without keys all rows can meet: each left row is in one shard, each right row in all; a right row kept for itself needs one shard."""
    shards = 1 if node.how == "full" else None
    order = None if node.how == "inner" and only_added(node) else "rows"
    schema = at.schemas.keys[str(node.name)].ddl
    return (
        inlet(node.right, at, delivery="shards", key_schema=schema, name="right", side=RIGHT, order=order, shards=shards),
        inlet(node.left, at, delivery="shard", key_schema=schema, name="left", side=LEFT, order=order, shards=shards),
    )


def _spread(stream: Node, side: int, at: Lowering) -> str:
    """Rows with a null in their key meet nobody, and each goes to one of many groups of its side: they would make one group huge."""
    columns = ", ".join(quote(field.name) for field in _hashable(at.schemas.of[str(stream.name)]).fields)
    return f"CAST({64 * side} + pmod(xxhash64({columns or '1'}), 64) AS int)"


def _hashable(schema: Struct) -> Struct:
    """The columns that Spark can hash: no maps, and nothing that may have some inside."""
    return Struct(tuple(field for field in schema.fields if not any(word in str(field.type) for word in ("map<", "variant", "struct<"))))


shape.register(Join, shape_of)
lower.register(Join, lowered)
