"""Sessions in a query document."""

from __future__ import annotations

from dataclasses import replace

from headrace.ops import Sessions, ended
from headrace.ops.program import LATE
from headrace.ops.window import NULL_TIME
from headrace.schema import Struct
from headrace.spark.compile.identity import Entry, Shape
from headrace.spark.compile.lower.operator import Inlet, Json, Lowering, inlets, lower, shape
from headrace.spark.compile.lower.relation import inlet, lowered, shape_of, site_of
from headrace.syntax import quote


@inlets.register
def _(node: Sessions, at: Lowering, steady: bool = True) -> tuple[Inlet, ...]:
    """Rows with the span of each as the first columns, so that they come in the order of time, then of all columns."""
    start, end = _unused(node, "_start"), _unused(node, "_end")
    until = node.until or f"timestampadd(MICROSECOND, {node.gap_us}L, {node.time})"
    columns = [[column, quote(column)] for column in node.input.columns]
    told = {"node": str(node.name), "site": site_of(node)}
    spans: tuple[Json, ...] = (
        {"where": f"({node.time}) IS NOT NULL", "reason": NULL_TIME, **told},
        {"project": [[start, node.time], [end, until], *columns], **told},
        {"where": f"{end} > {start}", **told},
    )
    key = tuple((f"key_{i}", text) for i, text in enumerate(node.per, 1))
    made = inlet(node.input, at, delivery="null_key", key=key, key_schema=at.schemas.keys[str(node.name)].ddl, order="columns", steps=spans)
    time = _type(at.schemas.of[str(node.name)], node.names[0])
    return (replace(made, schema=f"{start} {time}, {end} {time}, {made.schema}"),)


def _unused(node: Sessions, name: str) -> str:
    """A name that no column has."""
    while name in (column.lower() for column in node.input.columns):
        name += "_"
    return name


def _type(schema: Struct, name: str) -> str:
    return next(str(field.type) for field in schema.fields if field.name == name)


@shape.register
def _(node: Sessions, level: int, at: Lowering) -> Shape:
    return replace(shape_of(node, level, at), clock="none" if ended(node) is None else "event")


@lower.register
def _(node: Sessions, entry: Entry, at: Lowering) -> Json:
    end = ended(node)
    made = lowered(node, entry, at) | {"clock": "none" if end is None else "event"}
    if end is not None:
        made |= {"lateness_ms": end.lateness_ms, "judged": end.straight}
        if end.straight:
            late = at.schemas.of[str(node.input.name)].ddl
            made["outputs"].append({"name": LATE, "schema": late, "time": None, "routes": []})
    return made
