"""A state program in a query document."""

from __future__ import annotations

from headrace.ops import Program, event_time
from headrace.ops.inlet import Json
from headrace.spark.compile.feeds import origin
from headrace.spark.compile.identity import PROGRAM, Entry, InputShape, Shape
from headrace.spark.compile.layout import Cell
from headrace.spark.compile.lower.operator import Lowering
from headrace.syntax import references


def shape_of(node: Program, level: int, at: Lowering) -> Shape:
    """What a program keeps: its cells, by the keys of its inputs."""
    inputs: dict[str, InputShape] = {}
    for name, stream, key in zip(node.names, node.streams, node.keys, strict=True):
        feeds = at.feeds.before_lookups(stream)
        _judged(node, name, at)  # refuses inputs of which it cannot be told
        used = [references(text) for _, text in key]
        columns = None if None in used else tuple(path[0] for paths in used for path in paths or ())
        time = event_time(stream) if node.order == "time" else None
        inputs[name] = InputShape(
            at.schema(stream).ddl,
            (*(text for _, text in key), *sorted(line for feed in feeds for line in origin(feed, columns))),
            tuple(sorted(line for feed in feeds for line in origin(feed, (time,)))) if time else (),
        )
    cells = tuple(
        Cell(cell.name, cell.kind, cell.type, cell.was, key=cell.key, sql=cell.sql, expires_ms=cell.expires_ms, computed=cell.computed)
        for cell in node.traced.cells
    )
    return Shape(str(node.name), PROGRAM, level, at.key_schema(node), node.order, node.clock, inputs, cells, node.site)


def lowered(node: Program, entry: Entry, at: Lowering) -> Json:
    """The program with its outputs, without their routes."""
    name = str(node.name)
    made = node.document()
    sides = []
    for one, stream in zip(made["inputs"], node.streams, strict=True):
        schema = at.schema(stream).ddl
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
    return node.order == "time" and at.may_be_late(node, name, node.stream(name), ".process(P, derived=stream.key_by(...))")


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


def kept_inputs(node: Program, entry: Entry) -> Json:
    """The same with the rows of its inputs, some of which it may hold."""
    shape = entry.shape
    return {
        **kept(entry),
        "order": shape.order,
        "clock": shape.clock,
        # inputs are numbered as the plan has them
        "inputs": [
            {"name": name, "side": side, "schema": given.schema, "broadcast": name in node.broadcast}
            for side, (name, given) in enumerate(shape.inputs.items())
        ],
    }
