"""Sink: where rows go. A connector's module has a class `Sink` that derives from this one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from headrace.durable.marks import Mark
from headrace.errors import HeadraceError
from headrace.packages import Packages
from headrace.ports.elsewhere import Elsewhere
from headrace.schema import Struct

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


REFUSED = ("dead_letter", "fail")
"""What may become of a row that a sink cannot write: a dead letter of the sink, or the end of the job."""


@dataclass(frozen=True)
class SinkTraits:
    """What the analyses have to know of a sink.

    `commit`: "transactional" (an epoch is there whole or not at all, and once), "idempotent" (written twice it is what it is written once)
    or "plain" (neither); `why` says how, or why not. `accepts`: the modes it can be written with; `keyed`: those with a key. `placed`: it
    commits task by task, so a replay has to bring each row to the task that had it before; `batched`: batch by batch, each under a key of
    its own. `replaces`: with mode "upsert" it puts a row in the place of what is there under its key, and need not be told that this goes.
    `visible`: what a reader sees at once, an "epoch", what one "task" wrote, or a "row". `cleans`: in words, what it leaves behind and when
    that goes away. `marks`: it holds the identity of its last epoch (`Sink.mark`), so a checkpoint that was put back is noticed.
    `rewinds`: it can be brought back to an earlier epoch (`Sink.rewind`). `lasting`: what earlier runs have written is still there.
    """

    commit: str
    why: str
    accepts: tuple[str, ...] = ("append",)
    keyed: tuple[str, ...] = ("upsert",)
    placed: bool = False
    batched: bool = False
    replaces: bool = False
    visible: str = "epoch"
    cleans: str = ""
    marks: bool = False
    rewinds: bool = False
    lasting: bool = True

    @property
    def repeatable(self) -> bool:
        """Writing an epoch twice equals writing it once."""
        return self.commit in ("transactional", "idempotent")


@dataclass(frozen=True)
class SinkContext:
    """What a sink may know when it opens. `checkpoint_id` stays the same over restarts; `fresh` asks to forget what the
    same `job` wrote before it, and never what another one wrote.
    `query` is the query that feeds the sink, whose epochs are counted from 0 on each checkpoint. `term` counts the starts of the
    checkpoint: what writes with a smaller one is a process that has been replaced, and a sink that can tell refuses it. `unfinished` is
    the epoch that an earlier run was cut off in, which comes again. With `mode` "changes" or "upsert" staged rows have one more value,
    the last: how often the row is added, or taken away if it is negative. With "upsert" an epoch adds at the most one row of a key, and
    takes at the most one away, which comes first; a sink that `replaces` is told of a row that goes only where none takes its place.
    `held` raises LEASE_LOST where another process has taken over. A sink that removes what is left lists it first, then calls this: what
    was listed is of no successor then, however late it is removed. `partitions`: how many tasks write an epoch of a sink that is `placed`.
    `on_refused`: what becomes of rows that the sink cannot write. `shown`: what people call the sink.
    """

    job: str
    name: str
    schema: Struct
    session: SparkSession
    checkpoint: Path
    checkpoint_id: str
    time_zone: str = "UTC"
    fresh: bool = False
    query: str = "main"
    mode: str = "append"
    term: int = 1
    unfinished: int | None = None
    held: Callable[[], None] = lambda: None
    partitions: int = 1
    on_refused: str | None = "dead_letter"
    shown: str = ""


@dataclass(frozen=True)
class Staged:
    """What the tasks left for one sink in one epoch: the number of rows, the files, the rows as tuples of internal values, and what each
    task's writer said of its part. `identity` is the epoch's: a replay carries the same one, and an epoch of the same number from another
    copy of the checkpoint does not. It is empty for an epoch that an earlier version began.
    """

    count: int
    files: tuple[Mapping[str, Any], ...] = ()
    rows: Callable[[], list[tuple[Any, ...]]] = list
    parts: tuple[Mapping[str, Any], ...] = ()
    identity: str = ""


@dataclass(frozen=True)
class Rewind:
    """What brings a sink back to an earlier epoch: `how`, in words; `first`, the earliest epoch whose rows go; and the `work`. Readers see
    it done or not done, and it can be cut off anywhere and done again.
    """

    how: str
    first: int
    work: Callable[[], None]


class Sink(ABC):
    """A sink with its options. The constructor takes what `.write.<connector>(...)` takes (`name=`, `mode=` and `on_refused=` are not its
    business).

    Methods without a body here may be left out. The engine calls `suits`, `mark`, with `fresh` `may_open`, `open`, `recover`, `stage`, then
    `commit` once per epoch in order (again for an epoch whose end was not seen), `close`.
    """

    does: ClassVar[str] = "write"
    connector: ClassVar[str]
    on_refused: str | None = "dead_letter"
    """What becomes of a row that cannot be written, one of `REFUSED`; None: there is no such row, and no such option."""

    @property
    @abstractmethod
    def traits(self) -> SinkTraits: ...

    @property
    def needs(self) -> Packages:
        """What has to be there beside Spark."""
        return Packages()

    @property
    def key(self) -> tuple[str, ...]:
        """The columns by which it replaces rows, where the user named some."""
        return ()

    @property
    def mode(self) -> str | None:
        """The mode in which it is written where the user names none; None: as the stream's rows are."""
        return None

    @property
    def system(self) -> str:
        """What it writes to, where a connector knows several: a certificate says so if it tried another."""
        return self.connector

    @property
    def owns(self) -> str | None:
        """What it writes to, if no other sink of a job can write to it."""
        return None

    @classmethod
    def called(cls, options: Mapping[str, Any]) -> str:
        """What people call a sink with these options that has no name: of a folder or table its last part; empty: after its stream."""
        return ""

    @abstractmethod
    def options(self) -> dict[str, Any]:
        """What a plan stores, as JSON: enough for `from_options`, and no secret."""

    def lays_out(self) -> dict[str, Any]:
        """Of the options of a sink that is `placed` or `batched` those that decide in which part of an epoch a row is, and by what a part
        is known again: they stay as they are while an epoch is unfinished.
        """
        return self.options()

    def written_as(self, mode: str, schema: Struct) -> dict[str, Any]:
        """How its rows lie where it writes, as JSON: what a reader takes to be the same for all rows that are there. A start is refused
        where this is not what it was. Of `columns`, each by name with its type or "" where a reader takes any, some may come and go;
        of `places`, their names in order where a reader goes by that, some at the end.
        """
        return {"key": sorted(name.lower() for name in self.key), "mode": mode}

    @classmethod
    @abstractmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """The sink that a plan stored."""

    def check(self, columns: tuple[str, ...]) -> None:  # noqa: B027  # most sinks take any columns
        """Complain when built if a stream of these columns cannot be written."""

    def suits(self, name: str, schema: Struct) -> None:  # noqa: B027  # most sinks take any types
        """Complain if rows of these types cannot be written as the sink `name`: when a job is made, and again before its start touches
        anything. A server may be asked, where one says what it takes. That it does not answer, or what else is the fault of the
        environment, stops a start, and keeps no job from being made.
        """

    def mark(self, context: SinkContext) -> Mark | None:
        """The last epoch of this checkpoint's query that the sink holds, read before it opens and without changing anything; None if it
        cannot tell. The engine refuses a start where this is not what the checkpoint has written there.

        An epoch with rows leaves its number and `Staged.identity` in the sink, in the step that makes its rows visible; one without rows
        need not.
        """
        return None

    def examine(self, context: SinkContext) -> None:  # noqa: B027  # most sinks cannot tell, or refuse a start
        """Complain of rows that it has written and that are gone, as far as a look at its place tells, and change nothing. It may take its
        time: `headrace doctor` asks this, and no start does.
        """

    def rewind(self, context: SinkContext, mark: Mark) -> Rewind:
        """How the sink comes back to an epoch that it held, -1 for none, found without changing anything and before it opens. After the
        work `Sink.mark` gives that epoch. Raises CANNOT_REWIND where later rows cannot be taken back exactly, or are not of this job alone.
        """
        raise cannot_rewind(context.name, f"a {self.connector} sink cannot take back what was written")

    def may_open(self, context: SinkContext) -> None:  # noqa: B027  # a sink that keeps nothing refuses nothing
        """Complain of what `open` would refuse, without changing anything: a place of another job, a table that does not fit, a server that
        is away, a secret that is missing. Asked of all sinks before a fresh start empties any of them.
        """

    @abstractmethod
    def open(self, context: SinkContext) -> None:
        """Take what is needed and refuse what cannot work, before the query starts."""

    def recover(self) -> None:  # noqa: B027  # nothing to mend is the rule
        """Finish or forget what a killed run left half done."""

    @abstractmethod
    def stage(self) -> dict[str, Any]:
        """What tasks do with the rows: `{"kind": "rows"}`, `{"kind": "files", "format": ..., "folder": ...}`, `{"kind": "none"}`, or
        `{"kind": "writer", "class": ..., "options": {...}}` with a Scala class that derives from `headrace.sink.WriterStage`. With
        `"years": True` rows with days or moments out of the years 1 to 9999 are put aside.
        """

    @abstractmethod
    def commit(self, epoch: int, staged: Staged) -> None:
        """Make an epoch's rows visible."""

    def close(self) -> None:  # noqa: B027
        """The run has ended."""

    def elsewhere(self, place: Elsewhere) -> Sink | None:
        """The same sink, writing to a place that is thrown away; None if it cannot. One that can has `contents`."""
        return None

    def contents(self, session: SparkSession, schema: Struct) -> Iterable[Sequence[Any]]:
        """The rows that are there now, in any order, as readers find them who know nothing of this sink's epochs. It need not be open."""
        raise NotImplementedError(f"a {self.connector} sink does not tell what it holds")

    def discard(self) -> None:  # noqa: B027  # the place's folder is removed anyway
        """Remove what was written elsewhere, if that is not in the place's folder."""

    def describe(self) -> str:
        """A few words for explain."""
        return self.connector


def cannot_rewind(sink: str, why: str) -> HeadraceError:
    """The error of a sink that does not come back to an earlier epoch."""
    return HeadraceError("CANNOT_REWIND", f"{sink}: {why}")
