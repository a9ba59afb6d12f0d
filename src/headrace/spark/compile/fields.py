"""The query document: its parts, in which operators and steps stand as they declare themselves.

What connectors say of their scans, stages and requests is JSON here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headrace.jvm.parts import Columns, Int, Json, OneOf, Part, inline
from headrace.ops.parts import EndingText, RelationText, TimingText
from headrace.plan import Step
from headrace.program.traced import TracedHandler


@dataclass(frozen=True, kw_only=True)
class RouteText(Part):
    """Where rows go: to one `side` of the operator, lookup or sink `to`, by its `delivery`; `steps` are done on the way.

    Only routes to operators and lookups say how many `shards` there are, the schema of their key and whether equal rows may become one;
    `rank` orders the routes of one inlet that takes rows as they come.
    """

    to: Int
    side: Int
    delivery: str
    shards: Int | None = None
    key: tuple[tuple[str, str], ...] = ()
    key_schema: Columns | None = None
    time: str | None
    order: str | None
    combines: bool | None = None
    schema: Columns
    rank: Int | None = None
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, kw_only=True)
class WatermarkText(Part):
    """Which column is event time, and how late a row may come."""

    column: str
    delay_ms: int


@dataclass(frozen=True, kw_only=True)
class SourceText(Part):
    """A source: how its scan and what was `repaired` of it are read, what becomes of a line that is `malformed`, and where its rows go."""

    name: str
    schema: Columns
    reader: Json
    repaired: Json | None = None
    malformed: str
    watermark: WatermarkText | None
    routes: tuple[RouteText, ...]
    dead: tuple[RouteText, ...]


@dataclass(frozen=True, kw_only=True)
class OutputText(Part):
    """An output of an operator or a lookup; `time` is the column that is event time behind it."""

    name: str
    schema: Columns
    time: str | None
    routes: tuple[RouteText, ...]


@dataclass(frozen=True, kw_only=True)
class LookupText(Part):
    """A lookup: its rows and key, the `table` and which columns of it it is asked `by` and gives, how it is asked, and where rows go.

    `ask` is None where the whole table is kept.
    """

    op: Int
    name: str
    site: str | None
    schema: Columns
    key: Columns
    table: Columns
    by: tuple[str, ...]
    given: tuple[str, ...]
    how: str
    cache_ms: int
    cache_keys: int
    batch: Int
    in_flight: Int
    retry_ms: int
    refresh_ms: int | None
    constant: bool
    ask: Json | None
    outputs: tuple[OutputText, ...]


@dataclass(frozen=True, kw_only=True)
class SinkText(Part):
    """A sink: its columns, how tasks stage its rows, and what becomes of a row that it refuses; `key` are the columns that name such a row.

    `weighted`: the last column is the row's weight.
    """

    op: Int
    name: str
    schema: Columns
    stage: Json
    refused: str | None = None
    key: tuple[str, ...] | None = None
    weighted: bool | None = None


@dataclass(frozen=True, kw_only=True)
class InputText(Part):
    """An input of an operator. `broadcast`: its rows are for all keys. `judged`: they may be late."""

    name: str
    side: Int
    schema: Columns
    broadcast: bool | None = None
    judged: bool | None = None


class OperatorText(OneOf):
    """A stateful operator with its number, its key, its inputs and its outputs."""

    kind_field = "kind"


@dataclass(frozen=True, kw_only=True)
class RelationalText(OperatorText):
    """An operator of queries: what it says of itself, what ends its groups, and its time. `append`: rows are only ever added to it."""

    op: Int
    name: str
    site: str | None
    kind: str
    key: Columns
    inputs: tuple[InputText, ...]
    append: bool
    relation: RelationText = field(metadata=inline(by="kind"))
    ending: EndingText | None = field(metadata=inline())
    outputs: tuple[OutputText, ...]
    timing: TimingText | None = field(metadata=inline())


@dataclass(frozen=True, kw_only=True)
class KeptCellText(Part):
    """A cell as it is stored: `type` is that of its values, or the columns that are added to an aggregate, `key` that of a map's keys."""

    id: Int
    name: str
    kind: str
    type: str
    key: str | None = None
    sql: str | None = None
    expires_ms: int | None = None
    computed: str | None = None


@dataclass(frozen=True, kw_only=True)
class CellText(KeptCellText):
    """A cell of a program, with the line that declares it."""

    site: str | None


@dataclass(frozen=True, kw_only=True)
class OldLayoutText(Part):
    """How the cells lay in an earlier version."""

    number: Int
    cells: tuple[KeptCellText, ...]


@dataclass(frozen=True, kw_only=True)
class LayoutText(Part):
    """The number of a program's layout, and the layouts before it."""

    number: Int
    old: tuple[OldLayoutText, ...]


@dataclass(frozen=True, kw_only=True)
class ProgramText(OperatorText):
    """A state program: `order` in which it takes rows, the `clock` of its timers, and what its handlers do."""

    kind_name = "program"

    name: str
    site: str | None
    kind: str
    order: str
    clock: str
    inputs: tuple[InputText, ...]
    cells: tuple[CellText, ...]
    handlers: tuple[TracedHandler, ...]
    outputs: tuple[OutputText, ...]
    op: Int
    level: Int
    key: Columns
    layout: LayoutText


@dataclass(frozen=True, kw_only=True)
class Document(Part):
    """A query. `levels[i]` are the operators of level i + 1, `retired[i]` those that an earlier version had there, `lookups[i]` the lookups
    behind level i, round by round. `placed`: rows are dealt out to tasks in front of the sinks. `fingerprint` is of all else but lines.
    """

    format: Int
    job: str
    query: str
    partitions: Int
    clock: str
    settings: Mapping[str, str]
    sources: tuple[SourceText, ...]
    levels: tuple[tuple[OperatorText, ...], ...]
    retired: tuple[tuple[Int, ...], ...]
    sinks: tuple[SinkText, ...]
    lookups: tuple[tuple[tuple[LookupText, ...], ...], ...] | None = None
    placed: bool | None = None
    fingerprint: str
