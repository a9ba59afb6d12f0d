"""`stream.write.duckdb("shop.duckdb", "charges")`: a table of DuckDB that has each row once, also after crashes."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from headrace import ports
from headrace.errors import Code, ConnectorError, RunError, register
from headrace.points import point
from headrace.ports import Held, Holder, Ownership, option
from headrace.ports.weights import WEIGHT
from headrace.schema import Array, Map, Struct, Type

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from pyspark.sql import SparkSession

PORTS = 1
PACKAGES = (ports.Packages(modules=("duckdb",), name="duckdb"),)

register(
    {"DUCKDB_LOCKED": Code("ConnectorError", "environment", "a file of DuckDB that another process has open")},
    Path(__file__).parent / "errors",
)

MARKS = "_headrace_epochs"
_COLUMNS = "place, job, sink, checkpoint, query, made, term, epoch, identity"

_TYPES = {
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "REAL",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "binary": "BLOB",
    "date": "DATE",
    "timestamp": "TIMESTAMPTZ",
    "timestamp_ntz": "TIMESTAMP",
}


class Sink(ports.Options, ports.Sink):
    """A table of a DuckDB file that holds each row once, also after crashes: an epoch is one transaction.

    With a `key` each row takes the place of the one with the same key, and rows that are taken away are deleted. A missing table is made.

    >>> import headrace as hr
    >>> charges = hr.read.memory([("a", 1)], "card string, amount int", name="charges")
    >>> hr.job("copy", charges.write.duckdb("shop.duckdb", "charges"))
    <Job copy: charges.duckdb>
    """

    connector: ClassVar[str] = "duckdb"

    path: str = option.path("the file of the database", example="shop.duckdb", kw_only=False)
    table: str = option.text("the table", example="charges", kw_only=False)
    key: tuple[str, ...] = option.columns("the columns by which rows are replaced", default=None)
    wait_ms: int = option.duration("how long to wait for a file that another process has open", alias="wait", default="10 seconds")

    @property
    def traits(self) -> ports.SinkTraits:
        why = "the rows of an epoch and its mark change in one transaction"
        cleans = "staged files are next to the checkpoint until their epoch is committed; a start deletes older ones"
        return ports.SinkTraits("transactional", why, ("append", "upsert"), marks=True, cleans=cleans)

    @property
    def needs(self) -> ports.Packages:
        return PACKAGES[0]

    @property
    def owns(self) -> str:
        return f"{Path(self.path).resolve()}, table {self.table}"

    @classmethod
    def called(cls, options: Mapping[str, Any]) -> str:
        return str(options["table"])

    def describe(self) -> str:
        return f"duckdb {self.path}, table {self.table}{' by ' + ', '.join(self.key) if self.key else ''}"

    def suits(self, name: str, schema: Struct) -> None:
        for field in schema.fields:
            if _type(field.type) is None:
                hint = f'convert it to a string: with_columns({field.name}="CAST({field.name} AS string)")'
                raise ConnectorError("TABLE_SCHEMA", f"{name}: DuckDB has no type for {field.name}, which is {field.type}", hint=hint)

    def mark(self, context: ports.SinkContext) -> ports.Mark:
        if not Path(self.path).exists():
            return ports.Mark(exists=False)
        with self._transaction() as database:
            there = _columns(database, self.table)
            return self._held(database, context).mark if there else ports.Mark(exists=False)

    def may_open(self, context: ports.SinkContext) -> None:
        if Path(self.path).exists():
            with self._transaction() as database:
                others = self._others(database) if _columns(database, MARKS) else []
                self._owned(context).refuse_twice(others)
                self._owned(context).empties(others)

    def open(self, context: ports.SinkContext) -> None:
        self._context = context
        # Each start stages in a folder of its own: one that was replaced and wakes up late clears away nothing of its successor's.
        self._folder = context.checkpoint / "duckdb" / context.name / str(context.term)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._own = self._owned(context)
        with self._transaction() as database:
            database.execute(f"CREATE TABLE IF NOT EXISTS {MARKS} ({_COLUMNS.replace(',', ' VARCHAR,')} VARCHAR)")
            created = self._make(database, context)
            others = self._others(database)
            self._own.claim(self._held(database, context))
            self._own.refuse_twice(others)
            if self._own.empties(others):
                database.execute(f"DELETE FROM {_quoted(self.table)}")
                database.execute(f"DELETE FROM {MARKS} WHERE place = ?", [self.table])
                created = True
            self._store(database, self._own.last, created=created)

    def recover(self) -> None:
        left = [other for other in self._folder.parent.iterdir() if int(other.name) < self._context.term]
        self._context.held()
        for folder in left:
            shutil.rmtree(folder, ignore_errors=True)

    def stage(self) -> dict[str, Any]:
        options = {"timeZone": "UTC"}
        return {"kind": "files", "format": "parquet", "options": options, "partition_by": [], "folder": str(self._folder), "years": True}

    def commit(self, epoch: int, staged: ports.Staged) -> None:
        if staged.count:
            files = [str(self._folder / file["path"]) for file in staged.files]
            with self._transaction() as database:
                if self._own.admits(self._held(database, self._context), epoch, staged.identity):
                    self._write(database, files)
                    self._store(database, ports.Mark(epoch, staged.identity))
                    point("in sink commit", self._context.name)
            self._own.wrote(epoch, staged.identity)
        shutil.rmtree(self._folder / "_headrace" / "staging", ignore_errors=True)

    def elsewhere(self, place: ports.Elsewhere) -> Sink:
        place.folder.mkdir(parents=True, exist_ok=True)
        return Sink(str(place.folder / "elsewhere.duckdb"), place.name, key=self.key)

    def contents(self, session: SparkSession, schema: Struct, mode: str) -> Iterable[Sequence[Any]]:
        if not Path(self.path).exists():
            return []
        names = ", ".join(_quoted(name) for name in schema.names)
        with self._transaction() as database:
            there = _columns(database, self.table)
            rows = database.execute(f"SELECT {names} FROM {_quoted(self.table)}").arrow().read_all().to_pylist() if there else []
        return [tuple(row[name] for name in schema.names) for row in rows]

    def _owned(self, context: ports.SinkContext) -> Ownership:
        return Ownership(context, f"the table {self.table} of {self.path}", shared=True)

    def _write(self, database: DuckDBPyConnection, files: Sequence[str]) -> None:
        """Bring the rows of an epoch over from the files that its tasks have staged."""
        names = ", ".join(_quoted(name) for name in self._context.schema.names)
        table, staged = _quoted(self.table), "read_parquet(?, union_by_name=true)"
        if self._context.mode == "append":
            database.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM {staged}", [files])
            return
        same = " AND ".join(f"old.{_quoted(name)} IS NOT DISTINCT FROM new.{_quoted(name)}" for name in self.key)
        database.execute(f"DELETE FROM {table} AS old USING {staged} AS new WHERE {same}", [files])
        database.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM {staged} WHERE {WEIGHT} > 0", [files])

    def _make(self, database: DuckDBPyConnection, context: ports.SinkContext) -> bool:
        """Make the table, or add the columns that it lacks; whether it is this job's own."""
        there = _columns(database, self.table)
        wanted = {field.name: _type(field.type) for field in context.schema.fields}
        if there:
            for name, kind in wanted.items():
                if name.lower() not in there:
                    database.execute(f"ALTER TABLE {_quoted(self.table)} ADD COLUMN {_quoted(name)} {kind}")
            row = database.execute(f"SELECT made FROM {MARKS} WHERE place = ? AND job = ?", [self.table, context.job]).fetchone()
            return row is not None and row[0] == "true"
        columns = ", ".join(f"{_quoted(name)} {kind}" for name, kind in wanted.items())
        database.execute(f"CREATE TABLE {_quoted(self.table)} ({columns})")
        return True

    def _held(self, database: DuckDBPyConnection, context: ports.SinkContext) -> Held:
        """What the table holds of this checkpoint's query."""
        sql = f"SELECT epoch, identity, term FROM {MARKS} WHERE place = ? AND checkpoint = ? AND query = ?"
        row = database.execute(sql, [self.table, context.checkpoint_id, context.query]).fetchone() if _columns(database, MARKS) else None
        return Held() if row is None else Held(ports.Mark(int(row[0]), row[1]), int(row[2]))

    def _others(self, database: DuckDBPyConnection) -> list[Holder]:
        sql = f"SELECT job, sink, checkpoint, query, term, made FROM {MARKS} WHERE place = ?"
        rows = database.execute(sql, [self.table]).fetchall()
        return [Holder(job, sink, of, query, int(term), created == "true") for job, sink, of, query, term, created in rows]

    def _store(self, database: DuckDBPyConnection, mark: ports.Mark, created: bool | None = None) -> None:
        context = self._context
        mine = [self.table, context.checkpoint_id, context.query]
        where = "place = ? AND checkpoint = ? AND query = ?"
        if created is None:
            sql = f"UPDATE {MARKS} SET epoch = ?, identity = ? WHERE {where}"
            database.execute(sql, [mark.epoch, mark.identity, *mine])
            return
        words = [self.table, context.job, context.name, context.checkpoint_id, context.query]
        database.execute(f"DELETE FROM {MARKS} WHERE {where}", mine)
        values = [*words, str(created).lower(), context.term, mark.epoch, mark.identity]
        database.execute(f"INSERT INTO {MARKS} ({_COLUMNS}) VALUES ({', '.join('?' for _ in values)})", values)

    @contextmanager
    def _transaction(self) -> Iterator[DuckDBPyConnection]:
        """The file, open for one transaction: in between other processes may have it."""
        import duckdb

        database = self._opened()
        try:
            database.begin()
            yield database
            database.commit()
        except duckdb.TransactionException as problem:
            hint = "the next start writes the epoch again"
            raise RunError("SINK_FAILED", f"{self.path}, table {self.table}: {problem}", hint=hint) from None
        finally:
            # what was not committed is rolled back
            database.close()

    def _opened(self) -> DuckDBPyConnection:
        import duckdb

        until = time.monotonic() + self.wait_ms / 1000
        while True:
            try:
                return duckdb.connect(self.path)
            except duckdb.IOException as problem:
                if "lock" not in str(problem):
                    raise RunError("SINK_FAILED", f"{self.path} cannot be opened: {problem}", hint="look at its path") from None
                if time.monotonic() > until:
                    reason = str(problem).removeprefix("IO Error: ").partition(". See also")[0]
                    hint = "close it there; wait= says how long to wait for it."
                    raise ConnectorError("DUCKDB_LOCKED", f"{self.path} is open in another process: {reason}", hint=hint) from None
                time.sleep(0.05)


def _columns(database: DuckDBPyConnection, table: str) -> set[str]:
    """The columns of a table; none where there is no such table."""
    sql = "SELECT lower(column_name) FROM duckdb_columns() WHERE table_name = ? AND schema_name = 'main' AND NOT internal"
    return {name for (name,) in database.execute(sql, [table]).fetchall()}


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _type(kind: Type) -> str | None:
    """The type of DuckDB that holds every value of a type of Spark; None if there is none."""
    match kind:
        case Struct(fields):
            inside = [(field.name, _type(field.type)) for field in fields]
            known = inside and all(one for _, one in inside)
            return f"STRUCT({', '.join(f'{_quoted(name)} {one}' for name, one in inside)})" if known else None
        case Array(element):
            one = _type(element)
            return one and f"{one}[]"
        case Map(key, value):
            both = (_type(key), _type(value))
            return f"MAP({both[0]}, {both[1]})" if all(both) else None
    text = kind.text
    return text.upper() if text.startswith("decimal(") else _TYPES.get(text)
