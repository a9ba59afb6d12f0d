"""Sink: where rows go. A connector's module has a class `Sink` that derives from this one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from headrace.schema import Struct

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class SinkTraits:
    """What the analyses have to know of a sink.

    `repeatable`: writing an epoch twice equals writing it once; `why` says how, or why not. `accepts`: the modes it can be written with.
    """

    repeatable: bool
    why: str
    accepts: tuple[str, ...] = ("append",)


@dataclass(frozen=True)
class SinkContext:
    """What a sink may know when it opens. `checkpoint_id` stays the same over restarts; `fresh` asks to forget what was written before it.
    `query` is the query that feeds the sink, whose epochs are counted from 0 on each checkpoint. With `mode` "changes" or "upsert" staged
    rows have one more value, the last: how often the row is added, or taken away if it is negative. With "upsert" an epoch adds at the most
    one row of a key, and takes at the most one away.
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


@dataclass(frozen=True)
class Staged:
    """What the tasks left for one sink in one epoch: the number of rows, the files, and the rows as tuples of internal values."""

    count: int
    files: tuple[Mapping[str, Any], ...] = ()
    rows: Callable[[], list[tuple[Any, ...]]] = list


class Sink(ABC):
    """A sink with its options. The constructor takes what `.write.<connector>(...)` takes (`name=` and `mode=` are not its business).

    Methods without a body here may be left out. The engine calls `open`, `recover`, `stage`, then `commit` once per epoch in order (again
    for an epoch whose end was not seen), `close`.
    """

    connector: ClassVar[str]

    @property
    @abstractmethod
    def traits(self) -> SinkTraits: ...

    @property
    def key(self) -> tuple[str, ...]:
        """The columns by which it replaces rows, where the user named some."""
        return ()

    @property
    def owns(self) -> str | None:
        """What it writes to, if no other sink of a job can write to it."""
        return None

    @abstractmethod
    def options(self) -> dict[str, Any]:
        """What a plan stores, as JSON: enough for `from_options`, and no secret."""

    @classmethod
    @abstractmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """The sink that a plan stored."""

    def check(self, columns: tuple[str, ...]) -> None:  # noqa: B027  # most sinks take any columns
        """Complain when built if a stream of these columns cannot be written."""

    @abstractmethod
    def open(self, context: SinkContext) -> None:
        """Take what is needed and refuse what cannot work, before the query starts."""

    def recover(self) -> None:  # noqa: B027  # nothing to mend is the rule
        """Finish or forget what a killed run left half done."""

    @abstractmethod
    def stage(self) -> dict[str, Any]:
        """What tasks do with the rows: `{"kind": "rows"}`, `{"kind": "files", "format": ..., "folder": ...}` or `{"kind": "none"}`."""

    @abstractmethod
    def commit(self, epoch: int, staged: Staged) -> None:
        """Make an epoch's rows visible."""

    def close(self) -> None:  # noqa: B027
        """The run has ended."""

    def describe(self) -> str:
        """A few words for explain."""
        return self.connector
