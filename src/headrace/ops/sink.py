"""Where rows go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import Any

import headrace.ports as ports
from headrace.errors import PlanError, here
from headrace.ops.columns import label
from headrace.plan import Node, Role, node
from headrace.ports.options import wrong

MODES = ("append", "upsert", "changes")


@node("sink", Role.SINK)
class Sink(Node):
    """A connector with its options, fed by a stream.

    >>> import headrace as hr
    >>> charges = hr.read.memory([("a", 1)], "card string, amount int", name="charges")
    >>> hr.job("copy", charges.write.files("out/charges", format="json")).plan.sinks
    ('charges.files',)
    """

    input: Node
    connector: str
    options: Mapping[str, Any]
    mode: str = "append"
    live: ports.Sink | None = field(default=None, metadata={"stored": False})

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns

    @property
    def verb(self) -> str:
        return self.connector

    def connect(self) -> ports.Sink:
        """The connector's own object: the one the user made, or one made of what the plan stored."""
        return self.live or ports.sink_class(self.connector).from_options(self.options)

    def describe(self) -> str:
        return self.connect().describe()


def sink(input: Node, connected: ports.Sink, mode: str | None, name: str | None) -> Sink:
    if mode is not None and mode not in MODES:
        raise wrong(f"write.{connected.connector}: mode cannot be {mode!r}", f"it is one of: {', '.join(MODES)}")
    accepts = connected.traits.accepts
    kind = "append"  # no verb makes another one yet
    if (mode or kind) not in accepts:
        raise PlanError(
            "SINK_KIND",
            f"{connected.connector} cannot be written with mode={mode!r}",
            hint=f"it takes: {', '.join(accepts)}",
            site=here(),
        )
    if not input.columns:
        raise PlanError(
            "NO_COLUMNS", f"{label(input)} has no columns to write", hint="write one of its other outputs: .output(...)", site=here()
        )
    connected.check(input.columns)
    return Sink(input, connected.connector, connected.options(), mode or kind, connected, name=name, site=here())
