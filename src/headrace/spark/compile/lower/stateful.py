"""Operators with state in checkpoints and query documents: the common part. Each operator declares the rest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from headrace.ops.facts.carried import EVENT, PROCESSING
from headrace.ops.facts.closing import closing
from headrace.ops.facts.interval import Interval
from headrace.ops.facts.outputs import LATE, LATE_RIGHT
from headrace.ops.inlet import Inlet
from headrace.ops.parts import (
    CellText,
    ClosesText,
    EndingText,
    ExpiresText,
    Frame,
    InputText,
    IntervalText,
    KeptCellText,
    LayoutText,
    NearText,
    OldLayoutText,
    ProgramText,
    RelationalText,
)
from headrace.ops.relational import Stateful
from headrace.plan.codec import encode, without_sites
from headrace.schema import Struct, parse_schema
from headrace.spark.compile.feeds import lineage
from headrace.spark.compile.identity import Entry
from headrace.spark.compile.layout import Cell
from headrace.spark.compile.lower.operator import Lowering
from headrace.spark.compile.shapes import InputShape, Shape
from headrace.syntax import references


def shape(node: Stateful, level: int, at: Lowering) -> Shape:
    """Return the shape of an operator: what it keeps between epochs."""
    inlets = node.inlets(at)
    node.late_inputs(at)  # refuses inputs whose lateness cannot be decided
    ending = _ending(node, inlets[0].key_schema, {inlet.name: inlet.side for inlet in inlets})
    cells = tuple(
        Cell(cell.name, cell.kind, cell.type, cell.was, key=cell.key, sql=cell.sql, expires_ms=cell.expires_ms, computed=cell.computed)
        for cell in node.cells
    )
    return Shape(
        str(node.name),
        node.op,
        level,
        inlets[0].key_schema,
        node.order_kept,
        node.clock_kept(ending),
        {inlet.name: _input(node, inlet, at) for inlet in sorted(inlets, key=lambda inlet: inlet.side)},
        cells,
        node.site,
        content=_content(node, inlets, ending, [str(before.name) for before in node.inputs]),
        says=_content(node, inlets, ending, [""] * len(node.inputs)),
    )


def _input(node: Stateful, inlet: Inlet, at: Lowering) -> InputShape:
    """Return an input, and where its key and time come from: the state of an edited operator is valid only if these are the same."""
    if not node.outlives_edits:
        return InputShape(inlet.schema, (), ())
    feeds = at.feeds.before_lookups(inlet.stream)
    used = [references(text) for _, text in inlet.key]
    columns = None if None in used else tuple(path[0] for paths in used for path in paths or ())
    time = (inlet.time,) if inlet.order == "time" and inlet.time is not None else ()
    return InputShape(
        inlet.schema,
        (*(text for _, text in inlet.key), *sorted(line for feed in feeds for line in lineage(feed, columns))),
        tuple(sorted(line for feed in feeds for line in lineage(feed, time))) if time else (),
    )


def _content(node: Stateful, inlets: tuple[Inlet, ...], ending: EndingText | None, inputs: Sequence[str]) -> str:
    """Return a hash of all that an operator declares: its state is of no use to another. `inputs` are its names for its inputs."""
    if node.outlives_edits:
        return ""
    content = without_sites(encode(node, {node: str(node.name), **dict(zip(node.inputs, inputs, strict=True))}))
    content |= {"inputs": [inlet.schema for inlet in inlets], "key": inlets[0].key_schema}
    content |= {} if ending is None else ending.to_json()
    del content["name"]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def lower(node: Stateful, entry: Entry, at: Lowering) -> ProgramText | RelationalText:
    """Return an operator in a query document, with its outputs, without their routes."""
    inlets, late = node.inlets(at), node.late_inputs(at)
    inputs = tuple(InputText(name=one.name, side=one.side, schema=one.schema, judged=late.get(one.name)) for one in inlets)
    sites = tuple(None if cell.site is None else str(cell.site) for cell in node.cells)
    return node.text(_frame(node, entry, inlets[0].key_schema, inputs, node.line, sites), at)


def kept(node: Stateful, entry: Entry) -> ProgramText | RelationalText:
    """Return an operator of a checkpoint as in a query document, as far as a checkpoint knows it: enough to decode what it keeps."""
    shape = entry.shape
    # stored in the order of their sides
    inputs = tuple(InputText(name=name, side=side, schema=one.schema) for side, (name, one) in enumerate(shape.inputs.items()))
    frame = _frame(node, entry, shape.key, inputs, None, (None,) * len(entry.layouts[-1].cells))
    return node.text(replace(frame, key=_named_key(node, shape.key)), None)


def _frame(node: Stateful, entry: Entry, key: str, inputs: tuple[InputText, ...], site: str | None, sites: tuple[str | None, ...]) -> Frame:
    *older, now = entry.layouts
    old = tuple(OldLayoutText(number=one.number, cells=tuple(kept_cell(cell) for cell in one.cells)) for one in older)
    return Frame(
        op=entry.op,
        level=entry.shape.level,
        name=entry.shape.name,
        site=site,
        kind=entry.shape.kind,
        order=entry.shape.order,
        clock=entry.shape.clock,
        key=key,
        inputs=inputs,
        ending=_ending(node, key, {one.name: one.side for one in inputs}),
        cells=tuple(CellText(**_stored(cell), site=line) for cell, line in zip(now.cells, sites, strict=True)),
        layout=LayoutText(number=now.number, old=old),
    )


def kept_cell(cell: Cell) -> KeptCellText:
    """Return a cell as it is stored."""
    return KeptCellText(**_stored(cell))


def _stored(cell: Cell) -> dict[str, Any]:
    """Return the fields of a cell in a layout; a former name is not among them."""
    return {name: getattr(cell, name) for name in ("id", "name", "kind", "type", "key", "sql", "expires_ms", "computed")}


def _named_key(node: Stateful, key: str) -> str:
    """Return the key's columns, `key_1` and so on, renamed to the column each of them is a copy of."""
    stored = parse_schema(key).fields if key else ()
    # The key of a join has one more column if rows without partners are spread, or if it has no keys.
    named = [replace(field, name=name or field.name) for field, name in zip(stored, node.key_names, strict=False)]
    renamed = Struct((*named, *stored[len(named) :]))
    clash = len({name.lower() for name in renamed.names}) < len(renamed.names)
    return key if clash else renamed.ddl


