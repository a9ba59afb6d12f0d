"""The epochs that a database has: a table beside the one that is written, changed in the same transaction.

_headrace_epochs
  id            the checkpoint, the query and the table, as a digest
  job, sink, target, checkpoint, query    the same in words
  made          1 where the job made the table, 0 where it was there before
  epoch         the newest one that is there
  identity      the identity of that epoch; null where a version without identities wrote it
  term          the newest start of the checkpoint: who has a smaller one was replaced
  at            when that was written
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from headrace.connectors.jdbc.database import Database
from headrace.connectors.jdbc.dialect import Dialect
from headrace.durable.marks import Mark
from headrace.errors import CheckpointError, HeadraceError

TABLE = "_headrace_epochs"
STAGE = "_headrace_stage_"


@dataclass(frozen=True)
class Writer:
    """Who writes a table: the start `term` of a checkpoint, whose query counts the epochs. `target` is the table with its schema, however
    the user spells it; `table` is that.
    """

    job: str
    sink: str
    target: str
    table: str
    checkpoint: str
    query: str
    term: int

    @property
    def id(self) -> str:
        return hashlib.sha256("\0".join((self.checkpoint, self.query, self.target)).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class _Other:
    """A row of the ledger: who else has written the table, and whether that job made it."""

    id: str
    job: str
    sink: str
    made: int


class Ledger:
    """The epochs of one table in one database."""

    def __init__(self, database: Database, dialect: Dialect, place: tuple[str, ...], writer: Writer) -> None:
        self._database = database
        self._dialect = dialect
        self._table = dialect.quote(*place[:-1], TABLE)
        self._place = (*place[:-1], TABLE)
        self._writer = writer
        self._last = Mark()

    def make(self) -> None:
        """The table itself, where it is missing, and the column that earlier versions did not have."""
        words = [(name, "varchar(32)" if name == "id" else "text") for name in ("id", "job", "sink", "target", "checkpoint", "query")]
        columns = [*words, ("made", "bigint"), ("epoch", "bigint"), ("identity", "text"), ("term", "bigint"), ("at", self._dialect.moment)]
        self._dialect.make(self._database, self._place, columns, ["id"])
        self._dialect.add(self._database, self._place, "identity", "text")

    def mark(self) -> Mark:
        """The last epoch that this checkpoint has written, read from the ledger as it is: missing, or of an earlier version."""
        columns = {column.name for column in self._dialect.columns(self._database, self._place)}
        if not columns:
            return Mark()
        identity = "identity" if "identity" in columns else "NULL"
        found = self._database.query(f"SELECT epoch, {identity} FROM {self._table} WHERE id = ?", self._writer.id)
        return _mark(*found[0]) if found else Mark()

    def claim(self, *, fresh: bool, made: bool, empty: Callable[[], None]) -> None:
        """Take the table for this start, so that earlier ones are refused from now on. Another checkpoint of the job has no business there:
        with `fresh` the table is emptied, if the job `made` it and nobody else writes to it.

        It may be done twice, as nobody knows of a commit whose answer was lost.
        """
        self._take(fresh=fresh, made=made, empty=empty)
        # Of two checkpoints that start at once neither sees the row of the other, until both are there: one of them comes to see both.
        others = self._others()
        mine = [other for other in others if other.job == self._writer.job]
        if mine:
            unwritten = "WHERE id = ? AND term = ? AND epoch IS NULL"
            self._database.update(f"DELETE FROM {self._table} {unwritten}", self._writer.id, self._writer.term)
            raise self._owned(mine[0].sink, _alone(others, self._writer.job))

    def _take(self, *, fresh: bool, made: bool, empty: Callable[[], None]) -> None:
        writer = self._writer
        with self._transaction():
            # Before the row is locked: where it is missing, MariaDB would lock the gap, against all others that start.
            self._put(made)
            row = self._row()
            if row is not None:
                self._last, term = row
                if term > writer.term:
                    raise self._fenced(term)
            self._refuse_twice()
            others = self._others()
            mine = [other for other in others if other.job == writer.job]
            if mine:
                alone = _alone(others, writer.job)
                if not fresh or not alone:
                    raise self._owned(mine[0].sink, alone)
                empty()
                _remove(self._database, self._table, [other.id for other in mine])
                self._database.update(f"UPDATE {self._table} SET made = 1 WHERE id = ?", writer.id)
            self._database.update(f"UPDATE {self._table} SET term = ?, sink = ? WHERE id = ?", writer.term, writer.sink, writer.id)

    def commit(self, epoch: int, identity: str, write: Callable[[], None]) -> None:
        """Write an epoch and note it, in one transaction; an epoch that is there already stays as it is. A database that was put back to
        an earlier state while the job ran is refused.
        """
        writer = self._writer
        with self._transaction():
            row = self._row()
            if row is None:
                raise HeadraceError(
                    "SINK_FAILED",
                    f"{writer.sink}: its row in {'.'.join(self._place)} is gone, so nobody knows which epochs {writer.table} has",
                    hint="restore the database as it was, or start over with fresh=True.",
                )
            mark, term = row
            if term > writer.term:
                raise self._fenced(term)
            if not mark.holds(epoch, identity, writer.sink):
                if mark.epoch < self._last.epoch:
                    raise mark.lacks(self._last, writer.sink, f"the table {writer.table}")
                write()
                noted = f"epoch = ?, identity = ?, {self._dialect.quote('at')} = CURRENT_TIMESTAMP"
                self._database.update(f"UPDATE {self._table} SET {noted} WHERE id = ?", epoch, identity, writer.id)
        self._last = Mark(epoch, identity)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._database.transaction():
            for statement in self._dialect.begin:
                self._database.update(statement)
            yield

    def _put(self, made: bool) -> None:
        """The row of this table, where it is missing."""
        writer = self._writer
        names = self._dialect.names(("id", "job", "sink", "target", "checkpoint", "query", "made", "term", "at"))
        self._database.update(
            f"INSERT INTO {self._table} ({names}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, CURRENT_TIMESTAMP){self._dialect.unless_there}",
            *(writer.id, writer.job, writer.sink, writer.target, writer.checkpoint, writer.query, int(made), writer.term),
        )

    def _row(self) -> tuple[Mark, int] | None:
        """The newest epoch and the term, in the hands of this transaction until it ends."""
        sql = f"SELECT epoch, identity, term FROM {self._table} WHERE id = ?{self._dialect.locking}"
        found = self._database.query(sql, self._writer.id)
        return (_mark(*found[0][:2]), found[0][2]) if found else None

    def _refuse_twice(self) -> None:
        """Complain of another sink that this very start has opened, at the same table under another name or address."""
        writer = self._writer
        sql = f"SELECT sink FROM {self._table} WHERE target = ? AND checkpoint = ? AND term = ? AND sink <> ?"
        for (sink,) in self._database.query(sql, writer.target, writer.checkpoint, writer.term, writer.sink):
            raise CheckpointError(
                "FOLDER_OWNED",
                f"the sinks {sink} and {writer.sink} both write to the table {writer.target}",
                hint="give each sink a table of its own; streams of the same columns go into one by union.",
            )

    def _others(self) -> list[_Other]:
        """Who else has written the table, from other checkpoints."""
        sql = f"SELECT id, job, sink, made FROM {self._table} WHERE target = ? AND checkpoint <> ?"
        return [_Other(*row) for row in self._database.query(sql, self._writer.target, self._writer.checkpoint)]

    def _owned(self, sink: str, alone: bool) -> CheckpointError:
        table = self._writer.table
        cure = "start with fresh=True, which empties it" if alone else f"empty it by hand, and take the job's row out of {TABLE}"
        return CheckpointError(
            "TABLE_OWNED",
            f"the table {table} holds what sink {sink} of job {self._writer.job} wrote from another checkpoint",
            hint=f"write to another table, go on from the checkpoint that wrote it, or {cure}.",
        )

    def _fenced(self, term: int) -> HeadraceError:
        return HeadraceError(
            "SINK_FENCED",
            f"{self._writer.sink}: start {term} of this job has taken over {self._writer.table}, and this is start {self._writer.term}",
            hint="nothing of this epoch was written; the process that took over goes on with it.",
        )


def _mark(epoch: int | None, identity: str | None) -> Mark:
    return Mark(-1 if epoch is None else epoch, identity or "")


def _alone(others: Sequence[_Other], job: str) -> bool:
    """Whether a table is a job's own, which made it."""
    return all(other.job == job and other.made for other in others)


