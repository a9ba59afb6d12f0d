"""Sources: where rows come from, and their watermarks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from typing import Any

import headrace.ports as ports
from headrace.errors import PlanError, here
from headrace.ops.columns import column_name, label
from headrace.ops.facts.carried import SELF, Closes, Columns
from headrace.ops.facts.closing import Group
from headrace.ops.facts.keys import Keys
from headrace.ops.facts.kind import APPEND
from headrace.ops.facts.outputs import DEAD_LETTER
from headrace.ops.facts.reading import Wanted
from headrace.ops.inlet import Json
from headrace.ops.operator import Connected, Memoryless
from headrace.plan import Fact, Node, Role, node
from headrace.plan.naming import valid_name as valid_name
from headrace.ports.options import restored
from headrace.schema import milliseconds, parse_schema, shown


@dataclass(frozen=True)
class Watermark:
    """How late rows may be: rows older than the newest time by more than the delay are late."""

    column: str
    delay_ms: int
    idle_ms: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {"column": self.column, "delay_ms": self.delay_ms, "idle_ms": self.idle_ms}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Watermark:
        times = [data["delay_ms"], 0 if data["idle_ms"] is None else data["idle_ms"]]
        if len(data) != 3 or not isinstance(data["column"], str) or not all(type(time) is int and time >= 0 for time in times):
            raise ValueError("not a watermark")
        return cls(data["column"], data["delay_ms"], data["idle_ms"])


@node("source")
class Source(Connected, Memoryless):
    """A connector with its options and the schema of its rows; `inferred` if the schema was found by reading.

    >>> import headrace as hr
    >>> charges = hr.read.memory([("a", "2026-01-01 00:00:00")], "card string, ts timestamp", name="charges")
    >>> charges.watermark("ts", "5 minutes")
    <Stream charges: card, ts>
    """

    role = Role.SOURCE

    connector: str
    options: Mapping[str, Any]
    schema: str
    inferred: bool = False
    watermark: Watermark | None = None
    live: ports.Source | None = field(default=None, metadata={"stored": False})

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return parse_schema(self.schema).names

    @property
    def fits(self) -> bool:
        return self.watermark is None or self.watermark.column in self.columns

    @property
    def verb(self) -> str:
        return self.connector

    @property
    def outputs(self) -> tuple[str, ...]:
        return (DEAD_LETTER,)

    def connect(self) -> ports.Source:
        return self.live or restored(ports.source_class(self.connector), f"read.{self.connector}", self.options, parse_schema(self.schema))

    def describe(self) -> str:
        text = self.connect().describe()
        if self.watermark is None:
            return text
        return f"{text}, watermark {self.watermark.column} {shown(self.watermark.delay_ms)}"

    def row_fact(self, kind: str, group: Group | None) -> Fact | None:
        traits = self.connect().traits
        end = "bounded" if traits.bounded else "unbounded"
        by = f", in the order of {'names' if traits.ordered == 'name' else traits.ordered}" if traits.ordered else ""
        return Fact(end, f"{end}, {'append only' if traits.changes == 'append' else 'changes'}{by}")

    @property
    def time_cure(self) -> str:
        if self.watermark is not None:
            return f"keep `{self.watermark.column}`, its watermark column, through all verbs"
        return f'set a watermark: {label(self)}.watermark("ts", "5 minutes")'

    def output_kind(self, output: str, kinds: Mapping[Node, str]) -> str:
        return APPEND

    def check_request(self) -> Json | None:
        mark = None if self.watermark is None else self.watermark.column
        return {"id": self.name, "site": self.line, "schema": self.schema, "watermark": mark}

    def kind_after(self, kinds: Mapping[Node, str]) -> str:
        return self.connect().traits.changes

    def keys_after(self, keys: Mapping[Node, Keys]) -> Keys:
        return ()

    def time_after(self, times: Mapping[Node, str | None]) -> str | None:
        return None if self.watermark is None else self.watermark.column

    def closing_after(self, columns: Mapping[Node, Columns]) -> Columns:
        return {} if self.watermark is None else {self.watermark.column.lower(): Closes(SELF)}

    def columns_read(self, wanted: Wanted) -> Mapping[str, Wanted]:
        return {}


def sources_of(nodes: Iterable[Node]) -> tuple[Source, ...]:
    """Return the sources among some nodes."""
    return tuple(node for node in nodes if isinstance(node, Source))


def source(connected: ports.Source, schema: str, name: str | None, *, inferred: bool = False) -> Source:
    """Return the node of a connector's source."""
    chosen = name if name is not None else clean(connected.default_name)
    return Source(connected.connector, connected.options(), schema, inferred, None, connected, name=valid_name(chosen), site=here())


def watermark(node: Node, column: str, delay: str | timedelta, idle: str | timedelta | None = None) -> Source:
    """Return the source with a watermark."""
    if not isinstance(node, Source):
        raise PlanError(
            "WATERMARK_PLACE",
            f"a watermark must be set on a source, and {label(node)} is not one",
            hint='call it first: hr.read.<connector>(...).watermark("ts", "5 minutes"), then filter, select and so on',
            site=here(),
        )
    if node.watermark is not None:
        raise PlanError("WATERMARK_PLACE", f"{label(node)} has a watermark already", hint="give it one watermark", site=here())
    name = column_name(node, column)
    kind = parse_schema(node.schema).get(name)
    if kind is not None and kind.text not in ("timestamp", "timestamp_ltz"):
        raise PlanError(
            "WATERMARK_TYPE",
            f"a watermark needs a timestamp column, and `{name}` of {label(node)} is {kind.text}",
            hint=f"give it the type timestamp in the schema: {name} timestamp",
            site=here(),
        )
    delay_ms = milliseconds(delay, "the delay of a watermark")
    idle_ms = None if idle is None else milliseconds(idle, "the idle time of a watermark")
    return replace(node, watermark=Watermark(name, delay_ms, idle_ms))


def clean(name: str) -> str:
    """Return a valid name made of a path or topic."""
    return plain(name) or "source"


def plain(name: str) -> str:
    """Return a text with only the characters that names may have."""
    return re.sub(r"[^\w.-]+", "_", name).strip("_.-")
