"""SQLite: a file, and one writer at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from headrace.connectors.jdbc.address import Address
from headrace.connectors.jdbc.database import Database, Problem
from headrace.connectors.jdbc.dialect import TASK, WEIGHT, Column, Dialect, Target, base, full, unreachable
from headrace.errors import HeadraceError
from headrace.ports import Jar
from headrace.schema import Type

# SQLITE_OPEN_READWRITE without SQLITE_OPEN_CREATE: a removed file must not be created again, empty.
_NO_NEW_FILE = "2"

# Decimals are texts: as numbers they would be floats.
_TYPES = {"boolean": "integer", "tinyint": "integer", "smallint": "integer", "int": "integer", "bigint": "integer"}
_TYPES |= {"float": "real", "double": "real", "binary": "blob"}


class Sqlite(Dialect):
    """The dialect of SQLite."""

    title: ClassVar[str] = "SQLite"
    driver: ClassVar[str] = "org.sqlite.JDBC"
    jar: ClassVar[Jar] = Jar("org.xerial:sqlite-jdbc:3.54.1.0", "f8dce420a6016278497f4f0560f65602b9db858de141b541cf91a4644ebe4639")
    moment: ClassVar[str] = "text"
    wide: ClassVar[bool] = True
    row_id: ClassVar[str] = "rowid"
    # A transaction locks the whole file from its beginning.
    locking: ClassVar[str] = ""

    def properties(self, user: str | None, password: str | None, wait: float) -> dict[str, str]:
        return {"busy_timeout": str(int(wait * 1000)), "transaction_mode": "IMMEDIATE", "open_mode": _NO_NEW_FILE}

    def type_of(self, type: Type, *, key: int) -> str:
        return _TYPES.get(base(type), "text")

    def fits(self, type: Type, column: Column) -> bool:
        """By the column's affinity, which depends on the name of its type: storing a value must not change it."""
        wanted, name = _TYPES.get(base(type), "text"), column.type.lower()
        if "int" in name:
            affinity = "integer"
        elif any(part in name for part in ("char", "clob", "text")):
            affinity = "text"
        elif "blob" in name or not name:
            return True
        else:
            affinity = "real" if any(part in name for part in ("real", "floa", "doub")) else "numeric"
        return affinity == wanted or (affinity == "numeric" and wanted in ("integer", "real"))

    def columns(self, database: Database, place: Sequence[str]) -> list[Column]:
        rows = database.query(
            f"SELECT name, type, \"notnull\" AND dflt_value IS NULL AND NOT (pk AND lower(type) = 'integer'), hidden "
            f"FROM pragma_table_xinfo(?{_schema(place)})",
            *reversed(place),
        )
        return [Column(name, kind, needed=bool(needed), generated=hidden > 1) for name, kind, needed, hidden in rows if hidden != 1]

    def unique(self, database: Database, place: Sequence[str]) -> list[frozenset[str]]:
        keys = [
            frozenset(
                row[0] for row in database.query(f"SELECT name FROM pragma_table_info(?{_schema(place)}) WHERE pk > 0", *reversed(place))
            )
        ]
        sql = f'SELECT name FROM pragma_index_list(?{_schema(place)}) WHERE "unique" AND NOT partial'
        for (index,) in database.query(sql, *reversed(place)):
            names = [
                row[0] for row in database.query(f"SELECT name FROM pragma_index_info(?{_schema(place)})", index, *reversed(place[:-1]))
            ]
            if None not in names:
                keys.append(frozenset(names))
        return [names for names in keys if names]

    def unique_statement(self, place: Sequence[str], key: Sequence[str]) -> str:
        index = self.quote(*place[:-1], "_".join((place[-1], *key)))
        return f"CREATE UNIQUE INDEX {index} ON {self.quote(place[-1])} ({self.names(key)})"

    def staged(self, database: Database, place: Sequence[str], prefix: str) -> list[str]:
        sql = f"SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, {len(prefix)}) = ?"
        return [str(row[0]) for row in database.query(sql, prefix)]

    def remove(self, target: Target, stage: str, tasks: str) -> str:
        return f"DELETE FROM {self.quote(*target.place)} WHERE ({self.names(target.key)}) IN ({self.gone(target, stage, tasks)})"

    def upsert(self, target: Target, stage: str, tasks: str) -> str:
        table, keys = self.quote(*target.place), self.names(target.key)
        replaced = ", ".join(f"{self.quote(name)} = excluded.{self.quote(name)}" for name in target.others)
        action = f"DO UPDATE SET {replaced}" if replaced else "DO NOTHING"
        return (
            f"INSERT INTO {table} ({self.names(target.columns)}) SELECT {self.values(target)} FROM {stage} "
            f"WHERE {WEIGHT} > 0 AND {TASK} IN ({tasks}) ON CONFLICT ({keys}) {action}"
        )

    def why(self, problem: Problem, address: Address, *, writes: bool = False) -> HeadraceError | None:
        message = problem.message
        if "SQLITE_FULL" in message:
            return full(address, message)
        if any(word in message for word in ("SQLITE_CANTOPEN", "SQLITE_NOTADB", "SQLITE_READONLY", "does not exist")):
            return unreachable(address, message, "choose a file in a folder that this user can write to")
        if "SQLITE_BUSY" in message:
            return unreachable(address, message, "another program has locked the file: end its transaction")
        return None


def _schema(place: Sequence[str]) -> str:
    return ", ?" if len(place) > 1 else ""