def _ending(node: Stateful, key: str, sides: Mapping[str, int]) -> EndingText | None:
    """Return what ends its groups, with the output for late rows of each side; `sides` are the numbers of its inputs.

    One of these: when groups close, as text over their key, and whether the operator waits until then to emit; after how long without rows
    they are forgotten; or when the rows of a join end one by one.
    """
    columns = closing(node.inputs)
    group, after, near = node.group(columns), node.forgets_after, node.interval(columns)
    if group is None and after is None and near is None:
        return None
    ordered = sorted(sides, key=lambda name: LATE_RIGHT if name == "right" else LATE)
    of = zip((LATE, LATE_RIGHT), node.judged, strict=False)
    late = {output: sides[name] for (output, is_judged), name in zip(of, ordered, strict=False) if is_judged}
    if near is not None:
        return NearText(interval=_interval(near), late=late, emit=near.emit)
    if group is None:
        return ExpiresText(expires_us=1000 * (after or 0), late=late)
    names = parse_schema(key).names
    return ClosesText(
        closes=group.text(names),
        late=late,
        # Not "close", with which an operator would emit nothing early.
        emit="early" if group.early_ms else group.emit,
        early_ms=group.early_ms or None,
        ends=group.text(names, late=False) if group.early_ms else None,
        # Left out for event time, so that documents and digests of earlier versions stay valid.
        by=None if EVENT in group.clocks else PROCESSING,
    )


def _interval(near: Interval) -> IntervalText:
    """Return the range in which rows of a join meet, and how long they are kept."""
    left, right = near.delays
    return IntervalText(
        times=near.times, lower_us=near.lower_us, upper_us=near.upper_us, kept_us=near.kept_us, delays_us=(left.us, right.us)
    )
