"""Operators: what each says of itself beside what follows from its inputs, and the bases of those that go row by row.

An operator is one class in one file. What it shares with others it has from its bases; what it does not say cannot be declared.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import headrace.ports as ports
from headrace.errors import PlanError
from headrace.ops.facts.carried import Columns
from headrace.ops.facts.closing import Group, Wait
from headrace.ops.facts.interval import Interval
from headrace.ops.facts.keys import Keys
from headrace.ops.facts.kind import APPEND, CHANGES
from headrace.ops.facts.outputs import DEAD_COLUMNS
from headrace.ops.facts.reading import Wanted
from headrace.ops.inlet import Checked, Inlet, Json
from headrace.ops.parts import AskedSteps
from headrace.ops.rewritable import Rewritable
from headrace.plan import Fact, Node, Place, Role, Step
from headrace.schema import Struct

if TYPE_CHECKING:
    from headrace.ops.source import Watermark


class Operator(Rewritable):
    """A node of a plan, with all that Python says of it."""

    @property
    def unrepeatable(self) -> str | None:
        """Why its rows may be others when an epoch is run again; None: they are the same, or texts that Spark knows say otherwise."""
        return None

    @property
    @abstractmethod
    def compares_rows(self) -> bool:
        """Whether it keeps rows, or what they gave, for others that take them away to be compared with."""

    @property
    def caveat(self) -> str | None:
        """What a reader of its rows should know although every row counts once."""
        return None

    @property
    def expected(self) -> Mapping[str, str]:
        """The names of what its rows are expected to meet, each with what becomes of those that do not."""
        return {}

    @property
    def sent_at_close(self) -> bool:
        """Whether a user can say, and has said, that its result is sent once, when a window, a session or the time of a row closes."""
        return False

    @property
    def awaited(self) -> str | None:
        """Of windows whose results are sent when they close, the column that says which window a row is in."""
        return None

    @property
    def knows_rows(self) -> bool:
        """Whether it has to know of a row that is taken away whether it was there, by all its columns: where it forgets some."""
        return self.forgets_after is not None and any(self.judged)

    @abstractmethod
    def columns_read(self, wanted: Wanted) -> Mapping[str, Wanted]:
        """By the names of its inputs, the columns that it needs of them where `wanted` of its own are read; an input that is not named is
        needed as it is.
        """

    @property
    @abstractmethod
    def keeps(self) -> bool:
        """Whether anything is left of an epoch, so that it makes a difference to have missed one."""

    @abstractmethod
    def wait(self, columns: Mapping[Node, Columns]) -> Wait:
        """What becomes, at it, of windows in front whose results are sent when they close."""

    # Facts that explain shows; None where there is nothing to say.

    @abstractmethod
    def row_fact(self, kind: str, group: Group | None) -> Fact | None:
        """What kind of rows it gives, and when they are sent; `group` is how its groups close."""

    @abstractmethod
    def order_fact(self, watermarks: Callable[[Node], Mapping[str, Watermark]]) -> Fact | None:
        """In which order it handles rows, and how long they wait; `watermarks` gives those of its query, by the names of the sources."""

    @abstractmethod
    def letter_fact(self, job: str) -> Fact | None:
        """Where the rows are that it could not handle, and how to read them."""

    @abstractmethod
    def table_fact(self) -> Fact | None:
        """How it asks a table outside, and what of the answer depends on when a row arrives."""

    @abstractmethod
    def asked(self) -> Json | None:
        """What Spark's check is asked about it; None where its schema is another's."""

    @property
    def checked_as(self) -> str:
        """The name under which the check knows the columns of its rows."""
        return str(self.name)

    # Its outputs beside its rows: those that come as they are from an input, else dead letters, unless it says otherwise.

    def rows_of(self, output: str) -> Node | None:
        """The input whose rows an output has as they came; None where it has others."""
        return None

    def output_columns(self, output: str) -> tuple[str, ...]:
        """The columns of an output."""
        source = self.rows_of(output)
        return DEAD_COLUMNS if source is None else source.columns

    def output_kind(self, output: str, kinds: Mapping[Node, str]) -> str:
        """Whether rows are also taken away from an output."""
        source = self.rows_of(output)
        # The dead letter of a row that is taken away is taken away as well.
        return CHANGES if source is None else kinds[source]

    def output_time_after(self, output: str, times: Mapping[Node, str | None]) -> str | None:
        """The column of an output's rows that is event time."""
        return None

    def output_closing_after(self, output: str, columns: Mapping[Node, Columns]) -> Columns:
        """The columns of an output's rows that close."""
        return {}

    def output_checked_as(self, output: str) -> str | None:
        """The name under which the check knows the columns of an output; None for dead letters, which have fixed ones."""
        source = self.rows_of(output)
        return None if source is None else operator(source).checked_as

    def unclosed(self, columns: Mapping[Node, Columns]) -> PlanError | None:
        """The error for what it holds until something closes that never does."""
        return None

    # What errors in its texts need to be in the user's words.

    @property
    def texts_over(self) -> Node | None:
        """The input whose columns its texts name; None where that is not one."""
        return self.inputs[0] if self.inputs else None

    @property
    def texts_of_groups(self) -> bool:
        """Whether each of its texts is an aggregate of the rows of a group."""
        return False

    @property
    def key_pairs(self) -> tuple[tuple[str, str], ...]:
        """The texts by which rows of two inputs meet."""
        return ()

    @property
    def refuses_null_keys(self) -> bool:
        """Whether a row whose key is null does not come to it, and is a dead letter of the node in front."""
        return False

    @property
    def program_class(self) -> str | None:
        """The name of the class of a program."""
        return None

    @property
    def made_columns(self) -> Mapping[str, str]:
        """Columns that users do not name, each with the text that they wrote."""
        return {}

    def as_written(self, text: str) -> str:
        """A text about it, with what the user wrote in the place of names that stand for it."""
        return text if self.texts_over is None else spelled(text, self.texts_over)

    @property
    def time_cure(self) -> str:
        """What gives its rows event time, where they have none."""
        return "late rows and dead letters have no event time"

    # How changes are read.

    @property
    def reads_changes(self) -> bool:
        """Whether it may be a part of how the rows of one source become changes."""
        return False

    def over_schema(self, schema: Struct, before: tuple[str, ...]) -> Node:
        """It where the source whose changes it reads has other columns than those `before`."""
        return self

    @property
    def each_version(self) -> Node:
        """Where it gives the last row of each key, what gives all of them; else itself."""
        return self

    @property
    def line(self) -> str | None:
        """The user's line, as documents have it."""
        return None if self.site is None else str(self.site)

    @property
    def place(self) -> Place:
        """Where failures in its steps are reported."""
        return Place(node=str(self.name), site=self.line)


