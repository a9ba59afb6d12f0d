"""The differences between databases: types, catalogues, statements, and the meaning of their errors."""

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
"""Seconds after which the server ends a transaction of a silent process."""

SILENCE = 900
"""Seconds after which a server that does not answer a statement counts as lost, for example with its machine."""

TASK, WEIGHT = "_headrace_task", "_headrace_weight"
"""The first columns of a staging table, before those of the rows."""


@dataclass(frozen=True)
class Column:
    """A column of a table. `type` is its name in the catalogue; `size` and `digits` are those of a decimal, if it has them."""

    name: str
    type: str
    size: int | None = None
    digits: int | None = None
    needed: bool = False
    """Whether a row has to have a value for it."""
    generated: bool = False


@dataclass(frozen=True)
class Target:
    """A table with the columns that a stream writes, and those of its key, as the table spells them."""

    place: tuple[str, ...]
    columns: tuple[str, ...]
    key: tuple[str, ...] = ()
    casts: Mapping[str, str] | None = None
    """Columns whose values need a cast, with the type."""
    texts: frozenset[str] = frozenset()
    """Columns that are strings in the stream."""

    @property
    def others(self) -> tuple[str, ...]:
        return tuple(name for name in self.columns if name not in self.key)


class Dialect(ABC):
    """One kind of database."""

    title: ClassVar[str]
    driver: ClassVar[str]
    jar: ClassVar[Jar]
    how: ClassVar[str] = "batch"
    """How tasks send rows: "batch", or "copy" where a faster way exists."""
    finite: ClassVar[str] = "infinite"
    """The numbers that it does not support: "all" that are not finite, or, with "infinite", NaN alone."""
    moment: ClassVar[str]
    """The type of a timestamp."""
    zoned: ClassVar[bool] = False
    """Whether its timestamps have a zone; else they are stored in UTC."""
    wide: ClassVar[bool] = False
    """Whether every column of whole numbers has 64 bits whatever its type, so that Spark's own reader needs the types."""
    ticks: ClassVar[str] = '"'
    many: ClassVar[int | None] = None
    """The number of rows from which an epoch is put into an empty table by `fill`, and its staging table emptied by `clear`; None: `upsert`
    and DELETE, whatever the number.
    """

    row_id: ClassVar[str]
    """The column that identifies a row of a staging table."""
    row_ids: ClassVar[str] = "{}"
    """The SQL form of its values."""
    checks: ClassVar[tuple[str, ...]] = ()
    """Statements that check deferred constraints at once."""

    @abstractmethod
    def properties(self, user: str | None, password: str | None, wait: float) -> dict[str, str]:
        """The properties for the driver's connection."""

    def reading(self, properties: Mapping[str, str]) -> dict[str, str]:
        """The properties for Spark's own reader, which quotes column names with double quotes."""
        return dict(properties)

    @abstractmethod
    def type_of(self, type: Type, *, key: int) -> str:
        """The type of a column for a stream's type; `key` is the number of columns in its key, 0 if it is in none."""

    @abstractmethod
    def fits(self, type: Type, column: Column) -> bool:
        """Whether an existing column can hold every value of a stream's type."""

    def cast(self, type: Type, column: Column) -> str | None:
        """The type that a value has to be cast to for a column that it fits; None if no cast is needed."""
        return None

    def whole(self, database: Database, place: tuple[str, ...]) -> tuple[str, ...]:
        """A table with its schema, if this kind of database has schemas, whatever the user's spelling."""
        return place

    @abstractmethod
    def columns(self, database: Database, place: Sequence[str]) -> list[Column]:
        """The columns of a table; empty if there is no such table."""

    @abstractmethod
    def unique(self, database: Database, place: Sequence[str]) -> list[frozenset[str]]:
        """The sets of columns that are unique in a table."""

    def unique_statement(self, place: Sequence[str], key: Sequence[str]) -> str:
        """The statement by which a user makes a key unique."""
        return f"ALTER TABLE {self.quote(*place)} ADD UNIQUE ({self.names(key)})"

    def type_statement(self, place: Sequence[str], column: str, kind: str) -> str | None:
        """The statement by which a user gives a column another type and changes nothing else; None if there is none."""
        return None

    def unfit(self, database: Database, target: Target) -> tuple[str, str] | None:
        """The reason why a table with the right columns cannot be written exactly once, and the cure; None if it can."""
        return None

    @abstractmethod
    def staged(self, database: Database, place: Sequence[str], prefix: str) -> list[str]:
        """The tables beside a table whose names begin with a prefix."""

    @abstractmethod
    def remove(self, target: Target, stage: str, tasks: str) -> str:
        """The statement that deletes a table's rows for keys that are only retracted."""

    @abstractmethod
    def upsert(self, target: Target, stage: str, tasks: str) -> str:
        """The statement that moves the staged rows into a table with a key."""

    def fill(self, target: Target, stage: str, tasks: str) -> str:
        """The faster equivalent of `upsert` for an empty table, which fails if another writer adds a row of the same key meanwhile."""
        return self.upsert(target, stage, tasks)

    @abstractmethod
    def why(self, problem: Problem, address: Address, *, writes: bool = False) -> HeadraceError | None:
        """The error for a refusal with a known cause, of a sink that `writes` or of a source; None for any other."""

    def text(self, value: str, kind: str) -> str:
        """The expression for a value of the stream's type `kind` as text."""
        return f"hex({value})" if kind == "binary" else f"CAST({value} AS {self.plain})"

    plain: ClassVar[str] = "text"

    def most(self, database: Database) -> int | None:
        """The maximum size in bytes of a row that is sent; None: no limit."""
        return None

    def missing(self, problem: Problem) -> bool:
        """Whether a table is missing."""
        return problem.state in ("42P01", "42S02") or "no such table" in problem.message

    def quote(self, *names: str) -> str:
        """A quoted name for SQL.

        >>> from headrace.connectors.jdbc.postgresql import PostgreSql
        >>> PostgreSql().quote("public", 'a"b')
        '"public"."a""b"'
        """
        return ".".join(f"{self.ticks}{name.replace(self.ticks, 2 * self.ticks)}{self.ticks}" for name in names)

    def names(self, names: Sequence[str], before: str = "") -> str:
        return ", ".join(before + self.quote(name) for name in names)

    def make(self, database: Database, place: Sequence[str], columns: Sequence[tuple[str, str]], key: Sequence[str]) -> bool:
        """Create a table if it is missing. Returns whether it was."""
        if self.columns(database, place):
            return False
        try:
            database.update(self.create(place, columns, key))
        except Problem:
            # In PostgreSQL, concurrent CREATEs of a table collide; the other one's table will do.
            if not self.columns(database, place):
                raise
            return False
        return True

    def add(self, database: Database, place: Sequence[str], name: str, kind: str) -> None:
        """Add a column to a table that lacks it, unless another process does so at the same time."""
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
        definitions = [f"{self.quote(name)} {kind}{' NOT NULL' if name in key else ''}" for name, kind in columns]
        keyed = [f"PRIMARY KEY ({self.names(key)})"] if key else []
        return f"CREATE TABLE IF NOT EXISTS {self.quote(*place)} ({', '.join(definitions + keyed)}){self.after_table}"

    after_table: ClassVar[str] = ""

    def create_stage(self, stage: str, columns: Sequence[tuple[str, str]]) -> str:
        definitions = [f"{self.quote(name)} {kind}" for name, kind in columns]
        return f"CREATE TABLE {stage} ({', '.join(definitions)}){self.after_table}"

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
        """The query for keys of which an epoch only retracts a row."""
        keys, casts = self.names(target.key), target.casts or {}
        quoted = [(self.quote(key), casts.get(key)) for key in target.key]
        typed = ", ".join(f"CAST({key} AS {cast}) AS {key}" if cast else key for key, cast in quoted)
        return f"SELECT {typed} FROM {stage} WHERE {TASK} IN ({tasks}) GROUP BY {keys} HAVING max({WEIGHT}) < 0"

    def clear(self, database: Database, stage: str) -> None:  # noqa: B027  # only for databases with a faster way than DELETE
        """Empty a staging table of many rows, after the epoch's transaction."""

    def drop(self, database: Database, table: str) -> None:
        """Drop a staging table; if a dying task still holds it, the next start drops it."""
        database.update(f"DROP TABLE IF EXISTS {table}")

    # makes a reader of the ledger's row wait until the transaction ends
    locking: ClassVar[str] = " FOR UPDATE"

    # ends an INSERT of a row that may exist already, by `id`
    unless_there: ClassVar[str] = " ON CONFLICT (id) DO NOTHING"

    begin: ClassVar[tuple[str, ...]] = ()
    """Statements that begin a transaction of the sink, or of a task, so that a stalled process does not block others."""


