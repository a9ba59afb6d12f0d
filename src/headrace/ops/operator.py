"""Operators: their facts beside those that follow from their inputs, and the bases of those that work row by row.

An operator is one class in one file. It inherits the facts that it shares with others; a class that lacks one cannot be declared.
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
from headrace.ops.facts.provenance import Provenance
from headrace.ops.facts.reading import Wanted
from headrace.ops.inlet import Checked, Inlet, Json
from headrace.ops.parts import StepsRequest
from headrace.ops.rewritable import Rewritable
from headrace.plan import Fact, Node, Place, Role, Step
from headrace.schema import Struct

if TYPE_CHECKING:
    from headrace.ops.source import Watermark


class Operator(Rewritable):
    """A node of a plan with all its facts."""

    @property
    def unrepeatable(self) -> str | None:
        """Why its rows may differ when an epoch is run again, apart from its expressions, which Spark checks; None: they do not."""
        return None

    @property
    @abstractmethod
    def compares_rows(self) -> bool:
        """Whether it keeps rows, or results of them, to compare them with later retractions."""

    @property
    def caveat(self) -> str | None:
        """What a reader of its rows should know although every row counts once."""
        return None

    @property
    def provenance(self) -> Provenance | None:
        """Which rows of its inputs give one of its rows; None if it comes from outside, or depends on what came before."""
        return None

    @property
    def shows_changes(self) -> bool:
        """Whether each of its rows is a change, with the word for it in the column `_change`."""
        return False

    @property
    def sole_by(self) -> tuple[str, ...]:
        """The key under which it has at most one row; an epoch retracts and adds at most one row of it. Empty if it has no such key."""
        return ()

    @property
    def replaced_in_place(self) -> bool:
        """Whether its reader puts each row in the place of the one before it, which is not retracted first."""
        return False

    @property
    def expected(self) -> Mapping[str, str]:
        """The names of its expectations, each with what becomes of the rows that violate it."""
        return {}

    @property
    def sent_at_close(self) -> bool:
        """Whether a user can choose, and has chosen, to get its result once, when a window, a session or the time of a row closes."""
        return False

    @property
    def awaited(self) -> str | None:
        """For windows whose results are sent when they close, the column with the window of a row."""
        return None

    @property
    def knows_rows(self) -> bool:
        """Whether it must know if a retracted row was there, by all its columns: if it forgets some."""
        return self.forgets_after is not None and any(self.judged)

    @abstractmethod
    def columns_read(self, wanted: Wanted) -> Mapping[str, Wanted]:
        """Return, by input, the columns that it needs if `wanted` of its own are read; an input that is not named is needed whole."""

    @property
    @abstractmethod
    def keeps(self) -> bool:
        """Whether it has state after an epoch, so that a missed epoch makes a difference."""

    @abstractmethod
    def wait(self, columns: Mapping[Node, Columns]) -> Wait:
        """Return where results of upstream windows wait that are sent when the windows close."""

    # Facts that explain shows, or None.

    @abstractmethod
    def row_fact(self, kind: str, group: Group | None) -> Fact | None:
        """Return the kind of its rows, and when they are sent; `group` is how its groups close."""

    @abstractmethod
    def order_fact(self, watermarks: Callable[[Node], Mapping[str, Watermark]]) -> Fact | None:
        """Return the order in which it handles rows, and how long they wait; `watermarks` gives those of its query, by source."""

    @abstractmethod
    def letter_fact(self, job: str) -> Fact | None:
        """Return where the rows are that it could not handle, and how to read them."""

    @abstractmethod
    def table_fact(self) -> Fact | None:
        """Return how it asks an outside table, and whether results depend on when a row arrives."""

    @abstractmethod
    def check_request(self) -> Json | None:
        """Return its part of the request to Spark's check; None if its schema is another node's."""

    @property
    def checked_as(self) -> str:
        """The name under which the check has the schema of its rows."""
        return str(self.name)

    # Its outputs beside its rows: by default rows of an input as they came (`rows_of`), or dead letters.

    def rows_of(self, output: str) -> Node | None:
        """Return the input whose rows an output has as they came; None if it has others."""
        return None

    def output_columns(self, output: str) -> tuple[str, ...]:
        """Return the columns of an output."""
        source = self.rows_of(output)
        return DEAD_COLUMNS if source is None else source.columns

    def output_kind(self, output: str, kinds: Mapping[Node, str]) -> str:
        """Return the kind of an output."""
        source = self.rows_of(output)
        # A retraction also retracts the dead letter of its row.
        return CHANGES if source is None else kinds[source]

    def output_time_after(self, output: str, times: Mapping[Node, str | None]) -> str | None:
        """Return the column of an output's rows that is event time, or None."""
        return None

    def output_closing_after(self, output: str, columns: Mapping[Node, Columns]) -> Columns:
        """Return the columns of an output's rows that close."""
        return {}

    def output_checked_as(self, output: str) -> str | None:
        """Return the name under which the check has the schema of an output; None for dead letters, which have fixed columns."""
        source = self.rows_of(output)
        return None if source is None else operator(source).checked_as

    def unclosed(self, columns: Mapping[Node, Columns]) -> PlanError | None:
        """Return the error for rows that it would hold until something closes that never does, or None."""
        return None

    # For errors in its expressions, in the user's words.

    @property
    def texts_over(self) -> Node | None:
        """The input, or the first of several, whose columns its expressions name; else None."""
        return self.inputs[0] if self.inputs else None

    @property
    def texts_of_groups(self) -> bool:
        """Whether each of its expressions is an aggregate of the rows of a group."""
        return False

    @property
    def key_pairs(self) -> tuple[tuple[str, str], ...]:
        """The expressions by which rows of two inputs match."""
        return ()

    @property
    def keyed_inputs(self) -> Mapping[str, Mapping[str, str]]:
        """The inputs of a program that have keys, by name, each with the main input's names of its keys and their expressions."""
        return {}

    @property
    def refuses_null_keys(self) -> bool:
        """Whether a row with a null key does not reach it, and is a dead letter of the node upstream."""
        return False

    @property
    def program_class(self) -> str | None:
        """The name of the class of a program, or None."""
        return None

    @property
    def named_columns(self) -> Mapping[str, str]:
        """Columns that a verb named, each with the text that the user wrote."""
        return {}

    def as_written(self, text: str) -> str:
        """Return a text about it, with the user's words in place of names that a verb made."""
        return text if self.texts_over is None else spelled(text, self.texts_over)

    @property
    def time_cure(self) -> str:
        """The hint how its rows get event time, if they have none."""
        return "late rows, dead letters and results of query operators have no event time"

    # How changes are read.

    @property
    def reads_changes(self) -> bool:
        """Whether it may be a part of how the rows of one source become changes."""
        return False

    def over_schema(self, schema: Struct, before: tuple[str, ...]) -> Node:
        """Return it over the source whose changes it reads, with other columns than those `before`."""
        return self

    @property
    def each_version(self) -> Node:
        """If it gives the last row of each key, the node that gives all of them; else itself."""
        return self

    @property
    def line(self) -> str | None:
        """The user's line, as documents have it."""
        return None if self.site is None else str(self.site)

    @property
    def place(self) -> Place:
        """The place at which failures in its steps are reported."""
        return Place(node=str(self.name), site=self.line)


