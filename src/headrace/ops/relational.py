"""The bases of stateful operators: what they keep, their clocks, and how the kernel reads those of queries."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from headrace.ops.facts.carried import EVENT, Columns
from headrace.ops.facts.clock import NO_TIME, NONE, Clock, clock_of_groups
from headrace.ops.facts.closing import Group, Wait, group_by_texts, named, result
from headrace.ops.facts.forgetting import judged_by_ends
from headrace.ops.facts.interval import Interval
from headrace.ops.facts.keys import Keys
from headrace.ops.facts.kind import CHANGES, only_added
from headrace.ops.facts.outputs import DEAD_LETTER, DEAD_SCHEMA, LATE, LATE_RIGHT
from headrace.ops.facts.provenance import Itself, Provenance
from headrace.ops.facts.reading import Wanted
from headrace.ops.facts.state import Basis
from headrace.ops.inlet import Checked, Inlet, Json, inlet, numbered
from headrace.ops.operator import Consumer, Unary, Ungrouped, all_append, operator, spelled
from headrace.ops.parts import (
    ClosesText,
    EndingText,
    Frame,
    OutputText,
    ProgramText,
    RelationalText,
    RelationRequest,
    RelationText,
    TimingText,
)
from headrace.plan import Fact, Node, Role, Step, Where
from headrace.program.traced import TracedCell
from headrace.schema import shown
from headrace.syntax import plain_name, quote

if TYPE_CHECKING:
    from headrace.ops.source import Watermark

RIGHT, LEFT = 0, 1
"""The sides of two inputs, as the kernel numbers them."""

# The sides whose rows are kept without a match.
_KEPT = {"left": (LEFT,), "anti": (LEFT,), "existence": (LEFT,), "full": (LEFT, RIGHT)}


class Stateful(Consumer):
    """An operator that keeps state between epochs, in a level of the kernel."""

    role = Role.STATEFUL

    @property
    def keeps(self) -> bool:
        return True

    @property
    @abstractmethod
    def provenance(self) -> Provenance | None: ...

    @property
    @abstractmethod
    def cells(self) -> tuple[TracedCell, ...]:
        """The cells that its author declared."""

    def table_fact(self) -> Fact | None:
        return None

    @property
    @abstractmethod
    def key_names(self) -> tuple[str | None, ...]:
        """The names of its key columns for people; a checkpoint calls them `key_1` and so on."""

    # Its parts of query documents and checkpoints. `ending` is what ends its groups, None if they never do.

    @property
    @abstractmethod
    def outlives_edits(self) -> bool:
        """Whether it finds its state by name after its definition or inputs have changed; else only while they stay the same."""

    @property
    @abstractmethod
    def order_kept(self) -> str:
        """The order in which it takes rows, as a checkpoint stores it."""

    @abstractmethod
    def clock_kept(self, ending: EndingText | None) -> str:
        """Return the clock by which its state ends, as a checkpoint stores it."""

    @abstractmethod
    def late_inputs(self, at: Checked) -> Mapping[str, bool]:
        """Return, by input, whether it may have late rows, if the operator detects them itself; raises if that depends on the row."""

    @abstractmethod
    def text(self, frame: Frame, at: Checked | None) -> ProgramText | RelationalText:
        """Return its part of a query document, with outputs but no routes; without `at`, the part by which a checkpoint knows its state."""

    @abstractmethod
    def kept(self, basis: Basis) -> Fact:
        """Return what it keeps while nothing ends its groups, and whether that grows without bound."""

    @abstractmethod
    def goes_by(self, group: Group | None) -> Clock:
        """Return its clock; `group` is how its groups close."""


def stateful(node: Node) -> Stateful:
    """Return a stateful operator as what it is."""
    assert isinstance(node, Stateful)
    return node


def stateful_of(nodes: Iterable[Node]) -> tuple[Stateful, ...]:
    """Return the stateful operators among some nodes."""
    return tuple(node for node in nodes if isinstance(node, Stateful))


class Relational(Stateful):
    """A query operator: after each epoch its rows are the result of Spark's batch engine over its input so far."""

    by_content: ClassVar[bool] = True
    holds_columns = True

    @property
    def outputs(self) -> tuple[str, ...]:
        return (DEAD_LETTER,)

    @property
    def compares_rows(self) -> bool:
        return True

    @property
    def cells(self) -> tuple[TracedCell, ...]:
        return ()

    def time_after(self, times: Mapping[Node, str | None]) -> str | None:
        # A query's result is correct at the end of each epoch, whatever the times in its rows.
        return None

    def rows_of(self, output: str) -> Node | None:
        return None if output == DEAD_LETTER else self.inputs[1 if output == LATE_RIGHT else 0]

    @abstractmethod
    def relation(self) -> RelationText:
        """Return what the check and the kernel read of it, as a class of its own that its Scala reads."""

    @property
    def relation_inputs(self) -> tuple[Node, ...]:
        """The inputs whose columns its expressions name."""
        return self.inputs

    def check_request(self) -> Json | None:
        inputs = tuple(operator(before).checked_as for before in self.relation_inputs)
        return RelationRequest(id=str(self.name), site=self.line, relation=self.op, inputs=inputs, text=self.relation()).to_json()

    def wait(self, columns: Mapping[Node, Columns]) -> Wait:
        return Wait.NOWHERE if self.group(columns) is None else Wait.HERE

    def row_fact(self, kind: str, group: Group | None) -> Fact | None:
        return Fact(kind, self.sent(kind == CHANGES, group))

    def order_fact(self, watermarks: Callable[[Node], Mapping[str, Watermark]]) -> Fact | None:
        return None

    def letter_fact(self, job: str) -> Fact | None:
        return None

    def sent(self, changes: bool, group: Group | None) -> str:
        """Return in words whether rows are also retracted, and when they are sent if not at once."""
        if changes:
            return f"insertions and retractions{_early(group) if group is not None and group.early_ms else ''}"
        return f"insertions only{', once, when their group closes' if group is not None and group.final else ''}"

    @property
    def outlives_edits(self) -> bool:
        return False

    @property
    def order_kept(self) -> str:
        return ""

    def clock_kept(self, ending: EndingText | None) -> str:
        if ending is None:
            return NONE
        return ending.by if isinstance(ending, ClosesText) and ending.by is not None else EVENT

    def late_rows(self, ending: EndingText | None) -> dict[str, Node]:
        """Return the outputs for its late rows, each with the input that they come from."""
        late = {} if ending is None else ending.late
        return {name: stream for name, stream in zip((LATE, LATE_RIGHT), self.inputs, strict=False) if name in late}

    def late_inputs(self, at: Checked) -> Mapping[str, bool]:
        return {}

    def timing(self) -> TimingText | None:
        """Return what else the kernel reads about its time, or None."""
        return None

    def text(self, frame: Frame, at: Checked | None) -> RelationalText:
        columns = {} if at is None else {"main": at.schema(self).ddl, DEAD_LETTER: DEAD_SCHEMA}
        columns |= {} if at is None else {output: at.schema(stream).ddl for output, stream in self.late_rows(frame.ending).items()}
        return RelationalText(
            op=frame.op,
            name=frame.name,
            site=frame.site,
            kind=frame.kind,
            key=frame.key,
            inputs=frame.inputs,
            append=only_added(self),
            relation=self.relation(),
            ending=frame.ending,
            outputs=tuple(OutputText(name=output, schema=schema, time=None, routes=()) for output, schema in columns.items()),
            timing=None if at is None else self.timing(),
        )