def forget(database: Database, dialect: Dialect, place: tuple[str, ...]) -> None:
    """Take the rows of a table that is gone out of the ledger beside it, where there is one."""
    ledger = (*place[:-1], TABLE)
    if dialect.columns(database, ledger):
        table = dialect.quote(*ledger)
        _remove(database, table, [id for (id,) in database.query(f"SELECT id FROM {table} WHERE target = ?", ".".join(place))])


def orphans(database: Database, dialect: Dialect, place: tuple[str, ...]) -> list[str]:
    """The staging tables beside a table of which the ledger knows no start: a run had died, and then was started over or thrown away."""
    ledger = (*place[:-1], TABLE)
    found = dialect.staged(database, place, STAGE)
    if not found or not dialect.columns(database, ledger):
        return found
    # After the tables: a start is in the ledger before it makes one.
    known = {str(id)[:16] for (id,) in database.query(f"SELECT id FROM {dialect.quote(*ledger)}")}
    return [name for name in found if name.removeprefix(STAGE)[:16] not in known]


def _remove(database: Database, table: str, ids: Sequence[str]) -> None:
    # One by one: a search that deletes would wait in MariaDB for the rows of other tables too.
    for id in ids:
        database.update(f"DELETE FROM {table} WHERE id = ?", id)
