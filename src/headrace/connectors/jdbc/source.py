"""Rows of a table, and those added later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import headrace.ports as ports
from headrace.connectors import beginnings, files
from headrace.connectors.jdbc import connect
from headrace.connectors.jdbc.address import address_of, table_of
from headrace.connectors.jdbc.batch import frame
from headrace.connectors.jdbc.connect import refusal
from headrace.connectors.jdbc.database import Database, Problem
from headrace.connectors.jdbc.kinds import NEEDS, dialect_of
from headrace.errors import ConnectorError, here
from headrace.expr.literal import text_literal
from headrace.jvm.session import jvm
from headrace.ports import option
from headrace.ports.options import wrong
from headrace.ports.secrets import Secret
from headrace.schema import Field, Struct, as_read, milliseconds, parse_schema
from headrace.spelling import suggestion
from headrace.syntax import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")


class Source(ports.Options, ports.Source):
    """Reads a table or query of PostgreSQL, MariaDB or SQLite, and with `follow=True` rows that are added later.

    With `by`, each epoch reads a range of that column. The source is replayable if rows are only added, by transactions shorter than
    `settle`. Otherwise a range that is read again may have changed, and sinks downstream are at most once or have no guarantee. Without
    `by`, all rows are read once. Deletions in the database are not detected. Rows that are updated in place need `updated=True`, with
    `change_format="upsert"` and a `key` to replace their earlier version. The first job that needs a driver downloads it.

    Examples:
        >>> import headrace as hr
        >>> hr.read.jdbc("postgresql://db/shop", "orders", by="id", follow=True, schema="id bigint, amount decimal(10,2)", user="app")
        <Stream orders: id, amount>
    """

    connector: ClassVar[str] = "jdbc"
    feeds: ClassVar[bool] = True

    url: str = option.option("the address of the database, without a password", connect.url_of, takes=str, kw_only=False)
    table: str = option.option("a table, or a query that begins with `SELECT` or `WITH`", connect.rows_of, takes=str, kw_only=False)
    by: str | None = option.plain(
        "a column without nulls, such as an integer or a timestamp, whose value grows with each row; without it, the rows are read once",
        default=None,
    )
    follow: bool = option.flag("keep reading rows that are added later; needs `by`", default=False, stored="always")
    updated: bool = option.flag("rows are also updated in place, each time with a larger `by`; needs `by`", default=False, stored="always")
    settle: str = option.span(
        "how long a new value of `by` must be visible before rows up to it are read; longer than the longest transaction that adds rows",
        called="`settle` of the source",
        default="1 second",
        stored="always",
    )
    schema: Struct | None = option.schema("the columns to read; without it, all of them", default=None)
    user: str | None = option.plain("the user name, unless the address contains it", default=None)
    password: Secret | None = option.secret('a secret, given by name: `hr.secret("DB_PASSWORD")`', default=None)
    driver_options: dict[str, str] = option.option(
        "options of the JDBC driver", connect.driver_options, takes=Mapping[str, Any], alias="options", default=None, empty=dict
    )

    def __post_init__(self) -> None:
        self.address = address_of(self.verb, self.url)
        self.query = connect.is_query(self.table)
        self.place = () if self.query else table_of(self.verb, self.table)
        self.settle_ms = milliseconds(self.settle, "`settle` of the source")
        if self.by is None and (self.follow or self.updated):
            raise wrong(f"{self.verb}: with follow= or updated=, by= is required", 'name a column that grows with each row: by="id"')
        self.user = self.user or self.address.user
        self._database: Database | None = None

    @property
    def traits(self) -> ports.SourceTraits:
        if self.by is None:
            why = "the table is read from its beginning, and may have changed"
        elif self.updated:
            why = f"a row updated since then is no longer in the range of {self.by} that is read again"
        else:
            why = f"a range of {self.by} is read again, where rows are only added"
        return ports.SourceTraits(bounded=not self.follow, replayable=self.by is not None and not self.updated, why=why, ordered=self.by)

    @property
    def needs(self) -> ports.Packages:
        return NEEDS

    @property
    def default_name(self) -> str:
        return "query" if self.query else self.place[-1]

    def describe(self) -> str:
        what = "query" if self.query else f"table {'.'.join(self.place)}"
        return f"{what} of {self.address}{f' by {self.by}' if self.by else ''}{', follow' if self.follow else ''}"

    def read_as(self) -> dict[str, Any]:
        return {"query": self.table} if self.query else {}

    def position_by(self) -> dict[str, Any]:
        by = {"by": self.by and self.by.lower()}
        return by if self.query else {**by, "table": ".".join(self.place)}

    def reads_from(self) -> str:
        return f"{'a query' if self.query else f'table {self.table}'} of {self.address.spelled}"

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
            "source": context.name,
            "shown": self._named,
            "follow": str(self.follow).lower(),
            "settle": str(self.settle_ms),
        }
        if self.by is not None:
            options["by"] = dialect.quote(self._column(there, self.by).name)
            self._no_nulls(session, options["by"])
        frame = session.readStream.format("headrace.jdbc.RangeTable").options(**options).load()
        pairs = list(zip(read.fields, wanted.fields, strict=True))
        casts = [self._cast(session, one, field) for one, field in pairs]
        problems = ["_problem", *(_unfit(one, field) for one, field in pairs if one.type != field.type)]
        return frame.selectExpr(*casts, f"coalesce({', '.join(problems)}) AS _problem"), {"kind": "columns"}

    def beginning(self, session: SparkSession, place: ports.Elsewhere, rows: int, epochs: int) -> ports.Source | None:
        dialect = dialect_of(self.address)
        wanted = self.schema or self._there(session)
        first = frame(session, dialect, self.address.jdbc, self._properties(), self._from, wanted)
        first_rows = (first if self.by is None else first.orderBy(quote(self.by))).limit(rows).collect()
        beginnings.of_rows(session, first_rows, wanted, place.folder, epochs)
        return files.Source(str(place.folder), format="parquet", schema=wanted, files_per_epoch=1)

    @property
    def _named(self) -> str:
        return "the query" if self.query else f"the table {self.table}"

    @property
    def _from(self) -> str:
        dialect = dialect_of(self.address)
        return f"({self.table.rstrip().rstrip(';')}) {dialect.quote('q')}" if self.query else dialect.quote(*self.place)

    def _connected(self, session: SparkSession) -> Database:
        """The database for this run; a registered server stays as long as the JVM."""
        if self._database is None:
            dialect = dialect_of(self.address)
            self._database = Database(session, dialect.driver, self.address.jdbc, self._properties())
        return self._database

    def _properties(self) -> dict[str, str]:
        password = self.password.read() if self.password is not None else None
        return {**dialect_of(self.address).properties(self.user, password, 30), **self.driver_options}

    def _there(self, session: SparkSession) -> Struct:
        """The present columns, as Spark reads them."""

        if self.address.removed:
            raise ConnectorError(
                "TABLE_MISSING", f"there is no file {self.address.file}", hint="create it, or correct its name", site=here()
            )

        def look(database: Database) -> Struct:
            database.open()
            if not self.query and not dialect_of(self.address).columns(database, self.place):
                raise ConnectorError("TABLE_MISSING", f"there is no table {self.table}", hint="create it, or correct its name", site=here())
            return as_read(parse_schema(database.schema(self._from)), chars=True)

        return self._on_new_connection(session, look)

    def _on_new_connection(self, session: SparkSession, look: Callable[[Database], T]) -> T:
        """The result of a look at the database, on a new connection: an open one may have been cut since."""
        database = self._connected(session)
        try:
            return database.steadily(lambda: look(database), 1)
        except Problem as problem:
            raise refusal(problem, self.address) from None
        finally:
            database.leave()

    def _column(self, there: Struct, name: str) -> Field:
        """A column as the table spells it: an exact match, else one that differs in case."""
        spelled = [field for field in there.fields if field.name == name]
        for field in spelled or [field for field in there.fields if field.name.lower() == name.lower()]:
            return field
        hint = suggestion(name, there.names, f"it has: {', '.join(there.names)}")
        raise ConnectorError("TABLE_SCHEMA", f"{self._named} has no column {name}", hint=hint, site=here())

    def _cast(self, session: SparkSession, there: Field, wanted: Field) -> str:
        """The expression for a column in the requested type."""
        types = jvm(session).org.apache.spark.sql.types.DataType
        to_be = (types.fromDDL(there.type.text), types.fromDDL(wanted.type.text))
        if not jvm(session).org.apache.spark.sql.catalyst.expressions.Cast.canAnsiCast(*to_be):
            by = f", by from_json({there.name}, '{wanted.type}')" if there.type.text == "string" else ""
            raise ConnectorError(
                "TABLE_SCHEMA",
                f"{self._named} has {there.name} as {there.type}, which cannot be cast to {wanted.type}",
                hint=f"declare it as {there.type}, and convert it after the source{by}",
                site=here(),
            )
        return f"{_converted(there, wanted)} AS {quote(wanted.name)}"

    def _no_nulls(self, session: SparkSession, by: str) -> None:
        if self._on_new_connection(session, lambda database: database.query(f"SELECT 1 FROM {self._from} WHERE {by} IS NULL LIMIT 1")):
            raise ConnectorError(
                "TABLE_SCHEMA",
                f"{self.by} is null in some rows, which would never be read",
                hint='choose a column that is never null, or a query: "SELECT *, coalesce(...) AS at FROM ..."',
                site=here(),
            )


def _converted(there: Field, wanted: Field) -> str:
    return quote(there.name) if there.type == wanted.type else f"try_cast({quote(there.name)} AS {wanted.type})"


def _unfit(there: Field, wanted: Field) -> str:
    """The reason for a dead letter: a value that cannot be cast to the type in the schema; null if there is none."""
    column = quote(there.name)
    kind = f"' as {wanted.type}"
    prefix = text_literal(f"field {wanted.name}: cannot read '")
    reason = f"concat({prefix}, left(CAST({column} AS string), 80), {text_literal(kind)})"
    return f"CASE WHEN {column} IS NOT NULL AND {_converted(there, wanted)} IS NULL THEN {reason} END"
