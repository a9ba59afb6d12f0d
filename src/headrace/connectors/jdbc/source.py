"""Rows of a table, and those that come."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import headrace.ports as ports
from headrace.connectors import beginnings, files
from headrace.connectors.jdbc.address import address_of, table_of
from headrace.connectors.jdbc.batch import frame
from headrace.connectors.jdbc.connect import driver_options, told
from headrace.connectors.jdbc.database import Database, Problem
from headrace.connectors.jdbc.kinds import NEEDS, dialect_of
from headrace.errors import ConnectorError, here
from headrace.expr.literal import text_literal
from headrace.jvm.session import jvm
from headrace.ports.options import flag, wrong
from headrace.ports.secrets import Secret, secret_of
from headrace.schema import Field, Struct, as_read, milliseconds, parse_schema, schema_of
from headrace.spelling import suggestion
from headrace.syntax import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")


class Source(ports.Source):
    """Rows of a table of PostgreSQL, MariaDB or SQLite, or of a query that begins with SELECT or WITH.

    `by` names a column that grows with each row: an epoch reads a range of it, and `follow=True` goes on with the rows that come. Without
    it the whole table is read once. A transaction that takes its value early and commits late is waited for as long as `settle` says.
    `updated=True`: rows are also updated in place, and `by` grows then too; with `change_format="upsert"` and a `key` each takes the place
    of the one before it. Rows that are deleted there stay here.

    >>> import headrace as hr
    >>> hr.read.jdbc("postgresql://db/shop", "orders", by="id", follow=True, schema="id bigint, amount decimal(10,2)", user="app")
    <Stream orders: id, amount>
    """

    connector: ClassVar[str] = "jdbc"
    feeds: ClassVar[bool] = True

    def __init__(
        self,
        url: str,
        table: str,
        *,
        by: str | None = None,
        follow: bool = False,
        updated: bool = False,
        settle: str = "1 second",
        schema: Any = None,
        user: str | None = None,
        password: Secret | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        verb = "read.jdbc"
        self.url = url
        self.address = address_of(verb, url)
        self.table = table
        self.query = isinstance(table, str) and re.match(r"\s*(select|with)\s", table, re.IGNORECASE) is not None
        self.place = () if self.query else table_of(verb, table)
        self.by = by
        self.follow = flag(verb, "follow", follow)
        self.updated = flag(verb, "updated", updated)
        self.settle = settle
        self.settle_ms = milliseconds(settle, "the time to settle")
        if by is None and (self.follow or self.updated):
            raise wrong(f"{verb}: nothing says which rows are new", 'name a column that grows with each row: by="id"')
        self.user = user or self.address.user
        self.password = secret_of(verb, "password", password)
        self.driver_options = driver_options(verb, options)
        self.schema = None if schema is None else schema_of(schema)
        self._database: Database | None = None

    @property
    def traits(self) -> ports.SourceTraits:
        if self.by is None:
            why = "the table is read from its beginning, and may have changed"
        elif self.updated:
            why = f"a row that was updated since has left the range of {self.by} that is read again"
        else:
            why = f"a range of {self.by} is read again, where rows are only added"
        return ports.SourceTraits(bounded=not self.follow, replayable=self.by is not None and not self.updated, why=why, ordered=self.by)

    @property
    def needs(self) -> ports.Packages:
        return NEEDS

    @property
    def default_name(self) -> str:
        return "query" if self.query else self.place[-1]

    def options(self) -> dict[str, Any]:
        given = {
            "url": self.url,
            "table": self.table,
            "by": self.by,
            "follow": self.follow,
            "updated": self.updated,
            "settle": self.settle,
            "user": self.user,
            "password": self.password and self.password.to_json(),
            "options": dict(sorted(self.driver_options.items())),
        }
        return {name: value for name, value in given.items() if value not in (None, {})}

    @classmethod
    def from_options(cls, options: Mapping[str, Any], schema: Struct) -> Source:
        return cls(**options, schema=schema)

    def describe(self) -> str:
        what = "query" if self.query else f"table {'.'.join(self.place)}"
        return f"{what} of {self.address}{f' by {self.by}' if self.by else ''}{', follow' if self.follow else ''}"

    def infer(self, session: SparkSession) -> Struct:
        from headrace.jvm.packages import attach

        attach(session, [NEEDS])
        self.schema = self._there(session)
        return self.schema

    def scan(self, session: SparkSession, context: ports.SourceContext) -> tuple[DataFrame, dict[str, Any]]:
        dialect = dialect_of(self.address)
        there = self._there(session)
        wanted = self.schema or there
        read = Struct(tuple(self._column(there, name) for name in wanted.names))
        options = {
            "server": self._connected(session).name,
            "from": self._from,
            "columns": dialect.names(read.names),
            "ddl": read.ddl,
            "follow": str(self.follow).lower(),
            "settle": str(self.settle_ms),
        }
        if self.by is not None:
            options["by"] = dialect.quote(self._column(there, self.by).name)
            self._no_nulls(session, options["by"])
        frame = session.readStream.format("headrace.jdbc.RangeTable").options(**options).load()
        pairs = list(zip(read.fields, wanted.fields, strict=True))
        as_asked = [self._cast(session, one, field) for one, field in pairs]
        problems = ["_problem", *(_unfit(one, field) for one, field in pairs if one.type != field.type)]
        return frame.selectExpr(*as_asked, f"coalesce({', '.join(problems)}) AS _problem"), {"kind": "columns"}

    def beginning(self, session: SparkSession, place: ports.Elsewhere, rows: int, epochs: int) -> ports.Source | None:
        dialect = dialect_of(self.address)
        wanted = self.schema or self._there(session)
        first = frame(session, dialect, self.address.jdbc, self._properties(), self._from, wanted)
        found = (first if self.by is None else first.orderBy(quote(self.by))).limit(rows).collect()
        beginnings.of_rows(session, found, wanted, place.folder, epochs)
        return files.Source(str(place.folder), format="parquet", schema=wanted, files_per_epoch=1)

    @property
    def _named(self) -> str:
        return "the query" if self.query else f"the table {self.table}"

    @property
    def _from(self) -> str:
        dialect = dialect_of(self.address)
        return f"({self.table.rstrip().rstrip(';')}) {dialect.quote('q')}" if self.query else dialect.quote(*self.place)

    def _connected(self, session: SparkSession) -> Database:
        """The database as this run knows it; a server that was registered stays as long as the JVM."""
        if self._database is None:
            dialect = dialect_of(self.address)
            self._database = Database(session, dialect.driver, self.address.jdbc, self._properties())
        return self._database

    def _properties(self) -> dict[str, str]:
        password = self.password.read() if self.password is not None else None
        return {**dialect_of(self.address).properties(self.user, password, 30), **self.driver_options}

    def _there(self, session: SparkSession) -> Struct:
        """The columns that are there, as Spark reads them."""

        if self.address.removed:
            raise ConnectorError("TABLE_MISSING", f"there is no file {self.address.file}", hint="create it, or mend its name", site=here())

        def look(database: Database) -> Struct:
            database.open()
            if not self.query and not dialect_of(self.address).columns(database, self.place):
                raise ConnectorError("TABLE_MISSING", f"there is no table {self.table}", hint="create it, or mend its name", site=here())
            return as_read(parse_schema(database.schema(self._from)), chars=True)

        return self._asked(session, look)

    def _asked(self, session: SparkSession, look: Callable[[Database], T]) -> T:
        """What a look at the database finds, on a connection of its own: one that was kept may have been cut since."""
        database = self._connected(session)
        try:
            return database.steadily(lambda: look(database), 1)
        except Problem as problem:
            raise told(problem, self.address) from None
        finally:
            database.leave()

    def _column(self, there: Struct, name: str) -> Field:
        """A column as the table spells it: of this very name, else of one that differs in its case."""
        spelled = [field for field in there.fields if field.name == name]
        for field in spelled or [field for field in there.fields if field.name.lower() == name.lower()]:
            return field
        hint = suggestion(name, there.names, f"it has: {', '.join(there.names)}")
        raise ConnectorError("TABLE_SCHEMA", f"{self._named} has no column {name}", hint=hint, site=here())

    def _cast(self, session: SparkSession, there: Field, asked: Field) -> str:
        """The column as it was asked for."""
        types = jvm(session).org.apache.spark.sql.types.DataType
        to_be = (types.fromDDL(there.type.text), types.fromDDL(asked.type.text))
        if not jvm(session).org.apache.spark.sql.catalyst.expressions.Cast.canAnsiCast(*to_be):
            by = f", by from_json({there.name}, '{asked.type}')" if there.type.text == "string" else ""
            raise ConnectorError(
                "TABLE_SCHEMA",
                f"{self._named} has {there.name} as {there.type}, and no cast makes {asked.type} of it",
                hint=f"ask for it as {there.type}, and convert it behind the source{by}",
                site=here(),
            )
        return f"{_converted(there, asked)} AS {quote(asked.name)}"

    def _no_nulls(self, session: SparkSession, by: str) -> None:
        if self._asked(session, lambda database: database.query(f"SELECT 1 FROM {self._from} WHERE {by} IS NULL LIMIT 1")):
            raise ConnectorError(
                "TABLE_SCHEMA",
                f"{self.by} is null in some rows, which would never be read",
                hint='take a column that every row has, or a query: "SELECT *, coalesce(...) AS at FROM ..."',
                site=here(),
            )


def _converted(there: Field, asked: Field) -> str:
    return quote(there.name) if there.type == asked.type else f"try_cast({quote(there.name)} AS {asked.type})"


def _unfit(there: Field, asked: Field) -> str:
    """The reason why a row is a dead letter: a value that cannot be cast to the type in the schema; null if there is none."""
    column = quote(there.name)
    kind = f"' as {asked.type}"
    said = text_literal(f"field {asked.name}: cannot read '")
    reason = f"concat({said}, left(CAST({column} AS string), 80), {text_literal(kind)})"
    return f"CASE WHEN {column} IS NOT NULL AND {_converted(there, asked)} IS NULL THEN {reason} END"
