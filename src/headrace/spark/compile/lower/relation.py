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
from headrace.ops.inlet import Json
from headrace.ops.relational import Relational
from headrace.plan.codec import encode, without_sites
from headrace.schema import Struct, parse_schema
from headrace.spark.compile.identity import Entry, InputShape, Shape
from headrace.spark.compile.lower.operator import Lowering


def shape_of(node: Relational, level: int, at: Lowering) -> Shape:
    """What any of them keeps: nothing that another one could read."""
    name = str(node.name)
    found = node.inlets(at)
    node.late_inputs(at)  # refuses inputs of which it cannot be told
    content = without_sites(encode(node, {node: name, **{before: str(before.name) for before in node.inputs}}))
    ending = _ending(node, found[0].key_schema, {inlet.name: inlet.side for inlet in found})
    content |= {"inputs": [inlet.schema for inlet in found], "key": found[0].key_schema, **ending}
    del content["name"]
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
    inputs = {inlet.name: InputShape(inlet.schema, (), ()) for inlet in sorted(found, key=lambda inlet: inlet.side)}
    return Shape(name, node.op, level, found[0].key_schema, "", node.clock_kept(ending), inputs, (), node.site, digest)


def lowered(node: Relational, entry: Entry, at: Lowering) -> Json:
    """The operator with its outputs, without their routes."""
    found = node.inlets(at)
    ending = _ending(node, found[0].key_schema, {inlet.name: inlet.side for inlet in found})
    late = node.late_inputs(at)
    outputs = {"main": at.schema(node).ddl, "dead_letter": DEAD_SCHEMA}
    outputs |= {output: at.schema(stream).ddl for output, stream in node.late_rows(ending).items()}
    return {
        "op": entry.op,
        "name": str(node.name),
        "site": node.line,
        "kind": node.op,
        "key": found[0].key_schema,
        "inputs": [
            {"name": one.name, "side": one.side, "schema": one.schema, **({"judged": late[one.name]} if one.name in late else {})}
            for one in found
        ],
        "append": only_added(node),
        **node.relation(),
        **ending,
        "outputs": [{"name": output, "schema": schema, "time": None, "routes": []} for output, schema in outputs.items()],
        **node.timing(),
    }


def kept(node: Relational, entry: Entry) -> Json:
    """What an operator in a document says of its state, of which a checkpoint has the shape."""
    shape = entry.shape
    return {
        "op": entry.op,
        "name": shape.name,
        "level": shape.level,
        "key": _named_key(node, shape.key),
        # they are stored in the order of their sides
        "inputs": [{"name": name, "side": side, "schema": given.schema} for side, (name, given) in enumerate(shape.inputs.items())],
        "append": only_added(node),
        **node.relation(),
        **_ending(node, shape.key, {name: side for side, name in enumerate(shape.inputs)}),
    }


def _named_key(node: Relational, key: str) -> str:
    """The key's columns, `key_1` and so on, by the names of what they are: those of the columns that they are computed of alone."""
    stored = parse_schema(key).fields if key else ()
    # A join has one more column in its key where rows without partners are spread, and where it has no keys.
    named = [replace(field, name=name or field.name) for field, name in zip(stored, node.key_names, strict=False)]
    made = Struct((*named, *stored[len(named) :]))
    clash = len({name.lower() for name in made.names}) < len(made.names)
    return key if clash else made.ddl


def _ending(node: Relational, key: str, sides: Mapping[str, int]) -> Json:
    """What ends its groups, with the output for late rows of each side; `sides` are the numbers of its inputs.

    That is either when they close, as text over their key, and whether it waits until then to say anything; or after how long without
    rows they are forgotten; or when the rows of a join end one by one.
    """
    columns = closing(node.inputs)
    group, after, near = node.group(columns), node.forgets_after, node.interval(columns)
    if group is None and after is None and near is None:
        return {}
    ordered = sorted(sides, key=lambda name: LATE_RIGHT if name == "right" else LATE)
    of = zip((LATE, LATE_RIGHT), node.judged, strict=False)
    late = {output: sides[name] for (output, is_judged), name in zip(of, ordered, strict=False) if is_judged}
    if near is not None:
        return {**_interval(near), "late": late, "emit": near.emit}
    if group is None:
        return {"expires_us": 1000 * (after or 0), "late": late}
    names = parse_schema(key).names
    made: Json = {"closes": group.text(names), "late": late, "emit": group.emit}
    if group.early_ms:
        # Not "close", by which an operator would say nothing before.
        made |= {"emit": "early", "early_ms": group.early_ms, "ends": group.text(names, late=False)}
    # Left out for event time, so that documents and digests stay as they were.
    return made if EVENT in group.clocks else {**made, "by": PROCESSING}


def _interval(near: Interval) -> Json:
    """Which rows of a join are near enough to meet, and how long they are kept."""
    times = {"times": near.times, "lower_us": near.lower_us, "upper_us": near.upper_us, "kept_us": near.kept_us}
    return {"interval": {**times, "delays_us": [delay.us for delay in near.delays]}}
