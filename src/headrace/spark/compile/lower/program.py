"""A state program in a query document."""

from __future__ import annotations

from typing import Any

from headrace.ops import Program, event_time
from headrace.spark.compile.feeds import origin
from headrace.spark.compile.fields import CellText, InputText, KeptCellText, LayoutText, OldLayoutText, OutputText, ProgramText
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


def lowered(node: Program, entry: Entry, at: Lowering) -> ProgramText:
    """The program with its outputs, without their routes."""
    name, now = str(node.name), entry.layouts[-1]
    return ProgramText(
        name=name,
        site=node.line,
        kind=node.op,
        order=node.order,
        clock=node.clock,
        inputs=tuple(
            InputText(name=one, side=side, schema=at.schema(stream).ddl, broadcast=one in node.broadcast, judged=_judged(node, one, at))
            for side, (one, stream) in enumerate(zip(node.names, node.streams, strict=True))
        ),
        cells=tuple(
            CellText(**_stored(cell), site=None if traced.site is None else str(traced.site))
            for cell, traced in zip(now.cells, node.traced.cells, strict=True)
        ),
        handlers=node.handlers,
        outputs=tuple(
            OutputText(name=output, schema=at.schemas.output(name, output).ddl, time=node.output_time(output), routes=())
            for output in node.outputs
        ),
        op=entry.op,
        level=entry.shape.level,
        key=entry.shape.key,
        layout=_layout_of(entry),
    )


def kept(node: Program, entry: Entry) -> ProgramText:
    """The program as a checkpoint knows it: its cells, and the rows of its inputs, some of which it may hold."""
    shape = entry.shape
    return ProgramText(
        name=shape.name,
        site=None,
        kind=shape.kind,
        order=shape.order,
        clock=shape.clock,
        # inputs are numbered as the plan has them
        inputs=tuple(
            InputText(name=name, side=side, schema=given.schema, broadcast=name in node.broadcast)
            for side, (name, given) in enumerate(shape.inputs.items())
        ),
        cells=tuple(CellText(**_stored(cell), site=None) for cell in entry.layouts[-1].cells),
        handlers=(),
        outputs=(),
        op=entry.op,
        level=shape.level,
        key=shape.key,
        layout=_layout_of(entry),
    )


def _judged(node: Program, name: str, at: Lowering) -> bool:
    """Whether the rows of an input may be late."""
    return node.order == "time" and at.may_be_late(node, name, node.stream(name), ".process(P, derived=stream.key_by(...))")


def _layout_of(entry: Entry) -> LayoutText:
    """How the cells of a program lie, and lay in the versions before."""
    *older, now = entry.layouts
    return LayoutText(
        number=now.number,
        old=tuple(OldLayoutText(number=old.number, cells=tuple(kept_cell(cell) for cell in old.cells)) for old in older),
    )


def kept_cell(cell: Cell) -> KeptCellText:
    """A cell as it is stored."""
    return KeptCellText(**_stored(cell))


def _stored(cell: Cell) -> dict[str, Any]:
    """What a layout says of a cell; a former name is no part of it."""
    return {name: getattr(cell, name) for name in ("id", "name", "kind", "type", "key", "sql", "expires_ms", "computed")}
