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
    from pyspark.sql import DataFrame, SparkSession


REFUSED = ("dead_letter", "fail")
"""The options for a row that a sink cannot write: it becomes a dead letter, or the job fails."""


@dataclass(frozen=True)
class SinkTraits:
    """The properties of a sink that the analyses need.

    * `commit`: "transactional" (an epoch is there whole or not at all, and once), "idempotent" (writing it twice equals writing it once) or
      "plain" (neither); `why` gives the reason.
    * `accepts`: the modes it can be written with; `keyed`: those with a key.
    * `placed`: it commits task by task, so a replay has to bring each row to the same task.
    * `batched`: it commits batch by batch, each under a key of its own.
    * `replaces`: with mode "upsert" a row replaces the one under its key without a retraction of that row.
    * `visible`: the unit that a reader sees at once: an "epoch", the output of one "task", or a "row".
    * `cleans`: in words, what it leaves in its place, and when that is removed.
    * `marks`: it holds the identity of its last epoch (`Sink.mark`), so a restored checkpoint is detected.
    * `rewinds`: it can be brought back to an earlier epoch (`Sink.rewind`).
    * `swaps`: it can make an epoch's rows the only ones that it holds, in the step in which it marks the epoch (`Staged.whole`).
    * `lasting`: the rows of earlier runs are still there.
    * `shared`: others may write to its place, and it cannot tell their rows from its own.
    * `in_process`: its rows can only be read in the process that made it.
    * `displays`: its rows are shown to a person and stored nowhere, so other jobs may have the same place.
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
    swaps: bool = False
    lasting: bool = True
    shared: bool = False
    in_process: bool = False
    displays: bool = False

    @property
    def repeatable(self) -> bool:
        """Whether writing an epoch twice equals writing it once."""
        return self.commit in ("transactional", "idempotent")


@dataclass(frozen=True)
class SinkContext:
    """The context of a sink when it opens.

    * `checkpoint_id` stays the same over restarts; `fresh` asks the sink to delete what the same `job` wrote before, never what another one
      wrote.
    * `query` is the query of the sink, whose epochs are counted from 0 on each checkpoint.
    * `term` counts the starts of the checkpoint: a writer with a smaller one has been replaced, and a sink that can detect it refuses it.
    * `unfinished` is the epoch that an interrupted run has left, which is repeated.
    * `mode`: with "changes" or "upsert" staged rows have one more value, the last: how often the row is added, or retracted if negative.
      With "upsert" an epoch adds at most one row of a key, and retracts at most one, which comes first; a sink that `replaces` gets a
      retraction only if no row replaces the retracted one.
    * `held` raises LEASE_LOST if another process has taken over. A sink that removes leftovers lists them first, then calls this: nothing
      on the list belongs to a successor then, however late it is removed.
    * `partitions`: how many tasks write an epoch of a sink that is `placed`.
    * `on_refused`: the option for rows that the sink cannot write, one of `REFUSED`.
    * `shown`: the display name of the sink.
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
    """The result of the tasks for one sink in one epoch: the number of rows, the files, the rows as tuples of internal values, and what
    each task's writer reported of its part. `identity` is the epoch's: a replay has the same one, and an epoch of the same number from
    another copy of the checkpoint does not. It is empty for an epoch that an earlier version began.

    `whole`: the sink holds these rows afterwards and none of its earlier ones, also if there are no rows. Only a sink that `swaps` gets it.
    """

    count: int
    files: tuple[Mapping[str, Any], ...] = ()
    rows: Callable[[], list[tuple[Any, ...]]] = list
    parts: tuple[Mapping[str, Any], ...] = ()
    identity: str = ""
    whole: bool = False


@dataclass(frozen=True)
class Rewind:
    """A way to bring a sink back to an earlier epoch: `how`, in words; `first`, the earliest epoch whose rows are deleted; and the `work`.
    Readers see all of it or nothing, and after an interruption it can be done again.
    """

    how: str
    first: int
    work: Callable[[], None]


