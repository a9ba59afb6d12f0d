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
"""What can become of rows that cannot be read."""


@dataclass(frozen=True)
class Lines:
    """Text with a row on each line: `kind` is "json" or "csv", `options` are those of Spark's reader for it."""

    kind: str
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SourceTraits:
    """What the analyses have to know of a source.

    `replayable`: reading an epoch again gives the same rows; `why` says how, or why not. `ordered` names the order in which it is read.
    `placed`: reading an epoch again also brings each row to the same task, in the same order.
    `changes` is `append` where rows are only added, else `changes`; `checked`: a ledger judges whether what is taken away was there.
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
    """What a source may know when it starts: its name in the job, the query's checkpoint folder, the time zone of the job.

    `pending`: an epoch was begun and not ended, so the query reads it again. `anew`: its rows are in no sink yet, so what it reads may
    differ from what its first try read; else a sink has it, others or the state may lack it, and it must not differ.
    """

    name: str
    checkpoint: Path
    time_zone: str = "UTC"
    pending: bool = False
    anew: bool = False


class Source(ABC):
    """A source with its options. The constructor takes what `hr.read.<connector>(...)` takes (`name=` is not its business) and checks it.

    A class defines `traits`, `options`, `from_options`, `scan`, and where it can, `infer`.
    """

    does: ClassVar[str] = "read"
    connector: ClassVar[str]
    # Whether its rows may say what they change, so that it is read with `change_column=` and the like.
    feeds: ClassVar[bool] = False
    schema: Struct | None = None

    @property
    @abstractmethod
    def traits(self) -> SourceTraits: ...

    @property
    def needs(self) -> Packages:
        """What has to be there beside Spark."""
        return Packages()

    @abstractmethod
    def options(self) -> dict[str, Any]:
        """What a plan stores, as JSON: enough for `from_options`, and no secret."""

    def read_as(self) -> dict[str, Any]:
        """Of its options those that decide which row is made of what is read, by what users call them; not where it is read, nor how much
        at once. A start is refused where rows of another reading would have to be found again, as those that an operator keeps.
        """
        return {}

    def position_by(self) -> dict[str, Any]:
        """Of its options those that a position in it depends on, by what users call them: with another value, the position to which a job
        has come would leave rows out or read some again. A start is refused where one that is in both versions has changed.
        """
        return {}

    def reads_from(self) -> str | None:
        """What it reads, in words. A start says where that is another than before; None: it says nothing."""
        return None

    @classmethod
    @abstractmethod
    def from_options(cls, options: Mapping[str, Any], schema: Struct) -> Self:
        """The source that a plan stored."""

    @abstractmethod
    def scan(self, session: SparkSession, context: SourceContext) -> tuple[DataFrame, dict[str, Any]]:
        """The streaming frame and how the kernel reads it.

        `{"kind": "columns"}`: the frame has the schema's columns, and may have `_file string, _position bigint`; a source of changes has
        `_weight bigint`, how often the row is added (or taken away, if negative).
        `{"kind": "json" | "csv", "options": {...}}`: the frame is `value binary, _file string, _position bigint`, a line each. Of the
        schema's columns those that no line has are last; `{"beside": [...]}` names them, and the frame has them. Instead of a format the
        kind may be the name of a Scala class that derives from `headrace.source.LineParser`.
        `{"records": True}`: each value is a record of its own, and a blank one is malformed; a blank line of a file is skipped.
        In any frame a text in the column `_problem string` says of a row why it is none, and makes a dead letter of it; one in
        `_broken string` says why a whole file is not read. `_tombstone boolean` marks records that are only counted, as tombstones.
        """

    def feed(self, format: str | None, key: tuple[str, ...]) -> None:  # noqa: B027  # most sources have nothing but rows
        """Be told how the rows are changes, for sources that `feeds`: "debezium", or "upsert" by the columns of `key`."""

    def infer(self, session: SparkSession) -> Struct:
        """The schema, found by looking at what is there; asked once, when no schema was given, and kept in the plan."""
        raise ConnectorError("SCHEMA_NEEDED", f"{self.connector} needs a schema", hint='schema="card string, amount double"', site=here())

    def check(self) -> None:  # noqa: B027
        """Complain before anything starts if there is nothing to read from."""

    def check_first(self) -> None:  # noqa: B027
        """Complain, before a job reads from here for the first time, if what is there is empty. Later everything may have been read."""

    def notice(self) -> str | None:
        """What a start prints of it, behind its name: input that lies there and is not read, and how it would be. None: nothing."""
        return None

    def reads(self, sink: Sink) -> bool:
        """Whether it would read what a sink of its own job writes."""
        return False

    def refuse_other_input(self, session: SparkSession, context: SourceContext) -> None:  # noqa: B027  # most sources keep what they gave
        """Complain, before a start touches anything, where an epoch that comes again and that a sink has would read something else than
        its first try.
        """

    def unread(self, session: SparkSession, context: SourceContext) -> int | None:
        """How many files or rows wait that the query of `context.checkpoint` has not read; None if the source cannot tell."""
        return None

    def beginning(self, session: SparkSession, place: Elsewhere, rows: int, epochs: int) -> Source | None:
        """A source that ends, of about so many first rows of this one in about so many epochs, that a plan can store, kept in the place if
        need be; None if it cannot be made.
        """
        return None

    @property
    def malformed(self) -> str:
        """What becomes of rows that cannot be read: one of `MALFORMED`. They are counted in any case."""
        return "dead_letter"

    @property
    def repairs(self) -> Lines | None:
        """How rows are read that were dead letters and are fed back repaired, beside its own; None if they cannot be."""
        return None

    @property
    def default_name(self) -> str:
        """The name of the source if the user gave none."""
        return self.connector

    def describe(self) -> str:
        """A few words for explain."""
        return self.connector
