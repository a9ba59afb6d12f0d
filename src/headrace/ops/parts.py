"""What the check and the kernel read of operators: what all of them share. What an operator has of its own stands in its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headrace.jvm.parts import Columns, Int, OneOf, Part, inline
from headrace.plan import Step
from headrace.program.traced import TracedCell, TracedHandler


class RelationText(OneOf):
    """What the check and the kernel read of one operator of queries: its texts, without types and routes."""


class EndingText(OneOf):
    """What ends the groups or the rows of an operator. `late` are its outputs for late rows, each with the side whose rows it takes."""

    late: Mapping[str, Int]


@dataclass(frozen=True, kw_only=True)
class ClosesText(EndingText):
    """Groups close at a time, which `closes` computes from the key; `emit` says when their result is sent: as it changes, early or once.

    `early_ms`: what has changed is sent at multiples of that until the time `ends`. `by` is the clock; left out it is the watermark.
    """

    closes: str
    late: Mapping[str, Int]
    emit: str
    early_ms: int | None = None
    ends: str | None = None
    by: str | None = None


@dataclass(frozen=True, kw_only=True)
class ExpiresText(EndingText):
    """Groups are forgotten when no row has come for so long."""

    expires_us: int
    late: Mapping[str, Int]


@dataclass(frozen=True, kw_only=True)
class IntervalText(Part):
    """Which rows of a join are near enough to meet, and how long they are kept; where there are two numbers, the left side's comes first.

    `times` are the columns with the times. A null says that there is no bound, or that a row is kept for ever.
    """

    times: tuple[str, str]
    lower_us: int | None
    upper_us: int | None
    kept_us: tuple[int | None, int | None]
    delays_us: tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class NearText(EndingText):
    """The rows of a join end one by one, when they can meet no other; `emit` says when a row is sent that meets none."""

    interval: IntervalText
    late: Mapping[str, Int]
    emit: str


@dataclass(frozen=True, kw_only=True)
class TimingText(Part):
    """The clock of an operator that judges rows by itself, how late they may be, and whether any may."""

    clock: str
    lateness_ms: int | None = None
    judged: bool | None = None


@dataclass(frozen=True, kw_only=True)
class AskedSteps(Part):
    """Steps that are checked, over the columns of a node."""

    id: str
    site: str | None
    input: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, kw_only=True)
class AskedRelation(Part):
    """An operator of queries that is checked, over the columns of its inputs; `relation` is its name."""

    id: str
    site: str | None
    relation: str
    inputs: tuple[str, ...]
    text: RelationText = field(metadata=inline(by="relation"))


@dataclass(frozen=True, kw_only=True)
class AskedLookup(Part):
    """A lookup that is checked: both texts of each key, the columns of the table, and those that it gives, by their names in the result."""

    id: str
    site: str | None
    relation: str
    inputs: tuple[str, ...]
    keys: tuple[tuple[str, str], ...]
    table: str
    given: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class AskedInput(Part):
    """An input of a program that is checked: the rows of a node, by a key."""

    name: str
    side: Int
    from_: str
    key: tuple[tuple[str, str], ...]
    broadcast: bool


@dataclass(frozen=True, kw_only=True)
class AskedOutput(Part):
    """An output of a program that is checked; `time` is the column that is event time in it."""

    name: str
    time: str | None


@dataclass(frozen=True, kw_only=True)
class AskedProgram(Part):
    """A program that is checked."""

    name: str
    site: str | None
    kind: str
    order: str
    clock: str
    inputs: tuple[AskedInput, ...]
    cells: tuple[TracedCell, ...]
    handlers: tuple[TracedHandler, ...]
    outputs: tuple[AskedOutput, ...]


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
class OutputText(Part):
    """An output of an operator or a lookup; `time` is the column that is event time behind it."""

    name: str
    schema: Columns
    time: str | None
    routes: tuple[RouteText, ...]


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
class Frame:
    """What a query document says of every operator with state; the operator itself says the rest.

    `ending` is what ends its groups, None where they never do; `cells` and `layout` are those of its author.
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
