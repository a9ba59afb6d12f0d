"""Lookup: a table outside in which rows are looked up. A connector's module has a class `Lookup` that derives from this one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from headrace.packages import Packages
from headrace.schema import Struct

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class LookupTraits:
    """What the analyses have to know of an outside table.

    `repeatable`: a key has the same rows whenever it is asked for, so that an epoch that is run again gives what it gave; `why` says how,
    or why not. `whole`: the table is loaded as a whole and kept in the memory of each executor; else a server is asked for the keys of
    rows as they come.
    """

    repeatable: bool
    why: str
    whole: bool = False


@dataclass(frozen=True)
class LookupContext:
    """What a lookup may know when a job starts: its name there, the columns it is asked by, the job's time zone."""

    name: str
    key: tuple[str, ...]
    time_zone: str = "UTC"


class Lookup(ABC):
    """An outside table with its options. The constructor takes what `hr.lookup.<connector>(...)` takes (`name=` and `constant=` are not its
    business) and checks it.

    A class defines `traits`, `options`, `from_options`, `schema`, and one of two: `ask`, where a server is asked for keys, or `load`, where
    the table is loaded as a whole.
    """

    does: ClassVar[str] = "lookup"
    connector: ClassVar[str]
    schema: Struct
    """The columns of its rows, those it is asked by among them."""

    @property
    @abstractmethod
    def traits(self) -> LookupTraits: ...

    @property
    def needs(self) -> Packages:
        """What has to be there beside Spark."""
        return Packages()

    @property
    def key(self) -> tuple[str, ...]:
        """The columns it can be asked by, all of them together; none where any will do."""
        return ()

    @property
    def keys_at_once(self) -> int | None:
        """The most keys that a request can have, where a server is asked; None: any number."""
        return None

    @property
    def refresh_ms(self) -> int | None:
        """How old a whole table may get before an epoch loads it again; None: it is loaded once, when the job starts."""
        return None

    @abstractmethod
    def options(self) -> dict[str, Any]:
        """What a plan stores, as JSON: enough for `from_options`, and no secret."""

    @classmethod
    @abstractmethod
    def from_options(cls, options: Mapping[str, Any], schema: Struct) -> Self:
        """The table that a plan stored."""

    def ask(self, context: LookupContext) -> dict[str, Any]:
        """How tasks ask: `{"class": "...", "options": {...}}`, a class in Scala that derives from `headrace.lookup.LookupStage`, and texts
        for its constructor, secrets among them.
        """
        raise NotImplementedError(f"{self.connector} is loaded as a whole")

    def load(self, session: SparkSession, context: LookupContext) -> DataFrame:
        """The table as it is now, with the columns of `schema`; called when the job starts, and when it has become too old."""
        raise NotImplementedError(f"{self.connector} is asked key by key")

    def state(self) -> str | None:
        """A text that is another one when the table is, where it is loaded as a whole: as long as it stays, the table is not loaded again.
        None where that cannot be told.
        """
        return None

    @property
    def digest(self) -> str:
        """A text that stands for rows that the job itself gives, where `options` do not tell of them; empty where they lie outside."""
        return ""

    def check(self) -> None:  # noqa: B027
        """Complain before anything starts if there is nothing to ask."""

    def notice(self) -> str | None:
        """What a start prints of it, behind its name: rows that lie there and are not loaded, and how they would be. None: nothing."""
        return None

    @property
    def default_name(self) -> str:
        """The name of the table if the user gave none."""
        return self.connector

    def describe(self) -> str:
        """A few words for explain."""
        return self.connector