class WholeRows(Relational, Unary, Ungrouped):
    """An operator that compares whole rows and gives some of them as they are: the row is the key."""

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns

    @property
    def key_names(self) -> tuple[str | None, ...]:
        return ()

    @property
    def provenance(self) -> Provenance:
        return Itself()

    def inlets(self, at: Checked, steady: bool = True) -> tuple[Inlet, ...]:
        # The order of equal rows makes no difference.
        return (inlet(self.input, at, delivery="row", key_schema=at.schema(self.input).ddl, order=None),)


class NetRows(WholeRows):
    """An operator that gives the net of the rows that come, with no other expression than the row."""

    net = True

    def kind_after(self, kinds: Mapping[Node, str]) -> str:
        return all_append(self, kinds)

    def keys_after(self, keys: Mapping[Node, Keys]) -> Keys:
        return ()

    def closing_after(self, columns: Mapping[Node, Columns]) -> Columns:
        return columns[self.input]

    def wait(self, columns: Mapping[Node, Columns]) -> Wait:
        # Net rows keep the columns of their windows.
        return Wait.BEHIND

    def columns_read(self, wanted: Wanted) -> Mapping[str, Wanted]:
        return {}

    def goes_by(self, group: Group | None) -> Clock:
        return NO_TIME


class Grouped(Relational, Unary):
    """An operator over groups of equal expressions; a group ends when one of them closes, or after a time without rows."""

    @property
    @abstractmethod
    def group_columns(self) -> Sequence[tuple[str, str]]:
        """What its rows are grouped by: names of its own columns, empty if there is none, and expressions over its input."""

    @property
    def grouped_by(self) -> tuple[str, ...]:
        return tuple(text for _, text in self.group_columns)

    @property
    def key_names(self) -> tuple[str | None, ...]:
        return tuple(plain_name(text) for text in self.grouped_by)

    def group(self, columns: Mapping[Node, Columns]) -> Group | None:
        return group_by_texts(self.grouped_by, columns[self.input])

    def interval(self, columns: Mapping[Node, Columns]) -> Interval | None:
        return None

    @property
    def judged(self) -> tuple[bool, ...]:
        return judged_by_ends(self)

    def closing_after(self, columns: Mapping[Node, Columns]) -> Columns:
        # A value of another column may still be retracted after its own time has passed.
        return result(named(self.group_columns, columns[self.input]))

    def goes_by(self, group: Group | None) -> Clock:
        return clock_of_groups(self, group)

    def place_of_filter(self, named: frozenset[str]) -> str | None:
        # Columns that are equal in all rows of a group, and have the same name in the input.
        alike = {name.lower() for name, text in self.group_columns if (plain_name(text) or "").lower() == name.lower()}
        return "input" if named <= alike else None


