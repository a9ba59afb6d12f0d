"""Lookup: an external table that rows are looked up in. A connector's module has a class `Lookup` that derives from this one."""

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
    """The properties of an external table that the analyses need.

    `repeatable`: a key always has the same rows, so an epoch that runs again gives the same result; `why` gives the reason for either.
    `whole`: the table is loaded as a whole and kept in the memory of each executor; otherwise a server is asked for the keys of each
    batch of rows.
    """

    repeatable: bool
    why: str
    whole: bool = False


@dataclass(frozen=True)
class LookupContext:
    """The context of a lookup when a job starts: its name in the job, the columns of its keys, the job's time zone."""

    name: str
    key: tuple[str, ...]
    time_zone: str = "UTC"


class Lookup(ABC):
    """An external table with its options. The constructor takes and checks the arguments of `hr.lookup.<connector>(...)`, except `name=`
    and `constant=`.

    A class defines `traits`, `options`, `from_options`, `schema`, and either `ask`, to ask a server for keys, or `load`, to load the table
    as a whole.
    """

    does: ClassVar[str] = "lookup"
    connector: ClassVar[str]
    schema: Struct
    """The columns of its rows, including those of the key."""

    @property
    @abstractmethod
    def traits(self) -> LookupTraits: ...

    @property
    def needs(self) -> Packages:
        """The packages that it needs besides Spark."""
        return Packages()

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that a lookup has to name, all of them together; empty: any columns will do."""
        return ()

    @property
    def keys_at_once(self) -> int | None:
        """The maximum number of keys in one request to a server; None: no limit."""
        return None

    @property
    def refresh_ms(self) -> int | None:
        """The age after which an epoch loads a whole table again; None: it is loaded once, when the job starts."""
        return None

    @property
    def reloads(self) -> bool:
        """Whether it takes `refresh`, so that a whole table can be loaded again."""
        return False

    @abstractmethod
    def options(self) -> dict[str, Any]:
        """The options that a plan stores, as JSON: enough for `from_options`, without secrets."""

    @classmethod
    @abstractmethod
    def from_options(cls, options: Mapping[str, Any], schema: Struct) -> Self:
        """The table from the options that a plan stored."""

    def ask(self, context: LookupContext) -> dict[str, Any]:
        """How tasks ask the server: `{"class": "...", "options": {...}}`, with a Scala class that derives from
        `headrace.lookup.LookupStage`, and strings for its constructor, including secrets.
        """
        raise NotImplementedError(f"{self.connector} is loaded as a whole")

    def load(self, session: SparkSession, context: LookupContext) -> DataFrame:
        """The current table, with the columns of `schema`; called when the job starts, and again once the table is too old."""
        raise NotImplementedError(f"{self.connector} is queried key by key")

    def state(self) -> str | None:
        """A string that changes whenever a whole table does: the table is not loaded again while it stays the same. None if changes cannot
        be detected.
        """
        return None

    @property
    def digest(self) -> str:
        """A digest of rows that are part of the job but not of `options`; empty if the rows are outside the job."""
        return ""

    def check(self) -> None:  # noqa: B027
        """Raise before anything starts if there is nothing to look up in."""

    def notice(self) -> str | None:
        """A line that a start prints after the lookup's name: which rows are not loaded, and how to load them. None: nothing."""
        return None

    @property
    def default_name(self) -> str:
        """The name of the table if the user gives none."""
        return self.connector

    def describe(self) -> str:
        """A short description for explain."""
        return self.connector
