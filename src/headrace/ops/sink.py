"""Sinks: where rows go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import field
from functools import cached_property
from typing import Any

import headrace.ports as ports
from headrace.errors import HeadraceError, PlanError, here
from headrace.ops.columns import label
from headrace.ops.facts.carried import Columns
from headrace.ops.facts.closing import Wait
from headrace.ops.facts.keys import Keys
from headrace.ops.facts.kind import kind_of
from headrace.ops.facts.reading import Wanted
from headrace.ops.inlet import Json
from headrace.ops.modes import MODES, as_rows, refused, written
from headrace.ops.operator import Connected, Memoryless, Unary, operator
from headrace.ops.source import plain
from headrace.ops.unclosed import require_closing
from headrace.ops.upserts import shown, upserts
from headrace.plan import Node, Role, node
from headrace.ports.options import choice, restored, wrong

_REFUSED = "on_refused"


@node("sink")
class Sink(Connected, Unary, Memoryless):
    """The end of a stream: a connector with its options.

    >>> import headrace as hr
    >>> charges = hr.read.memory([("a", 1)], "card string, amount int", name="charges")
    >>> hr.job("copy", charges.write.files("out/charges", format="json")).plan.sinks
    ('charges.files',)
    """

    role = Role.SINK

    connector: str
    options: Mapping[str, Any]
    mode: str = field(default="append", metadata={"of": MODES})
    live: ports.Sink | None = field(default=None, metadata={"stored": False})

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns

    @property
    def fits(self) -> bool:
        return bool(self.columns)

    @property
    def verb(self) -> str:
        return self.connector

    @property
    def called(self) -> str:
        with suppress(HeadraceError, KeyError):  # a stored plan may name a connector that is not installed here, or lack an option
            return plain(ports.sink_class(self.connector).called(self.options))
        return ""

    def connect(self) -> ports.Sink:
        return self.live or restored_sink(self.connector, self.options)

    def describe(self) -> str:
        return self.connect().describe()

    def check_request(self) -> Json | None:
        return None

    @property
    def checked_as(self) -> str:
        return operator(self.input).checked_as

    def wait(self, columns: Mapping[Node, Columns]) -> Wait:
        return Wait.NOWHERE

    def kind_after(self, kinds: Mapping[Node, str]) -> str:
        return kinds[self.input]

    def keys_after(self, keys: Mapping[Node, Keys]) -> Keys:
        return keys[self.input]

    def time_after(self, times: Mapping[Node, str | None]) -> str | None:
        return times[self.input]

    def closing_after(self, columns: Mapping[Node, Columns]) -> Columns:
        return columns[self.input]

    def columns_read(self, wanted: Wanted) -> Mapping[str, Wanted]:
        return {}


def sinks_of(nodes: Iterable[Node]) -> tuple[Sink, ...]:
    """Return the sinks among some nodes."""
    return tuple(node for node in nodes if isinstance(node, Sink))


def restored_sink(connector: str, options: Mapping[str, Any]) -> ports.Sink:
    """Return the connector's object for options that a plan stored."""
    verb = f"write.{connector}"
    connected = restored(ports.sink_class(connector), verb, {name: value for name, value in options.items() if name != _REFUSED})
    if _REFUSED in options:
        refuse(connected, options[_REFUSED])
    return connected


def refuse(connected: ports.Sink, what: str) -> None:
    """Set what becomes of rows that a sink cannot write."""
    verb = f"write.{connected.connector}"
    if connected.on_refused is None:
        raise wrong(f"{verb} has no option `{_REFUSED}`", "it takes all rows as they are")
    connected.on_refused = choice(verb, _REFUSED, what, ports.REFUSED)


def options_of(connected: ports.Sink) -> dict[str, Any]:
    """Return what a plan stores of a connector's object."""
    refusals = {_REFUSED: connected.on_refused} if connected.on_refused == "fail" else {}
    return {**connected.options(), **refusals}


def sink(input: Node, connected: ports.Sink, mode: str | None, name: str | None) -> Sink:
    if mode is not None and mode not in MODES:
        raise wrong(f"write.{connected.connector}: mode cannot be {mode!r}", f"it is one of: {', '.join(MODES)}")
    kind = kind_of(input)
    way = written(connected, kind, mode, bool(connected.key))
    if way is None:
        error = refused(input, connected, kind, mode)
        if kind == "changes" and error.code == "SINK_KIND":
            # If a window with `emit="close"` never closes, that is the reason for the retractions.
            require_closing([input])
        raise error
    if connected.key and (way == "upsert" or kind == "changes"):
        replaces = way == "upsert" and connected.traits.replaces
        input, kind = upserts(input, connected.key, kind, replaces=replaces), "changes"
    if as_rows(connected, way):
        input, way = shown(input, kind), "append"
    if not input.columns:
        raise PlanError(
            "NO_COLUMNS", f"{label(input)} has no columns to write", hint="write one of its other outputs: .output(...)", site=here()
        )
    connected.check(input.columns)
    return Sink(input, connected.connector, options_of(connected), way, connected, name=name, site=here())