def operator(node: Node) -> Operator:
    """A node of a plan as an operator; all of them are."""
    assert isinstance(node, Operator)
    return node


def spelled(text: str, node: Node) -> str:
    """A message about a node's columns, with what the user wrote in the place of those that a verb has named."""
    for name, written in operator(node).made_columns.items():
        text = re.sub(rf"\b{re.escape(name)}\b", written.replace("\\", "\\\\"), text)
    return text


def stepwise(node: Node) -> Stepwise:
    """A stateless node with one input as what it is."""
    assert isinstance(node, Stepwise)
    return node


class Consumer(Operator):
    """Routes end at it, and others begin behind it."""

    @abstractmethod
    def inlets(self, at: Checked, steady: bool = True) -> tuple[Inlet, ...]:
        """How rows come to its inputs. `steady`: some sink counts on a replay being equal."""


class Connected(Operator):
    """It stands for an object of a connector."""

    @abstractmethod
    def connect(self) -> ports.Source | ports.Lookup | ports.Sink:
        """The connector's own object: the one the user made, or one made of what the plan stored."""


def connected_of(nodes: Iterable[Node]) -> tuple[Connected, ...]:
    """Those of some nodes that stand for objects of connectors."""
    return tuple(node for node in nodes if isinstance(node, Connected))


class Ungrouped(Operator):
    """Its rows are in no groups that end."""

    def group(self, columns: Mapping[Node, Columns]) -> Group | None:
        return None

    def interval(self, columns: Mapping[Node, Columns]) -> Interval | None:
        return None

    @property
    def forgets_after(self) -> int | None:
        return None

    @property
    def grouped_by(self) -> tuple[str, ...]:
        return ()

    @property
    def judged(self) -> tuple[bool, ...]:
        return ()


class Memoryless(Ungrouped):
    """It keeps nothing between epochs, and handles rows as they come."""

    @property
    def keeps(self) -> bool:
        return False

    @property
    def compares_rows(self) -> bool:
        return False

    def wait(self, columns: Mapping[Node, Columns]) -> Wait:
        return Wait.BEHIND

    def row_fact(self, kind: str, group: Group | None) -> Fact | None:
        return None

    def order_fact(self, watermarks: Callable[[Node], Mapping[str, Watermark]]) -> Fact | None:
        return None

    def letter_fact(self, job: str) -> Fact | None:
        return None

    def table_fact(self) -> Fact | None:
        return None


@dataclass(frozen=True, eq=False, repr=False)
class Unary(Operator):
    """It has one input."""

    input: Node


class RowWise(Unary, Memoryless):
    """It takes each row by itself and keeps nothing: what comes of a row that is taken away is taken away, and times stay as they are."""

    def kind_after(self, kinds: Mapping[Node, str]) -> str:
        return kinds[self.input]

    def time_after(self, times: Mapping[Node, str | None]) -> str | None:
        return times[self.input]

    def closing_after(self, columns: Mapping[Node, Columns]) -> Columns:
        return columns[self.input]


class Stepwise(RowWise):
    """It is steps on the way of a row, and no operator of Spark's."""

    role = Role.STATELESS

    @abstractmethod
    def steps(self) -> tuple[Step, ...]:
        """What it does to a row."""

    def asked(self) -> Json | None:
        source = operator(self.input).checked_as
        return AskedSteps(id=str(self.name), site=self.line, input=source, steps=self.steps()).to_json()


class Selective(Stepwise):
    """It leaves rows out and the others as they are."""

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns

    @property
    def keeps_apart(self) -> bool:
        return True

    def keys_after(self, keys: Mapping[Node, Keys]) -> Keys:
        return keys[self.input]


class Repeating(Stepwise):
    """It makes several rows of one, each with its columns."""

    holds_columns = True

    def keys_after(self, keys: Mapping[Node, Keys]) -> Keys:
        return ()


def all_append(node: Node, kinds: Mapping[Node, str]) -> str:
    """The kind of rows that are taken away only if rows of some input are."""
    return APPEND if all(kinds[before] == APPEND for before in node.inputs) else CHANGES
