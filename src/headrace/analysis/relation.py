"""What the check and the kernel read of a relational operator: its texts, without types and routes."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from headrace.ops import Aggregate, AsOf, Consolidate, Join, Ledger, Lookup, Partition, Sessions, Temporal, Top, Upserts, unique
from headrace.plan import Node
from headrace.syntax import quote

Json = dict[str, Any]


def relation_inputs(node: Node) -> tuple[Node, ...]:
    """The inputs whose columns its texts are over."""
    return (node.input,) if isinstance(node, Aggregate) else node.inputs


@singledispatch
def relation(node: Node) -> Json:
    raise TypeError(f"{node!r} is no relational operator")


@relation.register(Consolidate)
@relation.register(Ledger)
def _(node: Consolidate | Ledger) -> Json:
    return {}


@relation.register
def _(node: Join) -> Json:
    return {"how": node.how, "keys": _lists(node.keys), "condition": node.condition, "mark": node.mark}


@relation.register
def _(node: AsOf) -> Json:
    told = {"how": node.how, "keys": _lists(node.keys), "time": list(node.time), "direction": node.direction, "within_us": node.within_us}
    return {**told, "shared": list(node.shared), "emit": node.emit, "clock": node.clock}


@relation.register
def _(node: Lookup) -> Json:
    keys = [[mine, quote(theirs)] for mine, theirs in node.keys]
    return {"keys": keys, "table": node.schema, "given": _lists(node.given)}


@relation.register
def _(node: Aggregate) -> Json:
    return {"keys": _lists(node.keys), "aggregates": _lists(node.aggregates), "global": not node.keys}


@relation.register
def _(node: Partition) -> Json:
    return {"per": list(node.per), "order": _lists(node.order), "functions": _lists(node.functions)}


@relation.register
def _(node: Top) -> Json:
    return {"per": list(node.per), "order": _lists(node.order), "count": node.count, "offset": node.offset, "ties": node.ties}


@relation.register
def _(node: Sessions) -> Json:
    told = {"per": list(node.per), "time": node.time, "gap_us": node.gap_us, "until": node.until, "names": list(node.names)}
    return {**told, "emit": node.emit}


@relation.register
def _(node: Temporal) -> Json:
    return {"since": list(node.since), "until": list(node.until)}


@relation.register
def _(node: Upserts) -> Json:
    alone = not node.last and unique(node.input, node.key)
    return {"by": list(node.key), "last": node.last, "pairs": node.pairs, "unique": alone, "replaces": node.replaces}


def _lists(items: tuple[tuple[str, ...], ...]) -> list[list[str]]:
    return [list(item) for item in items]
