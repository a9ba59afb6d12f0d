"""Relational operators in a query document: what of them is alike."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from headrace.analysis.relation import relation
from headrace.ops import Join, forgets_after, groups, intervals, judged
from headrace.ops.facts.closing import EVENT, PROCESSING
from headrace.ops.facts.kind import kinds
from headrace.ops.output import LATE_RIGHT
from headrace.ops.program import LATE
from headrace.ops.source import DEAD_SCHEMA as DEAD
from headrace.plan import Node
from headrace.plan.codec import encode, without_sites
from headrace.schema import parse_schema
from headrace.spark.compile.identity import Entry, InputShape, Shape
from headrace.spark.compile.lower.operator import Inlet, Json, Lowering, inlets


def shape_of(node: Node, level: int, at: Lowering) -> Shape:
    """What any of them keeps: nothing that another one could read."""
    name = str(node.name)
    found = inlets(node, at)
    content = without_sites(encode(node, {node: name, **{before: str(before.name) for before in node.inputs}}))
    ending = _ending(node, found)
    content |= {"inputs": [inlet.schema for inlet in found], "key": found[0].key_schema, **ending}
    del content["name"]
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
    inputs = {inlet.name: InputShape(inlet.schema, (), ()) for inlet in sorted(found, key=lambda inlet: inlet.side)}
    clock = ending.get("by", EVENT) if ending else "none"
    return Shape(name, node.op, level, found[0].key_schema, "", clock, inputs, (), node.site, digest)


def lowered(node: Node, entry: Entry, at: Lowering) -> Json:
    """The operator with its outputs, without their routes."""
    name = str(node.name)
    found = inlets(node, at)
    ending = _ending(node, found)
    late: list[Json] = [
        {"name": output, "schema": at.schemas.of[str(stream.name)].ddl, "time": None, "routes": []}
        for output, stream in zip((LATE, LATE_RIGHT), node.inputs, strict=False)
        if ending and output in ending["late"]
    ]
    return {
        "op": entry.op,
        "name": name,
        "site": site_of(node),
        "kind": node.op,
        "key": found[0].key_schema,
        "inputs": [{"name": inlet.name, "side": inlet.side, "schema": inlet.schema} for inlet in found],
        "append": only_added(node),
        **relation(node),
        **ending,
        "outputs": [
            {"name": "main", "schema": at.schemas.of[name].ddl, "time": None, "routes": []},
            {"name": "dead_letter", "schema": DEAD, "time": None, "routes": []},
            *late,
        ],
    }


def _ending(node: Node, found: Sequence[Inlet]) -> Json:
    """What ends its groups, with the output for late rows of each side.

    That is either when they close, as text over their key, and whether it waits until then to say anything; or after how long without
    rows they are forgotten; or when the rows of a join end one by one.
    """
    group, after, near = groups([node]).get(node), forgets_after(node), interval_of(node)
    if group is None and after is None and not near:
        return {}
    sides = sorted(found, key=lambda inlet: LATE_RIGHT if inlet.name == "right" else LATE)
    of = zip((LATE, LATE_RIGHT), judged(node), strict=False)
    late = {output: inlet.side for (output, is_judged), inlet in zip(of, sides, strict=False) if is_judged}
    if isinstance(node, Join) and near:
        return {**near, "late": late, "emit": node.emit}
    if group is None:
        return {"expires_us": 1000 * (after or 0), "late": late}
    names = parse_schema(found[0].key_schema).names
    made: Json = {"closes": group.text(names), "late": late, "emit": group.emit}
    if group.early_ms:
        # Not "close", by which an operator would say nothing before.
        made |= {"emit": "early", "early_ms": group.early_ms, "ends": group.text(names, late=False)}
    # Left out for event time, so that documents and digests stay as they were.
    return made if EVENT in group.clocks else {**made, "by": PROCESSING}


def interval_of(node: Node) -> Json:
    """Which rows of a join are near enough to meet, and how long they are kept; nothing where it keeps them for ever, or by groups."""
    near = intervals([node]).get(node)
    if near is None:
        return {}
    told = {"times": near.times, "lower_us": near.lower_us, "upper_us": near.upper_us, "kept_us": near.kept_us}
    return {"interval": {**told, "delays_us": [delay.us for delay in near.delays]}}


def site_of(node: Node) -> str | None:
    """The user's line, as documents have it."""
    return None if node.site is None else str(node.site)


def only_added(node: Node) -> bool:
    """Whether rows are only ever added to its inputs."""
    found = kinds([node])
    return all(found[before] == "append" for before in node.inputs)


def inlet(
    stream: Node,
    at: Lowering,
    *,
    delivery: str,
    key: Sequence[tuple[str, str]] = (),
    key_schema: str = "",
    name: str = "input",
    side: int = 0,
    order: str | None = "rows",
    steps: tuple[Json, ...] = (),
    shards: int | None = None,
) -> Inlet:
    """An input that takes the rows of a stream."""
    schema = at.schemas.of[str(stream.name)].ddl
    combines = order in (None, "rows")
    return Inlet(stream, name, side, schema, delivery, tuple(key), key_schema, None, order, steps, shards, combines)
