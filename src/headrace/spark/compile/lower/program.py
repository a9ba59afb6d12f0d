"""A state program in a query document."""

from __future__ import annotations

from headrace.analysis.schemas import operator
from headrace.ops import Program, event_time
from headrace.spark.compile.feeds import origin
from headrace.spark.compile.identity import Entry, InputShape, Shape
from headrace.spark.compile.layout import Cell
from headrace.spark.compile.lower.operator import Inlet, Json, Lowering, inlets, lower, shape
from headrace.spark.compile.times import judged
from headrace.syntax import references


@inlets.register
def _(node: Program, at: Lowering, steady: bool = True) -> tuple[Inlet, ...]:
    # Rows that are handled as they come are sorted all the same where a sink counts on a replay being equal.
    order = "time" if node.order == "time" else "columns" if steady else None
    return tuple(
        Inlet(
            stream,
            name,
            side,
            at.schemas.of[str(stream.name)].ddl,
            "shared" if name in node.broadcast else "key",
            key,
            at.schemas.keys[str(node.name)].ddl,
            # an operator without event time takes rows that have none
            event_time(stream) if node.clock == "event" else None,
            order,
        )
        for side, (name, stream, key) in enumerate(zip(node.names, node.streams, node.keys, strict=True))
    )


@shape.register
def _(node: Program, level: int, at: Lowering) -> Shape:
    inputs: dict[str, InputShape] = {}
    for name, stream, key in zip(node.names, node.streams, node.keys, strict=True):
        feeds = at.feeds.before_lookups(stream)
        _judged(node, name, at)  # refuses inputs of which it cannot be told
        used = [references(text) for _, text in key]
        columns = None if None in used else tuple(path[0] for paths in used for path in paths or ())
        time = event_time(stream) if node.order == "time" else None
        inputs[name] = InputShape(
            at.schemas.of[str(stream.name)].ddl,
            (*(text for _, text in key), *sorted(line for feed in feeds for line in origin(feed, columns))),
            tuple(sorted(line for feed in feeds for line in origin(feed, (time,)))) if time else (),
        )
    cells = tuple(
        Cell(cell.name, cell.kind, cell.type, cell.was, key=cell.key, sql=cell.sql, expires_ms=cell.expires_ms, computed=cell.computed)
        for cell in node.traced.cells
    )
    return Shape(str(node.name), "program", level, at.schemas.keys[str(node.name)].ddl, node.order, node.clock, inputs, cells, node.site)


@lower.register
def _(node: Program, entry: Entry, at: Lowering) -> Json:
    name = str(node.name)
    made = operator(node)
    sides = []
    for one, stream in zip(made["inputs"], node.streams, strict=True):
        schema = at.schemas.of[str(stream.name)].ddl
        sides.append(
            {
                "name": one["name"],
                "side": one["side"],
                "schema": schema,
                "broadcast": one["broadcast"],
                "judged": _judged(node, one["name"], at),
            }
        )
    outputs: list[Json] = [
        {"name": output, "schema": at.schemas.output(name, output).ddl, "time": node.output_time(output), "routes": []}
        for output in node.outputs
    ]
    return {
        **made,
        **kept(entry),
        "cells": [{**cell.to_json(), "site": told["site"]} for cell, told in zip(entry.layouts[-1].cells, made["cells"], strict=True)],
        "inputs": sides,
        "outputs": outputs,
    }


def _judged(node: Program, name: str, at: Lowering) -> bool:
    """Whether the rows of an input may be late."""
    return node.order == "time" and judged(at.plan, node, name, at.feeds.into(node.stream(name)))


def kept(entry: Entry) -> Json:
    """What a program in a document says of its state: its number, place and key, its cells, and how they lay in the versions before."""
    *older, now = entry.layouts
    return {
        "op": entry.op,
        "name": entry.shape.name,
        "level": entry.shape.level,
        "key": entry.shape.key,
        "cells": [cell.to_json() for cell in now.cells],
        "layout": {
            "number": now.number,
            "old": [{"number": old.number, "cells": [cell.to_json() for cell in old.cells]} for old in older],
        },
    }
