"""hr.state: the state in a job's checkpoint, as tables."""

from __future__ import annotations

import os
import re
from functools import cached_property
from html import escape
from pathlib import Path

from headrace.engine.loading import refuse_while_loading
from headrace.engine.table import Table
from headrace.errors import HeadraceError
from headrace.jvm.frames import Rows
from headrace.schema import Struct
from headrace.settings import JOBS
from headrace.spark.checkpoint.folder import Stored, is_checkpoint, is_clearing, stored_in
from headrace.spark.checkpoint.switch import is_switching
from headrace.spark.inspect import tables
from headrace.spark.inspect.inspect import Inspected, in_stores, unknown_table
from headrace.spelling import ranges, suggestion


class State:
    """The state of a job after an epoch, as tables. `hr.state` opens it.

    * `job`, `folder`: the name of the job and its checkpoint.
    * `epochs`, `epoch`: the epochs that can be read, and the one that is shown.
    * `queries`: the epoch shown of each [streaming query](../../guides/state.md#epochs) of the job, which counts its own epochs.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 1), ("a", 2), ("b", 3)], "card string, amount int", name="charges")
        >>> sums = charges.group_by("card").agg(total="sum(amount)").named("sums")
        >>> _ = hr.job("sums", sums.write.memory()).run(progress=False)
        >>> state = hr.state(".headrace/sums")
        >>> state.epoch, state.tables
        (0, {'sums': 'key struct<card: string>, rows bigint, total bigint'})
        >>> state.count("sums"), state.table("sums", limit=1).rows()
        (2, [(('a',), 2, 3)])
        >>> state.query("SELECT key.card FROM sums WHERE total > 2 ORDER BY 1").rows()
        [('a',), ('b',)]
    """

    def __init__(self, folder: Path, epoch: int | None) -> None:
        self.folder = folder
        stored = stored_job(folder)
        self.job = stored.job
        kept = tables.kept(stored)
        if not kept:
            raise _none(stored.job)
        there = {query: tables.epochs(folder, query) for query in dict.fromkeys(one.query for one in kept)}
        self.epochs = tuple(sorted({number for numbers in there.values() for number in numbers}))
        if not self.epochs:
            raise HeadraceError(
                "NO_STATE", f"the checkpoint {folder} has no state yet: no epoch is committed", hint="run the job first, or wait a moment"
            )
        if epoch is not None and epoch not in self.epochs:
            raise HeadraceError(
                "UNKNOWN_EPOCH", f"the checkpoint {folder} has no state of epoch {epoch}", hint=f"it has epochs {ranges(self.epochs)}"
            )
        self.epoch = self.epochs[-1] if epoch is None else epoch
        self.queries = {
            query: numbers[-1] if epoch is None else epoch for query, numbers in there.items() if numbers and epoch in (None, *numbers)
        }
        self._kept = tuple(one for one in kept if one.query in self.queries)
        self._stored = stored

    def __repr__(self) -> str:
        return f"<State {self.job}, epoch {self.epoch}: {', '.join(one.name for one in self._kept)}>"

    def _repr_html_(self) -> str:
        tables = "".join(f"<tr><td>{escape(name)}</td><td>{escape(columns)}</td></tr>" for name, columns in self.tables.items())
        head = f"<p>state of {escape(self.job)} after epoch {self.epoch}</p>"
        return f"{head}<table><thead><tr><th>table</th><th>columns</th></tr></thead><tbody>{tables}</tbody></table>"

    @property
    def tables(self) -> dict[str, str]:
        """The columns of each table, as DDL.

        Raises:
            CheckpointError: `STATE_UNREADABLE` if the state cannot be read, `NO_STATE` if nothing is kept.
        """
        return {name: schema.ddl for name, schema in self._inspected.schemas.items()}

    def count(self, name: str) -> int:
        """Returns the number of rows of a table.

        Args:
            name: The name of the table.

        Raises:
            CheckpointError: `UNKNOWN_TABLE`; `STATE_UNREADABLE` if the job has deleted the epoch meanwhile.
        """
        return self._inspected.count(self._known(name))

    def table(self, name: str, *, limit: int | None = None) -> Table:
        """Returns the rows of a table, ordered by its columns.

        Args:
            name: The name of the table.
            limit: The maximum number of rows. Default: all.

        Raises:
            CheckpointError: `UNKNOWN_TABLE`; `STATE_UNREADABLE` if the job has deleted the epoch meanwhile.
        """
        return _cut(*self._inspected.table(self._known(name), _one_more(limit)), limit)

    def query(self, sql: str, *, limit: int | None = None) -> Table:
        """Runs a SELECT of Spark SQL over the tables.

        Args:
            sql: The SELECT.
            limit: The maximum number of rows. Default: all.

        Raises:
            CheckpointError: `UNKNOWN_TABLE`; `STATE_UNREADABLE` if the job has deleted the epoch meanwhile.
            PlanError: `BAD_SYNTAX`, `UNKNOWN_COLUMN`, `UNKNOWN_FUNCTION`, `WRONG_TYPE` for a text that Spark refuses.
        """
        return _cut(*self._inspected.query(self._renamed(sql), _one_more(limit)), limit)

    @cached_property
    def _inspected(self) -> Inspected:
        inspected = Inspected(self.folder, self._stored, self._kept, in_stores(self.folder, self.queries), self._stored.partitions)
        if not inspected.schemas:
            raise _none(self.job)
        return inspected

    def _known(self, name: str) -> str:
        for known in self._inspected.schemas:
            if known.lower() in (name.lower(), self._renamed(name).lower()):
                return known
        raise unknown_table(name, self._inspected.schemas)

    def _renamed(self, text: str) -> str:
        """Replace the stored names of operators, which have a hash, by the names of their tables."""
        for one in self._kept:
            if one.stored != one.name:
                text = re.sub(rf"(?i)\b{one.stored}(?=_|\b)", one.name, text)
        return text


