"""Relational operators in a query document: what of them is alike. The rest each says itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace

from headrace.ops.facts.carried import EVENT, PROCESSING
from headrace.ops.facts.closing import closing
from headrace.ops.facts.interval import Interval
from headrace.ops.facts.kind import only_added
from headrace.ops.facts.outputs import DEAD_SCHEMA, LATE, LATE_RIGHT
from headrace.ops.parts import ClosesText, EndingText, ExpiresText, IntervalText, NearText
from headrace.ops.relational import Relational
from headrace.plan.codec import encode, without_sites
from headrace.schema import Struct, parse_schema
from headrace.spark.compile.fields import InputText, OutputText, RelationalText
from headrace.spark.compile.identity import Entry, InputShape, Shape
from headrace.spark.compile.lower.operator import Lowering


def shape_of(node: Relational, level: int, at: Lowering) -> Shape:
    """What any of them keeps: nothing that another one could read."""
    name = str(node.name)
    found = node.inlets(at)
    node.late_inputs(at)  # refuses inputs of which it cannot be told
    content = without_sites(encode(node, {node: name, **{before: str(before.name) for before in node.inputs}}))
    ending = _ending(node, found[0].key_schema, {inlet.name: inlet.side for inlet in found})
    content |= {"inputs": [inlet.schema for inlet in found], "key": found[0].key_schema}
    content |= {} if ending is None else ending.to_json()
    del content["name"]
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
    inputs = {inlet.name: InputShape(inlet.schema, (), ()) for inlet in sorted(found, key=lambda inlet: inlet.side)}
    return Shape(name, node.op, level, found[0].key_schema, "", node.clock_kept(ending), inputs, (), node.site, digest)


def lowered(node: Relational, entry: Entry, at: Lowering) -> RelationalText:
    """The operator with its outputs, without their routes."""
    found = node.inlets(at)
    ending = _ending(node, found[0].key_schema, {inlet.name: inlet.side for inlet in found})
    late = node.late_inputs(at)
    outputs = {"main": at.schema(node).ddl, "dead_letter": DEAD_SCHEMA}
    outputs |= {output: at.schema(stream).ddl for output, stream in node.late_rows(ending).items()}
    return RelationalText(
        op=entry.op,
        name=str(node.name),
        site=node.line,
        kind=node.op,
        key=found[0].key_schema,
        inputs=tuple(InputText(name=one.name, side=one.side, schema=one.schema, judged=late.get(one.name)) for one in found),
        append=only_added(node),
        relation=node.relation(),
        ending=ending,
        outputs=tuple(OutputText(name=output, schema=schema, time=None, routes=()) for output, schema in outputs.items()),
        timing=node.timing(),
    )


def kept(node: Relational, entry: Entry) -> RelationalText:
    """The operator as a checkpoint knows it, by the shape that is stored there: without its outputs and its time."""
    shape = entry.shape
    return RelationalText(
        op=entry.op,
        name=shape.name,
        site=None,
        kind=shape.kind,
        key=_named_key(node, shape.key),
        # they are stored in the order of their sides
        inputs=tuple(InputText(name=name, side=side, schema=given.schema) for side, (name, given) in enumerate(shape.inputs.items())),
        append=only_added(node),
        relation=node.relation(),
        ending=_ending(node, shape.key, {name: side for side, name in enumerate(shape.inputs)}),
        outputs=(),
        timing=None,
    )


def _named_key(node: Relational, key: str) -> str:
    """The key's columns, `key_1` and so on, by the names of what they are: those of the columns that they are computed of alone."""
    stored = parse_schema(key).fields if key else ()
    # A join has one more column in its key where rows without partners are spread, and where it has no keys.
    named = [replace(field, name=name or field.name) for field, name in zip(stored, node.key_names, strict=False)]
    made = Struct((*named, *stored[len(named) :]))
    clash = len({name.lower() for name in made.names}) < len(made.names)
    return key if clash else made.ddl


def _ending(node: Relational, key: str, sides: Mapping[str, int]) -> EndingText | None:
    """What ends its groups, with the output for late rows of each side; `sides` are the numbers of its inputs.

    That is either when they close, as text over their key, and whether it waits until then to say anything; or after how long without
    rows they are forgotten; or when the rows of a join end one by one.
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
        # Early is not "close", by which an operator would say nothing before.
        emit="early" if group.early_ms else group.emit,
        early_ms=group.early_ms or None,
        ends=group.text(names, late=False) if group.early_ms else None,
        # Left out for event time, so that documents and digests stay as they were.
        by=None if EVENT in group.clocks else PROCESSING,
    )


def _interval(near: Interval) -> IntervalText:
    """Which rows of a join are near enough to meet, and how long they are kept."""
    left, right = near.delays
    return IntervalText(
        times=near.times, lower_us=near.lower_us, upper_us=near.upper_us, kept_us=near.kept_us, delays_us=(left.us, right.us)
    )
