"""Rows into a table, exactly once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, ClassVar

import headrace.ports as ports
from headrace.connectors.jdbc import connect
from headrace.connectors.jdbc.address import address_of, table_of
from headrace.connectors.jdbc.batch import frame
from headrace.connectors.jdbc.database import Database, Problem
from headrace.connectors.jdbc.dialect import TASK, WEIGHT, Dialect, Target
from headrace.connectors.jdbc.kinds import NEEDS, dialect_of
from headrace.connectors.jdbc.ledger import STAGE, Ledger, forget, orphans, sweep
from headrace.connectors.jdbc.refused import Refused
from headrace.connectors.jdbc.tables import GONE, make, missing, target, typed
from headrace.connectors.servers import RETRY
from headrace.errors import HeadraceError
from headrace.jvm.packages import attach
from headrace.jvm.session import session
from headrace.points import point
from headrace.ports import option, paths
from headrace.ports.aside import CURE, put_aside
from headrace.ports.options import wrong
from headrace.ports.secrets import Secret
from headrace.schema import Struct, milliseconds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_OF_TABLE = 1
"""The part of an epoch's dead letters for rows that the table refuses."""


class Sink(ports.Options, ports.Sink):
    """Writes a table of PostgreSQL, MariaDB or SQLite exactly once: each epoch is one transaction.

    Readers see an epoch as a whole or not at all. The transaction also records the epoch in the table `_headrace_epochs`, so a start
    detects that the checkpoint or the database was restored from a backup (`CHECKPOINT_BEHIND`, `TABLE_REPLACED`). A stream with
    retractions needs a `key`, by which rows are replaced and deleted, or `mode="changes"`. Rows that the table rejects become dead letters.
    The first job that needs a driver downloads it.

    Examples:
        >>> import headrace as hr
        >>> spend = hr.read.memory([("de", 5)], "country string, spent int", name="spend")
        >>> sink = spend.write.jdbc("postgresql://db/shop", "spend", key="country", password=hr.secret("DB_PASSWORD"))
        >>> hr.job("spend", sink)
        <Job spend: spend.jdbc>
    """

    connector: ClassVar[str] = "jdbc"

    url: str = option.option("the address of the database, without a password", connect.url_of, takes=str, kw_only=False)
    table: str = option.option(
        "the name of the table, with its schema if needed: `public.spend`",
        lambda verb, _, table: _table(verb, table),
        takes=str,
        kw_only=False,
    )
    key: tuple[str, ...] = option.columns(
        "a unique key: a row replaces the row with the same key, and a retraction deletes it", default=None
    )
    user: str | None = option.plain("the user name, unless the address contains it", default=None)
    password: Secret | None = option.secret('a secret, given by name: `hr.secret("DB_PASSWORD")`', default=None)
    create: bool = option.flag("create a missing table; `False` refuses to start without it", default=True, stored="always")
    retry: str = option.span(RETRY, called="`retry` of the sink", default="30 seconds", stored="always")
    driver_options: dict[str, str] = option.option(
        "options of the JDBC driver", connect.driver_options, takes=Mapping[str, Any], alias="options", default=None, empty=dict
    )

    def __post_init__(self) -> None:
        self.address = address_of(self.verb, self.url)
        self.place = table_of(self.verb, self.table)
        self.user = self.user or self.address.user
        self.patience = milliseconds(self.retry, "`retry` of the sink") / 1000

    @property
    def dialect(self) -> Dialect:
        return dialect_of(self.address)

    @property
    def traits(self) -> ports.SinkTraits:
        return ports.SinkTraits(
            "transactional",
            "the table and the number of the epoch change in one transaction",
            ("append", "upsert"),
            replaces=True,
            cleans=f"tables {STAGE}* hold the rows of an epoch until it is committed; a start drops those of earlier epochs",
            marks=True,
            swaps=True,
        )

    @property
    def needs(self) -> ports.Packages:
        return NEEDS

    @property
    def system(self) -> str:
        return self.dialect.title

    @property
    def owns(self) -> str:
        return f"{self.address.spelled}, table {'.'.join(self.place)}"

    @classmethod
    def called(cls, options: Mapping[str, Any]) -> str:
        return str(options["table"]).rpartition(".")[2]

    def written_as(self, mode: str, schema: Struct) -> dict[str, Any]:
        # The table ensures it: a key has a unique index.
        return {}

    def describe(self) -> str:
        return f"table {'.'.join(self.place)} of {self.address}{' by ' + ', '.join(self.key) if self.key else ''}"

    def check(self, columns: tuple[str, ...]) -> None:
        for name in columns:
            if name.lower() in (TASK, WEIGHT):
                raise wrong(f"write.jdbc: a column cannot be called {name}", "the staging table has a column of that name; rename it")

    def mark(self, context: ports.SinkContext) -> ports.Mark:
        if self.address.removed:
            return ports.Mark(exists=False)
        with self._connected(context):
            mark = self._database.steadily(self._marked, self.patience)
        self._database.close()
        return mark

    def may_open(self, context: ports.SinkContext) -> None:
        typed(self.dialect, context.schema, self.key)
        if self.address.removed and self._makes_file:
            if not self.create:
                raise missing(self.place)
            return
        with self._connected(context):
            self._database.steadily(self._may_take, self.patience)
        self._database.close()

    def open(self, context: ports.SinkContext) -> None:
        if self.address.file is not None:
            # if this fails, the driver reports the reason
            with suppress(OSError):
                self.address.file.touch()
        with self._connected(context):
            self._created = False
            self._database.steadily(self._take, self.patience)

    @contextmanager
    def _connected(self, context: ports.SinkContext) -> Iterator[None]:
        """Connect to the database; the connection stays open unless something fails."""
        self._context = context
        self._database = Database(context.session, self.dialect.driver, self.address.jdbc, self._properties())
        try:
            # Without retries: a wrong address should be reported at once.
            self._database.open()
            self._whole = self.dialect.whole(self._database, self.place)
            self._ledger = Ledger(self._database, self.dialect, self._whole, context, ".".join(self.place))
            self._prefix = f"{STAGE}{self._ledger.id[:16]}_"
            self._stage = self.dialect.quote(*self._whole[:-1], f"{self._prefix}{context.term}")
            yield
        except (Problem, HeadraceError) as problem:
            self._database.close()
            raise (self._refusal(problem) if isinstance(problem, Problem) else problem) from None

    def _marked(self) -> ports.Mark:
        there = self.dialect.columns(self._database, self.place)
        return self._ledger.mark() if there else ports.Mark(exists=False)

    @property
    def _makes_file(self) -> bool:
        """Whether `open` can create the missing file of the database."""
        file = self.address.file
        return file is not None and file.parent.is_dir() and paths.unwritable(file.parent) is None

    def _may_take(self) -> None:
        self._ledger.may_claim()
        if self.dialect.columns(self._database, self.place):
            target(self._database, self.dialect, self.place, self._context.schema, self.key)
        elif not self.create:
            raise missing(self.place)

    def _take(self) -> None:
        """Create what is missing, and claim the table for this start."""
        context, ledger = self._context, self._ledger
        ledger.make()
        wrote = ledger.mark().epoch >= 0
        self._created |= make(self._database, self.dialect, self.place, context.schema, self.key, create=self.create, wrote=wrote)
        self._target = target(self._database, self.dialect, self.place, context.schema, self.key)
        ledger.claim(created=self._created, empty=self._empty)

    def recover(self) -> None:
        """Remove the rows that dead starts have staged, and create the staging table of this one."""
        try:
            self._database.steadily(self._renew, self.patience)
        except Problem as problem:
            raise self._refusal(problem) from None

    def _renew(self) -> None:
        dialect, database, term = self.dialect, self._database, self._context.term
        # A table of a larger term belongs to a process that has taken over.
        stages = dialect.staged(database, self._whole, self._prefix)
        old = [name for name in stages if int(name.removeprefix(self._prefix)) < term]
        sweep(database, dialect, self._whole, [*old, *orphans(database, dialect, self._whole)])
        dialect.drop(database, self._stage)
        lead = [(TASK, "bigint"), (WEIGHT, "bigint")][: self._lead]
        named = zip(self._target.columns, typed(dialect, self._context.schema, self.key), strict=True)
        database.update(dialect.create_stage(self._stage, [*lead, *((name, kind) for name, (_, kind) in named)]))
        for statement in self._statements("0"):
            database.query(f"EXPLAIN {statement}")

    def stage(self) -> dict[str, Any]:
        dialect = self.dialect
        names = [name.lower() for name in self._context.schema.names]
        options = {
            "server": self._database.name,
            "how": dialect.how,
            "into": dialect.take(self._stage, self._lead + len(names)),
            "count": f"SELECT count(*) FROM {self._stage} WHERE {TASK} = ?",
            "finite": dialect.finite,
            "most": str(dialect.most(self._database) or ""),
            "begin": "\n".join(dialect.begin),
            "keys": ",".join(str(names.index(name.lower())) for name in self.key),
            "retry": str(int(self.patience * 1000)),
        }
        return {"kind": "writer", "class": "headrace.jdbc.TableStage", "options": options}

    def commit(self, epoch: int, staged: ports.Staged) -> None:
        if not (staged.count or staged.whole):
            return
        # a list in SQL cannot be empty, and NULL is in none
        tasks = ", ".join(str(int(part["task"])) for part in staged.parts if "task" in part) or "NULL"
        gone = any("gone" in part for part in staged.parts)
        if self.address.file is not None:
            # An open connection would go on writing into a file that was removed or replaced.
            self._database.leave()
        try:
            try:
                self._steadily(epoch, staged.identity, lambda: self._write(epoch, tasks, staged, gone=gone))
            except Problem as problem:
                if not problem.of_row:
                    raise
                if self._context.on_refused == "fail":
                    raise self._rejection(tasks, problem) from None
                self._steadily(epoch, staged.identity, lambda: self._write_most(epoch, tasks, staged))
        except Problem as problem:
            if self.address.removed:
                raise HeadraceError("TABLE_MISSING", f"{self._context.name}: the file {self.address.file} is gone", hint=GONE) from None
            raise self._refusal(problem) from None
        if self._many(staged.count):
            # Rows left there do not count; the next epoch clears them, too.
            with suppress(Problem):
                self.dialect.clear(self._database, self._stage)

    def _steadily(self, epoch: int, identity: str, write: Callable[[], None]) -> None:
        self._database.steadily(lambda: self._ledger.commit(epoch, identity, write), self.patience)

    def close(self) -> None:
        # if this fails, the next start removes it
        with suppress(Problem):
            self.dialect.drop(self._database, self._stage)
        self._database.close()

    def elsewhere(self, place: ports.Elsewhere) -> Sink:
        if place.server:
            return Sink(place.server, place.name, key=self.key, user=self.user, password=self.password, options=self.driver_options)
        place.folder.mkdir(parents=True, exist_ok=True)
        return Sink(f"sqlite:{place.folder / 'elsewhere.db'}", place.name, key=self.key)

    def contents(self, session: SparkSession, schema: Struct, mode: str) -> DataFrame:
        attach(session, [NEEDS])
        place = self.dialect.quote(*self.place)
        return frame(session, self.dialect, self.address.jdbc, self._properties(), place, schema)

    def discard(self) -> None:
        if self.address.removed:
            return
        attach(session(), [NEEDS])
        database = Database(session(), self.dialect.driver, self.address.jdbc, self._properties())
        try:
            whole = self.dialect.whole(database, self.place)
            database.update(f"DROP TABLE IF EXISTS {self.dialect.quote(*self.place)}")
            forget(database, self.dialect, whole)
            sweep(database, self.dialect, whole, orphans(database, self.dialect, whole))
        finally:
            database.close()

    @property
    def _lead(self) -> int:
        return 2 if self.key else 1

    def _write(self, epoch: int, tasks: str, staged: ports.Staged, *, gone: bool) -> None:
        count = staged.count
        self._begin(tasks, staged)
        # Rows that an earlier try of the epoch put aside are written now.
        put_aside(self._context, epoch, [], _OF_TABLE)
        *first, last = self._statements(tasks, gone=gone)
        for statement in first:
            self._database.update(statement)
        changed = 0 if self._many(count) and self._filled(tasks) else self._database.update(last)
        if not self.key and changed > count:
            # A chunk that a task sent again, since its answer was lost, arrived after the count.
            raise HeadraceError(
                "SINK_FAILED",
                f"{self._context.name}: {self.address} has more rows than the {count} that tasks have staged there",
                hint="the next start writes the epoch again",
            )
        self._end(count)

    def _write_most(self, epoch: int, tasks: str, staged: ports.Staged) -> None:
        """Write the rows that the table accepts, and put the others aside."""
        self._begin(tasks, staged)
        put_aside(self._context, epoch, self._refused(tasks).write(), _OF_TABLE)
        self._end(staged.count)

    def _begin(self, tasks: str, staged: ports.Staged) -> None:
        """Check that all rows of an epoch are staged, and remove those of the table if these replace them."""
        count = staged.count
        there = self._database.query(f"SELECT count(*) FROM {self._stage} WHERE {TASK} IN ({tasks})")[0][0]
        if there != count:
            raise HeadraceError(
                "SINK_FAILED",
                f"{self._context.name}: {self.address} has {there} of the {count} rows that tasks have staged there, as after a crash",
                hint="the next start writes the epoch again",
            )
        if staged.whole:
            self._empty()

    def _end(self, count: int) -> None:
        for check in self.dialect.checks:
            self._database.update(check)
        if not self._many(count):
            self._database.update(f"DELETE FROM {self._stage}")
        point("in sink commit", self._context.name)

    def _filled(self, tasks: str) -> bool:
        """Whether the table was empty and has been filled; False if another writer adds a row of the same key meanwhile."""
        if not self.key or self._database.query(f"SELECT 1 FROM {self.dialect.quote(*self.place)} LIMIT 1"):
            return False
        try:
            with self._database.savepoint():
                self._database.update(self.dialect.fill(self._target, self._stage, tasks))
        except Problem as problem:
            if problem.transient:
                raise
            # `upsert` reports any other problem.
            return False
        return True

    def _many(self, count: int) -> bool:
        return self.dialect.many is not None and count >= self.dialect.many

    def _statements(self, tasks: str, *, gone: bool = True) -> list[str]:
        """The statements that move staged rows into the table; `gone`: some of them are retractions."""
        target: Target = self._target
        if not self.key:
            return [self.dialect.append(target, self._stage, tasks)]
        removed = [self.dialect.remove(target, self._stage, tasks)] if gone else []
        return [*removed, self.dialect.upsert(target, self._stage, tasks)]

    def _empty(self) -> None:
        self._database.update(f"DELETE FROM {self.dialect.quote(*self.place)}")

    def _properties(self) -> dict[str, str]:
        password = self.password.read() if self.password is not None else None
        return {**self.dialect.properties(self.user, password, self.patience), **self.driver_options}

    def _refused(self, tasks: str) -> Refused:
        return Refused(self._database, self.dialect, self._target, self._context.schema, self._stage, tasks)

    def _rejection(self, tasks: str, problem: Problem) -> HeadraceError:
        """The error for an epoch with a row that the table rejects; it shows the row, if one is rejected by itself."""
        row = self._refused(tasks).first()
        if row is None:
            return self._refusal(problem)
        return HeadraceError("ROW_REFUSED", f"{self._context.name}: {self.address} rejected the row {row}", hint=CURE)

    def _refusal(self, problem: Problem) -> HeadraceError:
        """The error for a refusal by the database."""
        name, message = self._context.name, problem.message.removeprefix("ERROR: ")
        if problem.of_row:
            return HeadraceError("ROW_REFUSED", f"{name}: {self.address} rejected a row: {message}", hint=CURE)
        if self.dialect.missing(problem) and STAGE not in message:
            table = f"the table {'.'.join(self.place)}" if self.place[-1] in message else "a table"
            message = re.sub(r"; Position: \d+", "", message)
            return HeadraceError("TABLE_MISSING", f"{name}: {table} of {self.address} is missing: {message}", hint=GONE)
        return self.dialect.why(problem, self.address, writes=True) or HeadraceError(
            "SINK_FAILED",
            f"{name}: {self.address} reported: {problem.message}",
            hint="fix the cause and start again: no row is lost or duplicated",
        )


def _table(verb: str, name: Any) -> str:
    table_of(verb, name)
    return str(name)
