"""The parts of documents that operators share, as the check and the kernel read them. Parts of a single operator are in its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headrace.jvm.parts import Columns, Int, OneOf, Part, inline
from headrace.plan import Step
from headrace.program.traced import TracedCell, TracedHandler


class RelationText(OneOf):
    """The part of an operator of queries that the check and the kernel read: its texts, without types and routes."""


class EndingText(OneOf):
    """The end of an operator's groups or rows. `late` are its outputs for late rows, each with the side whose rows it takes."""

    late: Mapping[str, Int]


@dataclass(frozen=True, kw_only=True)
class ClosesText(EndingText):
    """Groups close at a time, which `closes` computes from the key; `emit` is when their result is sent: on changes, early or once.

    With `early_ms`, changes are sent at multiples of that until the time `ends`. `by` is the clock; by default the watermark.
    """

    closes: str
    late: Mapping[str, Int]
    emit: str
    early_ms: int | None = None
    ends: str | None = None
    by: str | None = None


@dataclass(frozen=True, kw_only=True)
class ExpiresText(EndingText):
    """Groups are forgotten after no row has arrived for this long."""

    expires_us: int
    late: Mapping[str, Int]


@dataclass(frozen=True, kw_only=True)
class IntervalText(Part):
    """The rows of a join that are near enough to match, and how long they are kept; of two numbers, the left side's comes first.

    `times` are the columns with the times. Null means no bound, or no end of retention.
    """

    times: tuple[str, str]
    lower_us: int | None
    upper_us: int | None
    kept_us: tuple[int | None, int | None]
    delays_us: tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class NearText(EndingText):
    """The rows of a join end one by one, when they can have no more matches; `emit` is when a row without a match is sent."""

    interval: IntervalText
    late: Mapping[str, Int]
    emit: str


@dataclass(frozen=True, kw_only=True)
class TimingText(Part):
    """The clock of an operator that detects late rows itself, the lateness it allows, and whether rows can be late at all."""

    clock: str
    lateness_ms: int | None = None
    judged: bool | None = None


@dataclass(frozen=True, kw_only=True)
class StepsRequest(Part):
    """Steps to check, over the columns of a node."""

    id: str
    site: str | None
    input: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, kw_only=True)
class RelationRequest(Part):
    """An operator of queries to check, over the columns of its inputs; `relation` is its name."""

    id: str
    site: str | None
    relation: str
    inputs: tuple[str, ...]
    text: RelationText = field(metadata=inline(by="relation"))


@dataclass(frozen=True, kw_only=True)
class LookupRequest(Part):
    """A lookup to check: both texts of each key, the columns of the table, and its output columns, by their names in the result."""

    id: str
    site: str | None
    relation: str
    inputs: tuple[str, ...]
    keys: tuple[tuple[str, str], ...]
    table: str
    given: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class InputRequest(Part):
    """An input of a program to check: the rows of a node, by a key."""

    name: str
    side: Int
    from_: str
    key: tuple[tuple[str, str], ...]
    broadcast: bool


@dataclass(frozen=True, kw_only=True)
class OutputRequest(Part):
    """An output of a program to check; `time` is its event-time column."""

    name: str
    time: str | None


@dataclass(frozen=True, kw_only=True)
class ProgramRequest(Part):
    """A program to check."""

    name: str
    site: str | None
    kind: str
    order: str
    clock: str
    inputs: tuple[InputRequest, ...]
    cells: tuple[TracedCell, ...]
    handlers: tuple[TracedHandler, ...]
    outputs: tuple[OutputRequest, ...]


@dataclass(frozen=True, kw_only=True)
class RouteText(Part):
    """The route of rows to one `side` of the operator, lookup or sink `to`, by its `delivery`; `steps` are applied on the way.

    Only routes to operators and lookups have the number of `shards`, the schema of the key, and whether equal rows may be merged;
    `rank` orders the routes of an inlet that takes rows in the order of arrival.
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
class OutputText(Part):
    """An output of an operator or a lookup; `time` is the event-time column downstream of it."""

    name: str
    schema: Columns
    time: str | None
    routes: tuple[RouteText, ...]


@dataclass(frozen=True, kw_only=True)
class InputText(Part):
    """An input of an operator. With `broadcast`, its rows are for all keys; with `judged`, they may be late."""

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
    """An operator of queries: its relation, the end of its groups, and its time. With `append`, its input has no retractions."""

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
    """A cell as it is stored: `type` is the type of its values, or an aggregate's input columns, `key` that of a map's keys."""

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
    """The layout of the cells in an earlier version."""

    number: Int
    cells: tuple[KeptCellText, ...]


@dataclass(frozen=True, kw_only=True)
class LayoutText(Part):
    """The number of a program's layout, and the layouts before it."""

    number: Int
    old: tuple[OldLayoutText, ...]


@dataclass(frozen=True, kw_only=True)
class ProgramText(OperatorText):
    """A state program: the `order` of its input, the `clock` of its timers, and its handlers."""

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
class Frame:
    """What a query document has of every stateful operator; the operator adds the rest.

    `ending` is what ends its groups, None if they never do; `cells` and `layout` are those of its author.
    """

    op: int
    level: int
    name: str
    site: str | None
    kind: str
    order: str
    clock: str
    key: str
    inputs: tuple[InputText, ...]
    ending: EndingText | None
    cells: tuple[CellText, ...]
    layout: LayoutText