class Sink(ABC):
    """A sink with its options. The constructor takes the arguments of `.write.<connector>(...)`, except `name=`, `mode=` and `on_refused=`.

    Only abstract methods have to be defined. The engine calls `suits`, `mark`, with `fresh` `may_open`, `open`, `recover`, `stage`, then
    `commit` once per epoch in order (again for an epoch whose end was not seen), `close`.
    """

    does: ClassVar[str] = "write"
    connector: ClassVar[str]
    on_refused: str | None = "dead_letter"
    """What becomes of a row that cannot be written, one of `REFUSED`; None: the sink takes every row and has no such option."""

    @property
    @abstractmethod
    def traits(self) -> SinkTraits: ...

    @property
    def needs(self) -> Packages:
        """The packages that it needs besides Spark."""
        return Packages()

    @property
    def key(self) -> tuple[str, ...]:
        """The columns of the key by which it replaces rows, if the user gave any."""
        return ()

    @property
    def mode(self) -> str | None:
        """The mode of writing if the user gives none; None: that of the stream's rows."""
        return None

    @property
    def system(self) -> str:
        """The system it writes to, if a connector supports several: a certificate mentions a different one that it tried."""
        return self.connector

    @property
    def owns(self) -> str | None:
        """The target, if no other sink of a job can write to it."""
        return None

    @property
    def location(self) -> str:
        """The target as another job may name it too: a fork must not write to a location of its parent."""
        return self.owns or self.describe()

    @classmethod
    def called(cls, options: Mapping[str, Any]) -> str:
        """The display name of an unnamed sink with these options: the last part of a folder or table; empty: that of its stream."""
        return ""

    @abstractmethod
    def options(self) -> dict[str, Any]:
        """The options that a plan stores, as JSON: enough for `from_options`, without secrets."""

    def lays_out(self) -> dict[str, Any]:
        """The options of a sink that is `placed` or `batched` that decide in which part of an epoch a row is, and how a part is recognized
        again. They have to stay the same while an epoch is unfinished.
        """
        return self.options()

    def written_as(self, mode: str, schema: Struct) -> dict[str, Any]:
        """The layout of its rows in the target, as JSON: the properties that a reader expects to be the same for all rows. A start is
        refused if the layout has changed. Of `columns`, each by name with its type, or "" if a reader takes any type, some may be added or
        removed; of `places`, their names in order for a reader that depends on it, some may be added at the end.
        """
        return {"key": sorted(name.lower() for name in self.key), "mode": mode}

    @classmethod
    @abstractmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """The sink from the options that a plan stored."""

    def check(self, columns: tuple[str, ...]) -> None:  # noqa: B027  # most sinks take any columns
        """Raise when the plan is built if a stream of these columns cannot be written."""

    def suits(self, name: str, schema: Struct) -> None:  # noqa: B027  # most sinks take any types
        """Raise if rows of these types cannot be written as the sink `name`. Called when a job is made, and again before its start changes
        anything. It may ask a server which types it takes. If the server cannot be reached, or the environment is at fault in another way,
        a start fails, but the job can be made.
        """

    def mark(self, context: SinkContext) -> Mark | None:
        """The last epoch of this checkpoint's query that the sink holds, read before it opens and without changing anything; None if it
        cannot tell. The engine refuses a start if the checkpoint has written another one there.

        An epoch with rows leaves its number and `Staged.identity` in the sink, in the step that makes its rows visible; one without rows
        may leave none.
        """
        return None

    def notice(self) -> str | None:
        """A line that a start prints after the sink's name, about what `mark` has found. None: nothing."""
        return None

    def examine(self, context: SinkContext) -> None:  # noqa: B027  # most sinks cannot tell, or refuse a start
        """Raise if rows that it has written are missing, as far as that can be seen, and change nothing. It may be slow: only
        `headrace doctor` calls it, no start does.
        """

    def rewind(self, context: SinkContext, mark: Mark) -> Rewind:
        """How the sink comes back to an epoch that it held, -1 for none, found without changing anything and before it opens. After the
        work `Sink.mark` gives that epoch. Raises CANNOT_REWIND if later rows cannot be removed exactly, or are not of this job alone.
        """
        raise cannot_rewind(context.name, f"a {self.connector} sink cannot undo what was written")

    def may_open(self, context: SinkContext) -> None:  # noqa: B027  # a sink that keeps nothing refuses nothing
        """Raise what `open` would raise, without changing anything: for the place of another job, a table that does not match, a server
        that cannot be reached, a missing secret. Called for all sinks before a fresh start empties any of them.
        """

    @abstractmethod
    def open(self, context: SinkContext) -> None:
        """Acquire what the sink needs and refuse what cannot work, before the query starts."""

    def recover(self) -> None:  # noqa: B027  # most sinks have nothing to recover
        """Finish or drop what a killed run left incomplete."""

    @abstractmethod
    def stage(self) -> dict[str, Any]:
        """What tasks do with the rows: `{"kind": "rows"}`, `{"kind": "files", "format": ..., "folder": ...}`, `{"kind": "none"}`, or
        `{"kind": "writer", "class": ..., "options": {...}}` with a Scala class that derives from `headrace.sink.WriterStage`. With
        `"years": True` rows with dates or timestamps outside the years 1 to 9999 become dead letters.
        """

    @abstractmethod
    def commit(self, epoch: int, staged: Staged) -> None:
        """Make an epoch's rows visible."""

    def close(self) -> None:  # noqa: B027
        """End the run."""

    def elsewhere(self, place: Elsewhere) -> Sink | None:
        """The same sink, writing to a temporary place; None if it cannot. One that can implements `contents`."""
        return None

    def contents(self, session: SparkSession, schema: Struct, mode: str) -> DataFrame | Iterable[Sequence[Any]]:
        """The current rows of a sink that was written in a mode, in any order, as readers see them that ignore its epochs. Python values if
        Spark cannot read the place. The sink need not be open. A deploy compares them with the rows of a new version.
        """
        raise NotImplementedError(f"a {self.connector} sink cannot return its rows")

    def uncomparable(self, mode: str) -> str | None:
        """Why its contents are not all of the rows that it was given in a mode, so that a deploy cannot correct them; None if they are."""
        return None if self.traits.marks else f"a {self.connector} sink cannot return its rows"

    def unswappable(self) -> str | None:
        """Why it cannot make an epoch's rows the only ones that it holds; None if it can."""
        return None if self.traits.swaps else f"a {self.connector} sink cannot withdraw what it has written"

    def discard(self) -> None:  # noqa: B027  # the place's folder is removed anyway
        """Remove what was written to a temporary place outside its folder."""

    def describe(self) -> str:
        """A short description for explain."""
        return self.connector


def rows_in(sink: Sink, session: SparkSession, schema: Struct, mode: str) -> Iterable[Sequence[Any]]:
    """The contents of a sink as rows of Python values."""
    contents = sink.contents(session, schema, mode)
    return contents if isinstance(contents, Iterable) else contents.collect()


def frame_in(sink: Sink, session: SparkSession, schema: Struct, mode: str) -> DataFrame:
    """The contents of a sink as a DataFrame with the columns of a schema."""
    contents = sink.contents(session, schema, mode)
    return session.createDataFrame(list(contents), schema.ddl) if isinstance(contents, Iterable) else contents


def cannot_rewind(sink: str, why: str) -> HeadraceError:
    """The error of a sink that cannot come back to an earlier epoch."""
    return HeadraceError("CANNOT_REWIND", f"{sink}: {why}")
