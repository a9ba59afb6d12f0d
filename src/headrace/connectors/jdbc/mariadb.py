"""MariaDB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    "tinyint": "tinyint",
    "smallint": "smallint",
    "int": "int",
    "bigint": "bigint",
    "float": "float",
    "double": "double",
    "string": "longtext",
    "binary": "longblob",
    "date": "date",
    "timestamp": "datetime(6)",
    "timestamp_ntz": "datetime(6)",
    "time": "time(6)",
    "interval": "varchar(100)",
    "json": "json",
    "void": "longtext",
}
_TEXT = {"char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "uuid", "json", "inet6"}
_FITS = {
    "boolean": {"tinyint", "bit"},
    "tinyint": {"tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "float", "double"},
    "smallint": {"smallint", "mediumint", "int", "bigint", "decimal", "float", "double"},
    "int": {"int", "bigint", "decimal", "double"},
    "bigint": {"bigint", "decimal"},
    "float": {"float", "double"},
    "double": {"double"},
    "decimal": {"decimal"},
    "string": _TEXT,
    "void": _TEXT,
    "binary": {"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"},
    "date": {"date"},
    "timestamp": {"datetime"},
    "timestamp_ntz": {"datetime"},
    "time": {"time"},
    "interval": _TEXT,
    "json": {"longtext", "json"},
}
# The maximum size of an InnoDB index, in bytes; a character takes up to four.
_INDEX = 3072
_TRUSTED = 'options={"sslMode": "verify-full", "serverSslCert": "root.crt"}'


class MariaDb(Dialect):
    """The dialect of MariaDB."""

    title: ClassVar[str] = "MariaDB"
    driver: ClassVar[str] = "org.mariadb.jdbc.Driver"
    jar: ClassVar[Jar] = Jar(
        "org.mariadb.jdbc:mariadb-java-client:4.0.0", "bb1211dac59ef4c54b7a8ad4755a913d36d2e81b34ca1d4cb9ffa9d5633df01f"
    )
    finite: ClassVar[str] = "all"
    moment: ClassVar[str] = "datetime(6)"
    row_id: ClassVar[str] = "_headrace_row"
    plain: ClassVar[str] = "char"
    ticks: ClassVar[str] = "`"
    unless_there: ClassVar[str] = " ON DUPLICATE KEY UPDATE id = id"
    begin: ClassVar[tuple[str, ...]] = (f"SET idle_transaction_timeout = {IDLE}",)
    # Texts compare as in Spark: byte by byte, trailing blanks included. Only InnoDB has transactions.
    after_table: ClassVar[str] = " ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin"

    def properties(self, user: str | None, password: str | None, wait: float) -> dict[str, str]:
        # Strict, whatever the server's settings: an invalid value is refused, not truncated. In UTC, times are stored as they are written.
        properties = {
            "connectTimeout": "10000",
            "socketTimeout": str(SILENCE * 1000),
            "useBulkStmts": "true",
            "tinyInt1isBit": "false",
            "sessionVariables": "sql_mode='STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE',time_zone='+00:00'",
        }
        return properties | ({"user": user} if user else {}) | ({"password": password} if password is not None else {})

    def reading(self, properties: Mapping[str, str]) -> dict[str, str]:
        # By default, MariaDB reads double quotes as those of a string.
        variables = properties.get("sessionVariables", "")
        if "sql_mode='" in variables:
            quotes = variables.replace("sql_mode='", "sql_mode='ANSI_QUOTES,", 1)
        else:
            quotes = f"{variables}{',' if variables else ''}sql_mode='ANSI_QUOTES'"
        return {**properties, "sessionVariables": quotes}

    def type_of(self, type: Type, *, key: int) -> str:
        name = base(type)
        if name == "decimal":
            return "decimal({},{})".format(*digits(type))
        if key and name in ("string", "binary"):
            return f"varchar({min(255, _INDEX // 4 // key)})" if name == "string" else f"varbinary({min(255, _INDEX // key)})"
        return _TYPES[name]

    def fits(self, type: Type, column: Column) -> bool:
        name = base(type)
        if name == "decimal" and column.type == "decimal":
            precision, scale = digits(type)
            return (column.digits or 0) >= scale and (column.size or 10) - (column.digits or 0) >= precision - scale
        return column.type in _FITS[name]

    def whole(self, database: Database, place: tuple[str, ...]) -> tuple[str, ...]:
        return place if len(place) > 1 else (str(database.query("SELECT database()")[0][0]), *place)

    def columns(self, database: Database, place: Sequence[str]) -> list[Column]:
        rows = database.query(
            "SELECT column_name, data_type, numeric_precision, numeric_scale, is_nullable = 'NO' AND column_default IS NULL "
            "AND extra NOT LIKE '%auto_increment%', coalesce(is_generated, 'NEVER') <> 'NEVER' FROM information_schema.columns "
            f"WHERE table_schema = {_schema(place)} AND table_name = ? ORDER BY ordinal_position",
            *place,
        )
        return [Column(name, kind, size, digits, bool(needed), bool(generated)) for name, kind, size, digits, needed, generated in rows]

    def unique(self, database: Database, place: Sequence[str]) -> list[frozenset[str]]:
        rows = database.query(
            "SELECT index_name, column_name, sub_part FROM information_schema.statistics "
            f"WHERE table_schema = {_schema(place)} AND table_name = ? AND non_unique = 0",
            *place,
        )
        indexes = [[row for row in rows if row[0] == index] for index in dict.fromkeys(row[0] for row in rows)]
        return [frozenset(name for _, name, _ in index) for index in indexes if all(part is None for _, _, part in index)]

    def unfit(self, database: Database, target: Target) -> tuple[str, str] | None:
        table = self.quote(*target.place)
        engines = database.query(
            "SELECT t.engine FROM information_schema.tables t JOIN information_schema.engines e ON e.engine = t.engine "
            f"WHERE t.table_schema = {_schema(target.place)} AND t.table_name = ? AND coalesce(e.transactions, 'NO') <> 'YES'",
            *target.place,
        )
        if engines:
            reason = f"uses the engine {engines[0][0]}, which has no transactions: a failed epoch could leave some of its rows in the table"
            return reason, f"ALTER TABLE {table} ENGINE=InnoDB"
        clash = next(iter(self._clashes(database, target)), None) if target.key else None
        if clash is None:
            return None
        reason = f"has a second unique index, {clash}, and MariaDB would also replace rows that match only this one"
        return reason, f"drop it, or make it non-unique: ALTER TABLE {table} DROP INDEX {self.quote(clash)}"

    def _clashes(self, database: Database, target: Target) -> list[str]:
        """The unique indexes, other than the key's, by which a new row may match another; without those of an auto-increment column that
        the stream does not write.
        """
        rows = database.query(
            "SELECT s.index_name, s.column_name, s.sub_part, c.extra LIKE '%auto_increment%' FROM information_schema.statistics s "
            "JOIN information_schema.columns c ON c.table_schema = s.table_schema AND c.table_name = s.table_name "
            "AND c.column_name = s.column_name "
            f"WHERE s.table_schema = {_schema(target.place)} AND s.table_name = ? AND s.non_unique = 0",
            *target.place,
        )
        indexes = {index: [row[1:] for row in rows if row[0] == index] for index in dict.fromkeys(row[0] for row in rows)}
        return [
            str(index)
            for index, parts in indexes.items()
            if ({name for name, _, _ in parts} != set(target.key) or any(part is not None for _, part, _ in parts))
            and not any(counted and name not in target.columns for name, _, counted in parts)
        ]

    def staged(self, database: Database, place: Sequence[str], prefix: str) -> list[str]:
        begins = f"left(table_name, {len(prefix)}) = ?"
        sql = f"SELECT table_name FROM information_schema.tables WHERE table_schema = {_schema(place)} AND {begins}"
        return [str(row[0]) for row in database.query(sql, *place[:-1], prefix)]

    def remove(self, target: Target, stage: str, tasks: str) -> str:
        same = " AND ".join(f"t.{self.quote(name)} = gone.{self.quote(name)}" for name in target.key)
        return f"DELETE t FROM {self.quote(*target.place)} t JOIN ({self.gone(target, stage, tasks)}) gone ON {same}"

    def upsert(self, target: Target, stage: str, tasks: str) -> str:
        replaced = target.others or target.key[:1]
        updated = ", ".join(f"{self.quote(name)} = VALUES({self.quote(name)})" for name in replaced)
        # Sorted by the key, the rows touch the table's pages one after the other, which halves the time.
        return (
            f"INSERT INTO {self.quote(*target.place)} ({self.names(target.columns)}) SELECT {self.values(target)} FROM {stage} "
            f"WHERE {WEIGHT} > 0 AND {TASK} IN ({tasks}) ORDER BY {self.names(target.key)} ON DUPLICATE KEY UPDATE {updated}"
        )

    def create_stage(self, stage: str, columns: Sequence[tuple[str, str]]) -> str:
        number = f"{self.row_id} bigint NOT NULL AUTO_INCREMENT INVISIBLE PRIMARY KEY"
        return super().create_stage(stage, columns).replace(f"{stage} (", f"{stage} ({number}, ", 1)

    def most(self, database: Database) -> int | None:
        # A packet also has the names in the statement and the lengths of the values. A server disconnects clients that send larger ones.
        return int(database.query("SELECT @@max_allowed_packet")[0][0]) - 4096

    def drop(self, database: Database, table: str) -> None:
        database.update(f"SET STATEMENT lock_wait_timeout = 2 FOR DROP TABLE IF EXISTS {table}")

    def why(self, problem: Problem, address: Address, *, writes: bool = False) -> HeadraceError | None:
        message = problem.message
        if problem.vendor in (1044, 1045, 1698) or problem.state == "28000":
            return refused(address, message, 'check user= and password=hr.secret("DB_PASSWORD")')
        if problem.vendor == 1049:
            return refused(address, message, "create it, or correct the address")
        if problem.vendor in (1142, 1143):
            return refused(address, message, self._rights(writes))
        if problem.vendor in (1021, 1114) or "errno: 28" in message or "Errcode: 28" in message:
            return full(address, message)
        if problem.state.startswith("08") and any(sign in message.lower() for sign in ("ssl", "certificat", "pkix")):
            return untrusted(address, message, _TRUSTED)
        return unreachable(address, message) if problem.state.startswith("08") else None

    def _rights(self, writes: bool) -> str:
        """The hint for a user without rights, of a sink or of a source."""
        if not writes:
            return "grant the user SELECT on the table"
        return "grant the user SELECT, INSERT, UPDATE, DELETE, CREATE and DROP on the database"


def _schema(place: Sequence[str]) -> str:
    return "?" if len(place) > 1 else "database()"