@dataclass(frozen=True, eq=False, repr=False)
class Partitioned(Grouped):
    """An operator that gives rows of its input by their places in the order of each partition."""

    per: tuple[str, ...]

    @property
    def group_columns(self) -> Sequence[tuple[str, str]]:
        return [(plain_name(text) or "", text) for text in self.per]

    def columns_read(self, wanted: Wanted) -> Mapping[str, Wanted]:
        # Ties are broken by all columns.
        return {}

    def inlets(self, at: Checked, steady: bool = True) -> tuple[Inlet, ...]:
        return (inlet(self.input, at, delivery="null_key", key=numbered(self.per), key_schema=at.key_schema(self)),)


@dataclass(frozen=True, eq=False, repr=False)
class TwoSided(Relational):
    """An operator that matches rows of two inputs by equal keys, an expression over each side."""

    left: Node
    right: Node

    how: str
    keys: tuple[tuple[str, str], ...]

    @property
    def grouped_by(self) -> tuple[str, ...]:
        return tuple(left for left, _ in self.keys)

    @property
    def key_names(self) -> tuple[str | None, ...]:
        return tuple(plain_name(left) for left, _ in self.keys)

    @property
    def key_pairs(self) -> tuple[tuple[str, str], ...]:
        return self.keys

    def as_written(self, text: str) -> str:
        return super().as_written(spelled(text, self.right))

    @property
    def sides(self) -> tuple[tuple[str, int, Node], ...]:
        """The name, the number and the stream of each side, in the order of the numbers."""
        return (("right", RIGHT, self.right), ("left", LEFT, self.left))

    def met(
        self, side: int, stream: Node, at: Checked, null_safe: Sequence[int] = ()
    ) -> tuple[list[tuple[str, str]], str, tuple[Step, ...]]:
        """Return the key of a side with its schema, and the step that drops rows which can match nothing and are not kept."""
        texts = [pair[0 if side == LEFT else 1] for pair in self.keys]
        plain = [i for i in range(len(texts)) if i not in null_safe]
        none = " OR ".join(f"({texts[i]}) IS NULL" for i in plain)
        key = numbered(texts)
        schema = at.key_schema(self)
        kept = side in _KEPT.get(self.how, ())
        steps = () if kept or not plain else (Where(where=f"NOT ({none})", place=self.place),)
        if self.how in _KEPT and plain:
            schema += ", spread int"
            key.append(("spread", f"CASE WHEN {none} THEN {_spread(stream, side, at)} END" if kept else "CAST(NULL AS int)"))
        return key, schema, steps


def _early(group: Group) -> str:
    time = "the watermark" if EVENT in group.clocks else "processing time"
    return f", when {time} passes a multiple of {shown(group.early_ms)} or the end of their group, and after that in each epoch"


def _spread(stream: Node, side: int, at: Checked) -> str:
    """Return the SQL that spreads a side's rows with a null key over 64 groups: they match nothing, and one group could be huge."""
    # Spark does not hash maps, or types that may contain one.
    hashed = [field for field in at.schema(stream).fields if not any(word in str(field.type) for word in ("map<", "variant", "struct<"))]
    columns = ", ".join(quote(field.name) for field in hashed)
    return f"CAST({64 * side} + pmod(xxhash64({columns or '1'}), 64) AS int)"


def partition_of(per: tuple[str, ...]) -> str:
    """Return a partition in words."""
    return f"partition of {', '.join(per)}" if per else "partition (there is one)"
