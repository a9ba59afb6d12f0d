"""PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from headrace.connectors.jdbc.address import Address
from headrace.connectors.jdbc.database import Database, Problem
from headrace.connectors.jdbc.dialect import (
    IDLE,
    SILENCE,
    TASK,
    WEIGHT,
    Column,
    Dialect,
    Target,
    base,
    full,
    refused,
    unreachable,
    untrusted,
)
from headrace.errors import HeadraceError
from headrace.ports import Jar
from headrace.schema import Type, digits

_TYPES = {
    "boolean": "boolean",
    "tinyint": "smallint",
    "smallint": "smallint",
    "int": "integer",
    "bigint": "bigint",
    "float": "real",
    "double": "double precision",
    "string": "text",
    "binary": "bytea",
    "date": "date",
    "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
    "time": "time",
    "interval": "interval",
    "json": "jsonb",
    "void": "text",
}
_FITS = {
    "boolean": {"bool"},
    "tinyint": {"int2", "int4", "int8", "numeric", "float4", "float8"},
    "smallint": {"int2", "int4", "int8", "numeric", "float4", "float8"},
    "int": {"int4", "int8", "numeric", "float8"},
    "bigint": {"int8", "numeric"},
    "float": {"float4", "float8"},
    "double": {"float8"},
    "decimal": {"numeric"},
    "binary": {"bytea"},
    "date": {"date"},
    "timestamp": {"timestamptz"},
    "timestamp_ntz": {"timestamp"},
    "time": {"time"},
    "interval": {"interval"},
    "json": {"jsonb", "json", "text", "varchar"},
}
_NOT_TEXT = frozenset().union(*_FITS.values()) - {"text", "varchar", "json", "jsonb"}
_TEXT = {"text", "varchar", "bpchar", "citext", "name"}
_TRUSTED = 'options={"sslmode": "verify-full", "sslrootcert": "root.crt"}'


class PostgreSql(Dialect):
    """The dialect of PostgreSQL."""

    title: ClassVar[str] = "PostgreSQL"
    driver: ClassVar[str] = "org.postgresql.Driver"
    jar: ClassVar[Jar] = Jar("org.postgresql:postgresql:42.7.14", "73914527305a40cce504b0d3d90b23caf565136912d607ae8ae7c5895512332c")
    how: ClassVar[str] = "copy"
    moment: ClassVar[str] = "timestamptz"
    zoned: ClassVar[bool] = True
    row_id: ClassVar[str] = "ctid"
    row_ids: ClassVar[str] = "'{}'::tid"
    checks: ClassVar[tuple[str, ...]] = ("SET CONSTRAINTS ALL IMMEDIATE",)
    many: ClassVar[int] = 20_000
    begin: ClassVar[tuple[str, ...]] = (f"SET LOCAL idle_in_transaction_session_timeout = '{IDLE}s'",)

    def properties(self, user: str | None, password: str | None, wait: float) -> dict[str, str]:
        properties = {"ApplicationName": "headrace", "tcpKeepAlive": "true", "connectTimeout": "10", "socketTimeout": str(SILENCE)}
        return properties | ({"user": user} if user else {}) | ({"password": password} if password is not None else {})

    def type_of(self, type: Type, *, key: int) -> str:
        name = base(type)
        return "numeric({},{})".format(*digits(type)) if name == "decimal" else _TYPES[name]

    def fits(self, type: Type, column: Column) -> bool:
        name = base(type)
        if name in ("string", "void"):
            return column.type not in _NOT_TEXT
        if name == "decimal" and column.type == "numeric" and column.size is not None:
            precision, scale = digits(type)
            return (column.digits or 0) >= scale and column.size - (column.digits or 0) >= precision - scale
        return column.type in _FITS[name]

    def cast(self, type: Type, column: Column) -> str | None:
        if base(type) == "string" and column.type not in _TEXT:
            return self.quote(column.type)
        return column.type if base(type) == "json" and column.type != "jsonb" else None

    def whole(self, database: Database, place: tuple[str, ...]) -> tuple[str, ...]:
        there = "SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass(?)"
        rows = database.query(f"SELECT coalesce(({there}), current_schema())::text", self.quote(*place))
        return place if len(place) > 1 else (str(rows[0][0]), *place)

    def columns(self, database: Database, place: Sequence[str]) -> list[Column]:
        rows = database.query(
            "SELECT a.attname, t.typname, a.atttypmod, a.attnotnull AND NOT a.atthasdef AND a.attidentity = '', "
            "a.attgenerated <> '' OR a.attidentity = 'a' FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid "
            "WHERE a.attrelid = to_regclass(?) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
            self.quote(*place),
        )
        return [Column(name, kind, *_numeric(kind, size), needed, generated) for name, kind, size, needed, generated in rows]

    def unique(self, database: Database, place: Sequence[str]) -> list[frozenset[str]]:
        rows = database.query(
            "SELECT i.indexrelid::bigint, a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid "
            "AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1]) WHERE i.indrelid = to_regclass(?) "
            "AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL",
            self.quote(*place),
        )
        return [frozenset(name for one, name in rows if one == index) for index in dict.fromkeys(one for one, _ in rows)]

    def staged(self, database: Database, place: Sequence[str], prefix: str) -> list[str]:
        schema = "?" if len(place) > 1 else "current_schema()"
        sql = f"SELECT tablename FROM pg_tables WHERE schemaname = {schema} AND starts_with(tablename, ?)"
        return [str(row[0]) for row in database.query(sql, *place[:-1], prefix)]

    def text(self, value: str, kind: str) -> str:
        return f"encode({value}, 'hex')" if kind == "binary" else super().text(value, kind)

    def create_stage(self, stage: str, columns: Sequence[tuple[str, str]]) -> str:
        return super().create_stage(stage, columns).replace("CREATE TABLE", "CREATE UNLOGGED TABLE", 1)

    def take(self, stage: str, width: int) -> str:
        return f"COPY {stage} FROM STDIN (FORMAT binary)"

    def remove(self, target: Target, stage: str, tasks: str) -> str:
        same = " AND ".join(f"t.{self.quote(name)} = gone.{self.quote(name)}" for name in target.key)
        return f"DELETE FROM {self.quote(*target.place)} t USING ({self.gone(target, stage, tasks)}) gone WHERE {same}"

    def upsert(self, target: Target, stage: str, tasks: str) -> str:
        replaced = ", ".join(f"{self.quote(name)} = excluded.{self.quote(name)}" for name in target.others)
        action = f"DO UPDATE SET {replaced}" if replaced else "DO NOTHING"
        return f"{self.fill(target, stage, tasks)} ON CONFLICT ({self.names(target.key)}) {action}"

    def fill(self, target: Target, stage: str, tasks: str) -> str:
        # Sorted by the key, the rows touch the index's pages one after the other, which halves the time; texts sort quickly by bytes, which
        # is nearly the order of the index.
        order = ", ".join(self.quote(name) + (' COLLATE "C"' if name in target.texts else "") for name in target.key)
        return (
            f"INSERT INTO {self.quote(*target.place)} ({self.names(target.columns)}) SELECT {self.values(target)} FROM {stage} "
            f"WHERE {WEIGHT} > 0 AND {TASK} IN ({tasks}) ORDER BY {order}"
        )

    def clear(self, database: Database, stage: str) -> None:
        # A task that dies slowly may hold the table.
        with database.transaction():
            database.update("SET LOCAL lock_timeout = '2s'")
            database.update(f"TRUNCATE {stage}")

    def drop(self, database: Database, table: str) -> None:
        with database.transaction():
            database.update("SET LOCAL lock_timeout = '2s'")
            super().drop(database, table)

    def type_statement(self, place: Sequence[str], column: str, kind: str) -> str | None:
        return f"ALTER TABLE {self.quote(*place)} ALTER {self.quote(column)} TYPE {kind}"

    def why(self, problem: Problem, address: Address, *, writes: bool = False) -> HeadraceError | None:
        message, state = problem.message.removeprefix("FATAL: ").removeprefix("ERROR: "), problem.state
        if state in ("28P01", "28000") or "no password was provided" in message:
            return refused(address, message, 'check user= and password=hr.secret("DB_PASSWORD")')
        if state == "3D000":
            return refused(address, message, "create it, or correct the address")
        if state == "42501":
            return refused(address, message, self._rights(writes))
        if state == "53100":
            return full(address, message)
        if state.startswith("08") and ("SSL" in message or "certificat" in message.lower() or "hostnameverifier" in message.lower()):
            return untrusted(address, message, _TRUSTED)
        return unreachable(address, message) if state[:2] in ("08", "57") or state == "53300" else None

    def _rights(self, writes: bool) -> str:
        """The hint for a user without rights, of a sink or of a source."""
        if not writes:
            return "grant the user SELECT on the table and USAGE on its schema"
        return (
            "grant the user SELECT, INSERT, UPDATE and DELETE on the table and on _headrace_epochs, "
            "and CREATE and USAGE on its schema for staging tables"
        )


def _numeric(kind: str, modifier: int) -> tuple[int | None, int | None]:
    """Precision and scale from the catalogue's number for both."""
    if kind != "numeric" or modifier < 0:
        return None, None
    return (modifier - 4) >> 16, (modifier - 4) & 0x7FF
