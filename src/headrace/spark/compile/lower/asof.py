"""A join of rows with their versions in a query document."""

from __future__ import annotations

from dataclasses import replace

from headrace.ops import AsOf
from headrace.plan import Node
from headrace.spark.compile.identity import Entry, Shape
from headrace.spark.compile.lower.join import LEFT, RIGHT, met
from headrace.spark.compile.lower.operator import Inlet, Json, Lowering, inlets, lower, shape
from headrace.spark.compile.lower.relation import inlet, lowered, shape_of, site_of
from headrace.spark.compile.times import judged
from headrace.syntax import quote


@inlets.register
def _(node: AsOf, at: Lowering, steady: bool = True) -> tuple[Inlet, ...]:
    return tuple(_inlet(node, side, name, stream, at) for name, side, stream in (("right", RIGHT, node.right), ("left", LEFT, node.left)))


def _inlet(node: AsOf, side: int, name: str, stream: Node, at: Lowering) -> Inlet:
    """Rows with their time as the first column, so that those of a side come in the order of time, then of all columns."""
    text = node.time[0 if side == LEFT else 1]
    time = "_time"
    while time in (column.lower() for column in stream.columns):
        time += "_"
    items = [[time, text], *([column, quote(column)] for column in stream.columns)]
    timed = {"project": items, "node": str(node.name), "site": site_of(node)}
    key, schema, steps = met(node, side, stream, at)
    made = inlet(stream, at, delivery="null_key", key=key, key_schema=schema, name=name, side=side, order="columns", steps=(*steps, timed))
    return replace(made, schema=f"{time} timestamp, {made.schema}")


@shape.register
def _(node: AsOf, level: int, at: Lowering) -> Shape:
    _judged(node, at)  # refuses inputs of which it cannot be told
    return replace(shape_of(node, level, at), clock=node.clock)


@lower.register
def _(node: AsOf, entry: Entry, at: Lowering) -> Json:
    made = lowered(node, entry, at)
    judges = _judged(node, at)
    made["inputs"] = [{**one, "judged": judges[one["name"]]} for one in made["inputs"]]
    for output in node.outputs:
        late = node.late(output)
        if late is not None:
            made["outputs"].append({"name": output, "schema": at.schemas.of[str(late.name)].ddl, "time": None, "routes": []})
    return made


def _judged(node: AsOf, at: Lowering) -> dict[str, bool]:
    """By the name of the input, whether its rows may be late."""
    apart = "join them by themselves, and unite what comes of it"
    sides = {"right": node.right, "left": node.left}
    return {name: node.clock == "event" and judged(at.plan, node, name, at.feeds.into(side), apart) for name, side in sides.items()}
