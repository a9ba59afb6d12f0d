"""A lookup in a query document. It keeps no state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.ops import Lookup
from headrace.ops.lookup import MISSED
from headrace.ops.parts import OutputText
from headrace.spark.compile.fields import LookupText
from headrace.spark.compile.lower.operator import Lowering


def looked_up(node: Lookup, op: int, ask: Mapping[str, Any], dead: str, at: Lowering) -> LookupText:
    """Return the lookup with its outputs, without their routes. `ask` is its connector's way to query the table, empty for a whole one."""
    rows = at.schema(node.input).ddl
    outputs = {"main": at.schema(node).ddl, MISSED: rows, "dead_letter": dead}
    return LookupText(
        op=op,
        name=str(node.name),
        site=node.line,
        schema=rows,
        key=at.key_schema(node),
        table=node.schema,
        by=tuple(theirs for _, theirs in node.keys),
        given=tuple(theirs for _, theirs in node.given),
        how=node.how,
        cache_ms=node.cache_ms,
        cache_keys=node.cache_keys,
        batch=node.batch,
        in_flight=node.in_flight,
        retry_ms=node.retry_ms,
        refresh_ms=node.connect().refresh_ms,
        constant=node.repeatable,
        ask=dict(ask) or None,
        outputs=tuple(OutputText(name=output, schema=schema, time=None, routes=()) for output, schema in outputs.items()),
    )
