"""The epochs that a database holds: a table beside the target, changed in the same transaction.

_headrace_epochs
  id            the checkpoint, the query and the table, as a digest
  job, sink, target, checkpoint, query    the same as text
  made          1 if the job created the table, 0 if it existed before
  epoch         the newest epoch
  identity      the identity of that epoch; null if a version without identities wrote it
  term          the newest start of the checkpoint: a process with a smaller one was replaced
  at            when the row was written
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from headrace.connectors.jdbc.database import Database, Problem
from headrace.connectors.jdbc.dialect import Dialect
from headrace.errors import HeadraceError
from headrace.ports import Held, Holder, Mark, Ownership, SinkContext

TABLE = "_headrace_epochs"
STAGE = "_headrace_stage_"


class Ledger:
    """The epochs of one table in one database, for one start of a sink. `place` is the table with its schema, `table` the
    user's spelling.
    """

    def __init__(self, database: Database, dialect: Dialect, place: tuple[str, ...], context: SinkContext, table: str) -> None:
        self._database = database
        self._dialect = dialect
        self._table = dialect.quote(*place[:-1], TABLE)
        self._place = (*place[:-1], TABLE)
        self._context = context
        self._target = ".".join(place)
        by_hand = f"empty it by hand, and delete the job's row from {TABLE}"
        self._own = Ownership(context, f"the table {table}", shared=True, by_hand=by_hand)
        self.id = self._own.key(self._target)

    def make(self) -> None:
        """Create the ledger if it is missing, and add the column that earlier versions lacked."""
        words = [(name, "varchar(32)" if name == "id" else "text") for name in ("id", "job", "sink", "target", "checkpoint", "query")]
        columns = [*words, ("made", "bigint"), ("epoch", "bigint"), ("identity", "text"), ("term", "bigint"), ("at", self._dialect.moment)]
        self._dialect.make(self._database, self._place, columns, ["id"])
        self._dialect.add(self._database, self._place, "identity", "text")

    def mark(self) -> Mark:
        """The last epoch that this checkpoint has written; the ledger may be missing, or from an earlier version."""
        columns = {column.name for column in self._dialect.columns(self._database, self._place)}
        if not columns:
            return Mark()
        identity = "identity" if "identity" in columns else "NULL"
        rows = self._database.query(f"SELECT epoch, {identity} FROM {self._table} WHERE id = ?", self.id)
        return replace(_mark(*rows[0]), claimed=True) if rows else Mark()

    def may_claim(self) -> None:
        """Raise what `claim` would raise, and change nothing."""
        if self._dialect.columns(self._database, self._place):
            writers = list(self._writers().values())
            self._own.refuse_twice(writers)
            self._own.empties(writers)

    def claim(self, *, created: bool, empty: Callable[[], None]) -> None:
        """Claim the table for this start, so that earlier starts are refused from now on. A table of another checkpoint of the job is
        refused; with `fresh` it is emptied, if the job `created` it and is its only writer.

        Safe to repeat, since a commit may have taken place although its answer was lost.
        """
        self._take(created=created, empty=empty)
        # Two checkpoints that start at once do not see each other's rows before the commit. After it, at least one of them sees both.
        mine, alone = self._own.rivals(self._writers().values())
        if mine:
            unwritten = "WHERE id = ? AND term = ? AND epoch IS NULL"
            self._database.update(f"DELETE FROM {self._table} {unwritten}", self.id, self._context.term)
            raise self._own.owned(mine[0], alone=alone)

    def _take(self, *, created: bool, empty: Callable[[], None]) -> None:
        context, own = self._context, self._own
        with self._transaction():
            # Before the row is locked: if it were missing, MariaDB would lock the gap, against all other starts.
            self._put(created)
            own.claim(self._held() or Held())
            writers = self._writers()
            own.refuse_twice(writers.values())
            if own.empties(list(writers.values())):
                empty()
                _remove(self._database, self._table, [id for id in writers if id != self.id])
                self._database.update(f"UPDATE {self._table} SET made = 1 WHERE id = ?", self.id)
            self._database.update(f"UPDATE {self._table} SET term = ?, sink = ? WHERE id = ?", context.term, context.name, self.id)

    def commit(self, epoch: int, identity: str, write: Callable[[], None]) -> None:
        """Write an epoch and record it, in one transaction; an epoch that is there already stays as it is. Raises if the database was
        restored to an earlier state while the job ran.
        """
        with self._transaction():
            held = self._held()
            if held is None:
                raise HeadraceError(
                    "SINK_FAILED",
                    f"{self._context.name}: its row in {'.'.join(self._place)} is gone, so the epochs in {self._own.place} are unknown",
                    hint="restore the database, or start over with fresh=True",
                )
            if self._own.admits(held, epoch, identity):
                write()
                noted = f"epoch = ?, identity = ?, {self._dialect.quote('at')} = CURRENT_TIMESTAMP"
                self._database.update(f"UPDATE {self._table} SET {noted} WHERE id = ?", epoch, identity, self.id)
        self._own.wrote(epoch, identity)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._database.transaction():
            for statement in self._dialect.begin:
                self._database.update(statement)
            yield

    def _put(self, created: bool) -> None:
        """Insert the row of this table, if it is missing."""
        context = self._context
        names = self._dialect.names(("id", "job", "sink", "target", "checkpoint", "query", "made", "term", "at"))
        self._database.update(
            f"INSERT INTO {self._table} ({names}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, CURRENT_TIMESTAMP){self._dialect.unless_there}",
            *(self.id, context.job, context.name, self._target, context.checkpoint_id, context.query, int(created), context.term),
        )

    def _held(self) -> Held | None:
        """The newest epoch and the term, locked until this transaction ends."""
        sql = f"SELECT epoch, identity, term FROM {self._table} WHERE id = ?{self._dialect.locking}"
        rows = self._database.query(sql, self.id)
        return Held(_mark(*rows[0][:2]), rows[0][2]) if rows else None

    def _writers(self) -> dict[str, Holder]:
        """The writers of the table, by the ids of their rows: other checkpoints, and this same start.

        The row of this sink may be that of another sink of this start, which spells the table in another way.
        """
        context = self._context
        sql = f"""SELECT id, job, sink, checkpoint, query, term, made FROM {self._table}
            WHERE target = ? AND (checkpoint <> ? OR term = ?)"""
        rows = self._database.query(sql, self._target, context.checkpoint_id, context.term)
        return {str(id): Holder(job, sink, of, query, term, bool(created)) for id, job, sink, of, query, term, created in rows}


def _mark(epoch: int | None, identity: str | None) -> Mark:
    return Mark(-1 if epoch is None else epoch, identity or "")


def forget(database: Database, dialect: Dialect, place: tuple[str, ...]) -> None:
    """Delete the rows of a dropped table from the ledger beside it, if there is one."""
    ledger = (*place[:-1], TABLE)
    if dialect.columns(database, ledger):
        table = dialect.quote(*ledger)
        _remove(database, table, [id for (id,) in database.query(f"SELECT id FROM {table} WHERE target = ?", ".".join(place))])


def orphans(database: Database, dialect: Dialect, place: tuple[str, ...]) -> list[str]:
    """The staging tables beside a table whose start the ledger does not know: a run died, and then was started over or abandoned."""
    ledger = (*place[:-1], TABLE)
    stages = dialect.staged(database, place, STAGE)
    if not stages or not dialect.columns(database, ledger):
        return stages
    # After the list of tables: a start is in the ledger before it creates one.
    known = {str(id)[:16] for (id,) in database.query(f"SELECT id FROM {dialect.quote(*ledger)}")}
    return [name for name in stages if name.removeprefix(STAGE)[:16] not in known]


def sweep(database: Database, dialect: Dialect, place: tuple[str, ...], names: Iterable[str]) -> None:
    """Drop staging tables beside a table that no epoch reads any more."""
    for name in names:
        # A task that is still dying may hold one. The next start tries again.
        with suppress(Problem):
            dialect.drop(database, dialect.quote(*place[:-1], name))


def _remove(database: Database, table: str, ids: Sequence[str]) -> None:
    # One by one: in MariaDB, a DELETE with a search would also wait for rows of other tables.
    for id in ids:
        database.update(f"DELETE FROM {table} WHERE id = ?", id)
