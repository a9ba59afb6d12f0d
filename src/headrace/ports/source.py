"""Source: where rows come from. A connector's module has a class `Source` that derives from this one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from headrace.errors import ConnectorError, here
from headrace.packages import Packages
from headrace.ports.elsewhere import Elsewhere
from headrace.schema import Struct

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.ports.sink import Sink


MALFORMED = ("dead_letter", "fail", "skip")
"""The options for rows that cannot be read."""


@dataclass(frozen=True)
class Lines:
    """Text with one row a line: `kind` is "json" or "csv", `options` are those of Spark's reader for it."""

    kind: str
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SourceTraits:
    """The properties of a source that the analyses need.

    `replayable`: reading an epoch again gives the same rows; `why` gives the reason for either. `ordered` names the order of its rows:
    `name` (of the files), `time`, or what else increases, such as `offset`.
    `placed`: reading an epoch again also brings each row to the same task, in the same order.
    `changes` is `append` if rows are only added, else `changes`; `checked`: a ledger checks that each retracted row exists.
    """

    bounded: bool
    replayable: bool
    why: str
    ordered: str | None = None
    changes: str = "append"
    checked: bool = False
    placed: bool = False


@dataclass(frozen=True)
class SourceContext:
    """The context of a source when it starts: its name in the job, the query's checkpoint folder, the time zone of the job.

    `pending`: an epoch was begun and not ended, so the query reads it again. `anew`: no sink holds the rows of that epoch yet, so they may
    differ from those of its first try. Otherwise a sink holds them while others or the state may lack them, and they must not differ.
    """

    name: str
    checkpoint: Path
    time_zone: str = "UTC"
    pending: bool = False
    anew: bool = False


class Source(ABC):
    """A source with its options. The constructor takes and checks the arguments of `hr.read.<connector>(...)`, except `name=`.

    A class defines `traits`, `options`, `from_options`, `scan`, and `infer` if it can.
    """

    does: ClassVar[str] = "read"
    connector: ClassVar[str]
    # Whether its rows may be changes, so that it takes `change_column=` and related options.
    feeds: ClassVar[bool] = False
    schema: Struct | None = None

    @property
    @abstractmethod
    def traits(self) -> SourceTraits: ...

    @property
    def needs(self) -> Packages:
        """The packages that it needs besides Spark."""
        return Packages()

    @abstractmethod
    def options(self) -> dict[str, Any]:
        """The options that a plan stores, as JSON: enough for `from_options`, without secrets."""

    def read_as(self) -> dict[str, Any]:
        """The options that decide which row results from what is read, by their public names; not where the source reads, nor how much at
        once. A start is refused if they changed and something depends on reading the same rows again, such as rows kept by an operator.
        """
        return {}

    def position_by(self) -> dict[str, Any]:
        """The options that a position in the source depends on, by their public names: under another value, the position that a job has
        reached would skip rows or repeat some. A start is refused if one that both versions have has changed.
        """
        return {}

    def reads_from(self) -> str | None:
        """The input, in words. A start prints a change of it; None: it prints nothing."""
        return None

    @classmethod
    @abstractmethod
    def from_options(cls, options: Mapping[str, Any], schema: Struct) -> Self:
        """The source from the options that a plan stored."""

    @abstractmethod
    def scan(self, session: SparkSession, context: SourceContext) -> tuple[DataFrame, dict[str, Any]]:
        """The streaming frame and how the kernel reads it.

        `{"kind": "columns"}`: the frame has the schema's columns, and may have `_file string, _position bigint`; a source of changes has
        `_weight bigint`, how often the row is added, or retracted if negative.
        `{"kind": "json" | "csv", "options": {...}}`: the frame is `value binary, _file string, _position bigint`, one row a line. Columns
        of the schema that do not come from the lines are last in it; `{"beside": [...]}` names them, and the frame has them. The kind may
        also be the name of a Scala class that derives from `headrace.source.LineParser`.
        `{"records": True}`: each value is a record of its own, and a blank one is malformed; a blank line of a file is skipped.
        In any frame, text in the column `_problem string` gives the reason why a row cannot be read, and makes it a dead letter; text in
        `_broken string` the reason why a whole file cannot. `_tombstone boolean` marks records that are only counted, as tombstones.
        """

    def feed(self, format: str | None, key: tuple[str, ...]) -> None:  # noqa: B027  # most sources have nothing but rows
        """Set how the rows are changes, in a class that `feeds`: "debezium", or "upsert" by the columns of `key`."""

    def infer(self, session: SparkSession) -> Struct:
        """The schema, inferred from the input; called once, when no schema was given, and kept in the plan."""
        raise ConnectorError(
            "SCHEMA_NEEDED",
            f"{self.connector} cannot infer its columns",
            hint='give them, for example schema="card string, amount double"',
            site=here(),
        )

    def check(self) -> None:  # noqa: B027
        """Raise before anything starts if there is nothing to read from."""

    def check_first(self) -> None:  # noqa: B027
        """Raise before the first start of a job if the input is empty. Later all of it may have been read."""

    def notice(self) -> str | None:
        """A line that a start prints after the source's name: which input is not read, and how to read it. None: nothing."""
        return None

    def reads(self, sink: Sink) -> bool:
        """Whether it would read the output of a sink of its own job."""
        return False

    def refuse_other_input(self, session: SparkSession, context: SourceContext) -> None:  # noqa: B027  # most sources keep their rows
        """Raise, before a start changes anything, if an epoch that is repeated and that a sink holds would read other rows than its first
        try.
        """

    def unread(self, session: SparkSession, context: SourceContext) -> int | None:
        """The number of files or rows that the query of `context.checkpoint` has not read yet; None if the source cannot tell."""
        return None

    def beginning(self, session: SparkSession, place: Elsewhere, rows: int, epochs: int) -> Source | None:
        """A bounded source that a plan can store, of about the first `rows` rows of this one in about `epochs` epochs; it may keep them in
        the place. None if there is no such source.
        """
        return None

    @property
    def malformed(self) -> str:
        """What becomes of rows that cannot be read: one of `MALFORMED`. They are counted in any case."""
        return "dead_letter"

    @property
    def repairs(self) -> Lines | None:
        """How dead letters are read again once they are repaired, in addition to the source's own input; None if they cannot be."""
        return None

    @property
    def default_name(self) -> str:
        """The name of the source if the user gives none."""
        return self.connector

    def describe(self) -> str:
        """A short description for explain."""
        return self.connector