def state(checkpoint: str | os.PathLike[str], *, epoch: int | None = None) -> State:
    """Opens the state in a job's checkpoint as tables.

    Nothing is locked or changed, so the job may run meanwhile. [State as tables](../../guides/state.md) lists the tables of each operator.

    Args:
        checkpoint: The folder of the job's state.
        epoch: Shows the state after this epoch, one of the last hundred. [Streaming queries](../../guides/state.md#epochs) that do not
            have this epoch are omitted. Default: the last epoch of each.

    Raises:
        CheckpointError: `NOT_A_CHECKPOINT`; `NO_STATE` if no operator keeps state or no epoch is committed; `UNKNOWN_EPOCH`;
            `CHECKPOINT_FORMAT`, `CHECKPOINT_UNREADABLE`.
        ConfigError: `RUN_WHILE_LOADING` while `hr.load` loads the file.

    Examples:
        >>> import headrace as hr
        >>> class Count(hr.Program):
        ...     n = hr.Value("bigint", default=0)
        ...
        ...     def on_event(self, e):
        ...         self.n.set(self.n.get() + 1)
        ...         hr.emit(card=self.key.card, n=self.n.get())
        >>> charges = hr.read.memory([("a", 1), ("a", 2), ("b", 3)], "card string, amount int", name="charges")
        >>> counts = charges.key_by("card").process(Count).named("counts")
        >>> _ = hr.job("count", counts.write.memory()).run(checkpoint="state", progress=False)
        >>> hr.state("state").tables
        {'counts': 'key struct<card: string>, n bigint'}
        >>> hr.state("state").query("SELECT key.card, n FROM counts WHERE n > 1").rows()
        [('a', 2)]
    """
    refuse_while_loading("hr.state")
    return State(Path(checkpoint).expanduser().absolute(), epoch)


def stored_job(folder: Path) -> Stored:
    """Read `job.json`, without a lock."""
    stored = None if is_clearing(folder) or is_switching(folder) else stored_in(folder)
    if stored is not None:
        return stored
    raise no_checkpoint(folder)


def no_checkpoint(folder: Path, other: Path | None = None) -> HeadraceError:
    """Return the error for a folder that is no checkpoint; `other` is a second folder that was tried."""
    if is_switching(folder):
        hint = "start the job, or repeat the deploy: both finish it"
        return HeadraceError("NOT_A_CHECKPOINT", f"{folder} is being switched to a new version of its job", hint=hint)
    if is_clearing(folder):
        hint = "wait until the job has started; if that start was interrupted, start it again"
        return HeadraceError("NOT_A_CHECKPOINT", f"{folder} is being cleared by a start with fresh=True", hint=hint)
    why = "it has no job.json" if folder.is_dir() else "it is a file" if folder.is_file() else "there is no such folder"
    nor = "" if other is None else f"; nor is {other}"
    return HeadraceError("NOT_A_CHECKPOINT", f"{folder} is not a checkpoint: {why}{nor}", hint=_where(folder))


def _none(job: str) -> HeadraceError:
    hint = "job.explain() lists the state of each operator"
    return HeadraceError("NO_STATE", f"the job {job} has no operator that keeps state", hint=hint)


def _where(folder: Path) -> str:
    """Return a hint where the checkpoint may be."""
    if is_checkpoint(JOBS / folder.name):
        return f"the job {folder.name} keeps its checkpoint in {JOBS / folder.name}"
    jobs = [path.name for path in JOBS.iterdir() if is_checkpoint(path)] if JOBS.is_dir() else []
    return suggestion(
        folder.name,
        jobs,
        "a job keeps its checkpoint in .headrace/NAME unless the setting `checkpoint` names another folder",
        shown=f"{JOBS}/{{}}",
    )


def _one_more(limit: int | None) -> int | None:
    """Return one row more than `limit`, to see whether there are more."""
    return None if limit is None else limit + 1


def _cut(rows: Rows, schema: Struct, limit: int | None) -> Table:
    return Table(rows[:limit], schema, more=limit is not None and len(rows) > limit)
