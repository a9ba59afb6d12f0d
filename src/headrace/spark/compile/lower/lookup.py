"""A lookup in a query document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.ops import Lookup
from headrace.ops.inlet import Json
from headrace.ops.lookup import MISSED
from headrace.spark.compile.lower.operator import Lowering


def looked_up(node: Lookup, op: int, ask: Mapping[str, Any], dead: str, at: Lowering) -> Json:
    """The lookup with its outputs, without their routes. `ask` is what its connector says of how it is asked, nothing for a whole table."""
    name = str(node.name)
    return {
        "op": op,
        "name": name,
        "site": node.line,
        "schema": at.schema(node.input).ddl,
        "key": at.key_schema(node),
        "table": node.schema,
        "by": [theirs for _, theirs in node.keys],
        "given": [theirs for _, theirs in node.given],
        "how": node.how,
        "cache_ms": node.cache_ms,
        "cache_keys": node.cache_keys,
        "batch": node.batch,
        "in_flight": node.in_flight,
        "retry_ms": node.retry_ms,
        "refresh_ms": node.connect().refresh_ms,
        "constant": node.repeatable,
        "ask": dict(ask) or None,
        "outputs": [
            {"name": "main", "schema": at.schema(node).ddl, "time": None, "routes": []},
            {"name": MISSED, "schema": at.schema(node.input).ddl, "time": None, "routes": []},
            {"name": "dead_letter", "schema": dead, "time": None, "routes": []},
        ],
    }