def base(type: Type) -> str:
    """The name of a type without its sizes; "json" for nested types and variants.

    >>> from headrace.schema import parse_type
    >>> base(parse_type("decimal(10,2)")), base(parse_type("array<int>")), base(parse_type("interval day to second"))
    ('decimal', 'json', 'interval')
    """
    if isinstance(type, Array | Map | Struct) or type.text == "variant":
        return "json"
    return plain_type(type)


def unreachable(address: Address, message: str, hint: str = "") -> ConnectorError:
    hint = hint or "check that the server runs and that its port can be reached from here"
    return ConnectorError("DATABASE_UNREACHABLE", f"{address} cannot be reached: {message}", hint=hint)


def untrusted(address: Address, message: str, trusted: str) -> ConnectorError:
    hint = f"check that the certificate is for this host, and signed by the authority in {trusted}"
    return ConnectorError("DATABASE_UNREACHABLE", f"no TLS connection to {address}: {message.removeprefix('SSL error: ')}", hint=hint)


def full(address: Address, message: str) -> RunError:
    return RunError(
        "DISK_FULL", f"{address}: {message}", hint="free disk space on the server and start again: no row is lost or duplicated"
    )


def refused(address: Address, message: str, hint: str) -> ConnectorError:
    return ConnectorError("DATABASE_REFUSED", f"{address} rejected the request: {message}", hint=hint)
