"""What differs between databases: types, catalogues, statements, what their errors mean."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from headrace.connectors.jdbc.address import Address
from headrace.connectors.jdbc.database import Database, Problem
from headrace.errors import ConnectorError, HeadraceError, RunError
from headrace.ports import Jar
from headrace.schema import Array, Map, Struct, Type, plain_type

IDLE = 20
"""Seconds after which the server gives up a transaction of whose process it hears nothing."""

SILENCE = 900
"""Seconds after which a server that does not answer a statement is taken to be gone: its machine may be."""

TASK, WEIGHT = "_headrace_task", "_headrace_weight"
"""The columns of a staging table that stand before those of the rows."""


@dataclass(frozen=True)
class Column:
    """A column of a table. `type` is its name in the catalogue; `size` and `digits` are those of a decimal, where it has them."""

    name: str
    type: str
    size: int | None = None
    digits: int | None = None
    needed: bool = False
    """A row has to have a value for it."""
    generated: bool = False


@dataclass(frozen=True)
class Target:
    """A table with the columns that a stream writes, spelled as the table spells them, and those of its key among them."""

    place: tuple[str, ...]
    columns: tuple[str, ...]
    key: tuple[str, ...] = ()
    casts: Mapping[str, str] | None = None
    """Columns that a value has to be cast for, with the type."""
    texts: frozenset[str] = frozenset()
    """Columns in which the stream has texts."""

    @property
    def others(self) -> tuple[str, ...]:
        return tuple(name for name in self.columns if name not in self.key)


class Dialect(ABC):
    """One kind of database."""

    title: ClassVar[str]
    driver: ClassVar[str]
    jar: ClassVar[Jar]
    how: ClassVar[str] = "batch"
    """How tasks send rows: "batch", or "copy" where there is something faster."""
    finite: ClassVar[str] = "infinite"
    """Which numbers it lacks: "all" that are not finite, or NaN alone ("infinite" ones it has)."""
    moment: ClassVar[str]
    """The type of a point in time."""
    zoned: ClassVar[bool] = False
    """Whether it has points in time; else they are kept as what a clock shows in UTC."""
    wide: ClassVar[bool] = False
    """Whether a column of whole numbers has 64 bits whatever its type, so that Spark's own reader has to be told."""
    ticks: ClassVar[str] = '"'
    many: ClassVar[int | None] = None
    """Rows of an epoch from which on they are put into an empty table by `fill`, and a staging table is emptied by `clear`; None: by
    `upsert` and by DELETE, however many they are.
    """

    row_id: ClassVar[str]
    """The column that tells the rows of a staging table apart."""
    row_ids: ClassVar[str] = "{}"
    """How one of its values is written."""
    checks: ClassVar[tuple[str, ...]] = ()
    """What makes the database look at once at constraints that it would look at when the transaction ends."""

    @abstractmethod
    def properties(self, user: str | None, password: str | None, wait: float) -> dict[str, str]:
        """What the driver is told when it connects."""

    def reading(self, properties: Mapping[str, str]) -> dict[str, str]:
        """The same for Spark's own reader, which puts the names of columns between double quotes."""
        return dict(properties)

    @abstractmethod
    def type_of(self, type: Type, *, key: int) -> str:
        """The type of a column that a stream's type becomes, of a key of `key` columns (0: it is in none)."""

    @abstractmethod
    def fits(self, type: Type, column: Column) -> bool:
        """Whether a column that is there holds every value of a stream's type."""

    def cast(self, type: Type, column: Column) -> str | None:
        """The type that a value has to be cast to for a column that it fits, if it does not go there by itself."""
        return None

    def whole(self, database: Database, place: tuple[str, ...]) -> tuple[str, ...]:
        """A table with its schema, where the kind of database has schemas, however it was spelled."""
        return place

    @abstractmethod
    def columns(self, database: Database, place: Sequence[str]) -> list[Column]:
        """The columns of a table; none if there is no such table."""

    @abstractmethod
    def unique(self, database: Database, place: Sequence[str]) -> list[frozenset[str]]:
        """The sets of columns that no two rows of a table share."""

    def unique_made(self, place: Sequence[str], key: Sequence[str]) -> str:
        """The statement by which a user lets no two rows of a table share a key."""
        return f"ALTER TABLE {self.quote(*place)} ADD UNIQUE ({self.names(key)})"

    def unfit(self, database: Database, target: Target) -> tuple[str, str] | None:
        """Why a table that has the right columns cannot have each epoch once, if it cannot, and the cure."""
        return None

    @abstractmethod
    def staged(self, database: Database, place: Sequence[str], prefix: str) -> list[str]:
        """The tables beside a table whose names begin so."""

    @abstractmethod
    def remove(self, target: Target, stage: str, tasks: str) -> str:
        """The statement that takes away the rows of a table that only go."""

    @abstractmethod
    def upsert(self, target: Target, stage: str, tasks: str) -> str:
        """The statement that brings the staged rows of a table with a key into it."""

    def fill(self, target: Target, stage: str, tasks: str) -> str:
        """What does to an empty table what `upsert` does, sooner, but fails where somebody else puts a row there meanwhile."""
        return self.upsert(target, stage, tasks)

    @abstractmethod
    def why(self, problem: Problem, address: Address) -> HeadraceError | None:
        """What a refusal means, where it is one that can be told apart."""

    def text(self, value: str, kind: str) -> str:
        """The expression that makes a text of a value, of the stream's type `kind`."""
        return f"hex({value})" if kind == "binary" else f"CAST({value} AS {self.plain})"

    plain: ClassVar[str] = "text"

    def most(self, database: Database) -> int | None:
        """How many bytes a row may have that is sent, where there is a limit."""
        return None

    def missing(self, problem: Problem) -> bool:
        """Whether a table is not there."""
        return problem.state in ("42P01", "42S02") or "no such table" in problem.message

    def quote(self, *names: str) -> str:
        """A name as SQL takes it.

        >>> from headrace.connectors.jdbc.postgresql import PostgreSql
        >>> PostgreSql().quote("public", 'a"b')
        '"public"."a""b"'
        """
        return ".".join(f"{self.ticks}{name.replace(self.ticks, 2 * self.ticks)}{self.ticks}" for name in names)

    def names(self, names: Sequence[str], before: str = "") -> str:
        return ", ".join(before + self.quote(name) for name in names)

    def make(self, database: Database, place: Sequence[str], columns: Sequence[tuple[str, str]], key: Sequence[str]) -> bool:
        """Make a table where it is missing; whether it was."""
        if self.columns(database, place):
            return False
        try:
            database.update(self.create(place, columns, key))
        except Problem:
            # PostgreSQL lets two who make a table at once collide; the other one's is as good.
            if not self.columns(database, place):
                raise
            return False
        return True

    def add(self, database: Database, place: Sequence[str], name: str, kind: str) -> None:
        """Add a column to a table that lacks it. Of two who do so at once the second one finds it there."""
        if self._has(database, place, name):
            return
        try:
            database.update(f"ALTER TABLE {self.quote(*place)} ADD COLUMN {self.quote(name)} {kind}")
        except Problem:
            if not self._has(database, place, name):
                raise

    def _has(self, database: Database, place: Sequence[str], name: str) -> bool:
        return any(column.name == name for column in self.columns(database, place))

    def create(self, place: Sequence[str], columns: Sequence[tuple[str, str]], key: Sequence[str]) -> str:
        made = [f"{self.quote(name)} {kind}{' NOT NULL' if name in key else ''}" for name, kind in columns]
        keyed = [f"PRIMARY KEY ({self.names(key)})"] if key else []
        return f"CREATE TABLE IF NOT EXISTS {self.quote(*place)} ({', '.join(made + keyed)}){self.after_table}"

    after_table: ClassVar[str] = ""

    def create_stage(self, stage: str, columns: Sequence[tuple[str, str]]) -> str:
        made = [f"{self.quote(name)} {kind}" for name, kind in columns]
        return f"CREATE TABLE {stage} ({', '.join(made)}){self.after_table}"

    def take(self, stage: str, width: int) -> str:
        """The statement with which a task sends rows."""
        return f"INSERT INTO {stage} VALUES ({', '.join('?' * width)})"

    def append(self, target: Target, stage: str, tasks: str) -> str:
        """The statement that adds the staged rows to a table."""
        values = self.values(target)
        return (
            f"INSERT INTO {self.quote(*target.place)} ({self.names(target.columns)}) SELECT {values} FROM {stage} WHERE {TASK} IN ({tasks})"
        )

    def values(self, target: Target) -> str:
        casts = target.casts or {}
        return ", ".join(f"CAST({self.quote(name)} AS {casts[name]})" if name in casts else self.quote(name) for name in target.columns)

    def gone(self, target: Target, stage: str, tasks: str) -> str:
        """The keys of which an epoch only takes a row away."""
        keys, casts = self.names(target.key), target.casts or {}
        quoted = [(self.quote(key), casts.get(key)) for key in target.key]
        typed = ", ".join(f"CAST({key} AS {cast}) AS {key}" if cast else key for key, cast in quoted)
        return f"SELECT {typed} FROM {stage} WHERE {TASK} IN ({tasks}) GROUP BY {keys} HAVING max({WEIGHT}) < 0"

    def clear(self, database: Database, stage: str) -> None:  # noqa: B027  # only where there is a faster way than DELETE
        """Empty a staging table of many rows, after the transaction of the epoch."""

    def drop(self, database: Database, table: str) -> None:
        """Remove a staging table; one that a dying task still holds is left for the next start."""
        database.update(f"DROP TABLE IF EXISTS {table}")

    # what makes a reader of its row wait until the transaction ends
    locking: ClassVar[str] = " FOR UPDATE"

    # what follows an INSERT of a row that may have been put there meanwhile, by `id`
    unless_there: ClassVar[str] = " ON CONFLICT (id) DO NOTHING"

    begin: ClassVar[tuple[str, ...]] = ()
    """What a transaction of the sink, or of a task, begins with: a process that falls asleep in it must not keep another waiting."""


def base(type: Type) -> str:
    """The name of a type without its sizes; "json" for what has parts.

    >>> from headrace.schema import parse_type
    >>> base(parse_type("decimal(10,2)")), base(parse_type("array<int>")), base(parse_type("interval day to second"))
    ('decimal', 'json', 'interval')
    """
    if isinstance(type, Array | Map | Struct) or type.text == "variant":
        return "json"
    return plain_type(type)


def unreachable(address: Address, said: str, hint: str = "") -> ConnectorError:
    hint = hint or "see that the server runs and that its port can be reached from here"
    return ConnectorError("DATABASE_UNREACHABLE", f"{address} cannot be reached: {said}", hint=hint)


def full(address: Address, said: str) -> RunError:
    return RunError("DISK_FULL", f"{address}: {said}", hint="make room on the server and start again: no row is lost or doubled.")


def refused(address: Address, said: str, hint: str) -> ConnectorError:
    return ConnectorError("DATABASE_REFUSED", f"{address} refuses: {said}", hint=hint)
