"""A lookup in a query document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.ops import Lookup, Upserts
from headrace.ops.lookup import MISSED
from headrace.spark.compile.lower.operator import Inlet, Lowering, inlets
from headrace.spark.compile.lower.relation import site_of
from headrace.spark.compile.texts import LookupText, OutputText


@inlets.register
def _(node: Lookup, at: Lowering, steady: bool = True) -> tuple[Inlet, ...]:
    name = str(node.name)
    # Behind it only what comes with a row tells where the row was read.
    order = "position" if any(isinstance(one, Upserts) and one.last for one in at.plan.nodes.values()) else None
    return (
        Inlet(
            node.input,
            "input",
            0,
            at.schemas.of[str(node.input.name)].ddl,
            "looked_up",
            tuple((f"key_{i}", text) for i, (text, _) in enumerate(node.keys, 1)),
            at.schemas.keys[name].ddl,
            order=order,
        ),
    )


def looked_up(node: Lookup, op: int, ask: Mapping[str, Any], dead: str, at: Lowering) -> LookupText:
    """The lookup with its outputs, without their routes. `ask` is what its connector says of how it is asked, nothing for a whole table."""
    name = str(node.name)
    rows = at.schemas.of[str(node.input.name)].ddl
    outputs = {"main": at.schemas.of[name].ddl, MISSED: rows, "dead_letter": dead}
    return LookupText(
        op=op,
        name=name,
        site=site_of(node),
        schema=rows,
        key=at.schemas.keys[name].ddl,
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