def operator(node: Node) -> Operator:
    """Return a node as an operator, which every node is."""
    assert isinstance(node, Operator)
    return node


def time_cure(node: Node) -> str:
    """Return the hint how a stream gets event time."""
    before = node
    while before.role in (Role.STATELESS, Role.LOOKUP) and before.inputs:
        before = before.inputs[0]
    return operator(before).time_cure


def spelled(text: str, node: Node) -> str:
    """Return a message about a node's columns, with the user's words in place of columns that a verb named."""
    for name, written in operator(node).named_columns.items():
        text = re.sub(rf"\b{re.escape(name)}\b", written.replace("\\", "\\\\"), text)
    return text


def stepwise(node: Node) -> Stepwise:
    """Return a stateless node with one input as what it is."""
    assert isinstance(node, Stepwise)
    return node


class Consumer(Operator):
    """An operator at which routes end and others begin."""

    @abstractmethod
    def inlets(self, at: Checked, steady: bool = True) -> tuple[Inlet, ...]:
        """Return how rows come to its inputs. `steady`: some sink relies on equal replays."""


class Connected(Operator):
    """An operator with an object of a connector."""

    @abstractmethod
    def connect(self) -> ports.Source | ports.Lookup | ports.Sink:
        """Return the connector's object: the user's, or one restored from the plan."""


def connected_of(nodes: Iterable[Node]) -> tuple[Connected, ...]:
    """Return the nodes that have objects of connectors."""
    return tuple(node for node in nodes if isinstance(node, Connected))


class Ungrouped(Operator):
    """An operator whose rows are in no groups that end."""

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
    """An operator that keeps nothing between epochs, and handles rows as they come."""

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
    """An operator with one input."""

    input: Node


class RowWise(Unary, Memoryless):
    """A stateless operator over single rows: a retraction retracts what its row gave, and times stay as they are."""

    def kind_after(self, kinds: Mapping[Node, str]) -> str:
        return kinds[self.input]

    def time_after(self, times: Mapping[Node, str | None]) -> str | None:
        return times[self.input]

    def closing_after(self, columns: Mapping[Node, Columns]) -> Columns:
        return columns[self.input]


class Stepwise(RowWise):
    """An operator made of steps on the way of a row, without a Spark operator of its own."""

    role = Role.STATELESS

    @abstractmethod
    def steps(self) -> tuple[Step, ...]:
        """Return what it does to a row."""

    def check_request(self) -> Json | None:
        source = operator(self.input).checked_as
        return StepsRequest(id=str(self.name), site=self.line, input=source, steps=self.steps()).to_json()


class Selective(Stepwise):
    """An operator that drops rows and leaves the others as they are."""

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns

    @property
    def keeps_apart(self) -> bool:
        return True

    def keys_after(self, keys: Mapping[Node, Keys]) -> Keys:
        return keys[self.input]


class Repeating(Stepwise):
    """An operator that makes several rows of one, each with the columns of that row."""

    holds_columns = True

    def keys_after(self, keys: Mapping[Node, Keys]) -> Keys:
        return ()


def all_append(node: Node, kinds: Mapping[Node, str]) -> str:
    """Return the kind of rows that are retracted only if rows of some input are."""
    return APPEND if all(kinds[before] == APPEND for before in node.inputs) else CHANGES
