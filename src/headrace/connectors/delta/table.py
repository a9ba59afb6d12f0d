"""A Delta table as one sink writes it: whose it is, and one transaction an epoch.

Two application transactions in the table's log keep it exactly once. `headrace/CHECKPOINT/QUERY` has the number of the last epoch, so
that one that comes again is known. `.../term` has the number of the process: each start writes its own before all else, and each epoch
carries it. Delta refuses two commits at once that carry the same application, so a process that was replaced cannot commit from what it
knew before, and what it reads anew tells it that it was replaced.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from headrace import ports
from headrace.connectors.delta.columns import columns_of, delta_field, delta_schema, same
from headrace.connectors.delta.place import Place
from headrace.errors import CheckpointError, ConnectorError, HeadraceError
from headrace.schema import Struct

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable

Write = Callable[["DeltaTable", "CommitProperties"], object]

MADE = "headrace.made"
JOB = "headrace.job."
_TRIES = 20
# What a writer of Parquet files has nothing to do for.
_FEATURES = {
    "appendOnly",
    "invariants",
    "checkConstraints",
    "changeDataFeed",
    "timestampNtz",
    "v2Checkpoint",
    "vacuumProtocolCheck",
    "generatedColumns",
}


class Epochs:
    """The epochs of one sink in the log of its table."""

    def __init__(self, place: Place, context: ports.SinkContext) -> None:
        self.place = place
        self._context = context
        self._application = f"headrace/{context.checkpoint_id}/{context.query}"
        self._table: DeltaTable | None = None

    @property
    def table(self) -> DeltaTable:
        if self._table is None:
            self._table = self.place.table()
        return self._table

    @property
    def last(self) -> int:
        """The last epoch that the table has; -1 for none."""
        found = self.table.transaction_version(self._application)
        return -1 if found is None else int(found)

    def claim(self, schema: Struct, *, partition_by: list[str], properties: dict[str, str], add: bool) -> None:
        """Make the table, or take it over from the process that wrote it before, and give it the columns that it lacks."""
        for _ in range(_TRIES):
            if not self.place.exists():
                if self._made(schema, partition_by, properties):
                    return
                continue
            self._table = self.place.table()
            self._refuse_replaced()
            if self._attempt(self._taken(schema, partition_by, add)) and self._widened(schema):
                return
        raise self._busy()

    def transact(self, epoch: int, write: Write) -> bool:
        """Write an epoch in one transaction; False if the table had it already."""
        for tried in range(_TRIES):
            self.table.update_incremental()
            if self.last >= epoch:
                # What one of these tries wrote may have gone through although its answer was lost.
                return tried > 0
            self._refuse_replaced()
            try:
                if self._attempt(write, epoch):
                    return True
            except FileNotFoundError:
                # Whoever takes over removes what was staged here.
                self.table.update_incremental()
                self._refuse_replaced()
                raise
        raise self._busy()

    def tidy(self, write: Write) -> None:
        """A commit that changes no rows; one that is overtaken is left out."""
        self.table.update_incremental()
        self._refuse_replaced()
        self._attempt(write)

    def said(self, epoch: int | None = None) -> CommitProperties:
        """What a commit of this sink carries."""
        from deltalake import CommitProperties, Transaction

        context = self._context
        carried = [Transaction(f"{self._application}/term", context.term)]
        told = {"headrace.job": context.job, "headrace.sink": context.name}
        if epoch is not None:
            carried.append(Transaction(self._application, epoch))
            told["headrace.epoch"] = str(epoch)
        return CommitProperties(app_transactions=carried, custom_metadata=told)

    def _attempt(self, write: Write, epoch: int | None = None) -> bool:
        """Whether a commit went through; another one may have come before it."""
        from deltalake.exceptions import CommitFailedError

        try:
            write(self.table, self.said(epoch))
        except CommitFailedError:
            return False
        return True

    def _made(self, schema: Struct, partition_by: list[str], properties: dict[str, str]) -> bool:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        context = self._context
        try:
            self._table = DeltaTable.create(
                self.place.uri,
                delta_schema(schema),
                partition_by=partition_by,
                configuration={**properties, MADE: context.job, **self._owner()},
                storage_options=self.place.options(),
                commit_properties=self.said(),
                raise_if_key_not_exists=False,
            )
        except DeltaError as problem:
            if self.place.exists():
                return False  # somebody else was quicker
            raise self.place.unreadable(problem) from problem
        return True

    def _owner(self) -> dict[str, str]:
        context = self._context
        owner = {"sink": context.name, "checkpoint": context.checkpoint_id, "query": context.query}
        return {f"{JOB}{context.job}": json.dumps(owner, sort_keys=True)}

    def _taken(self, schema: Struct, partition_by: list[str], add: bool) -> Write:
        """What takes the table over: nothing but the term, the owner's name too, or with a fresh start all that was written before."""
        context, table = self._context, self.table
        settings = dict(table.metadata().configuration)
        owner = self._owner()
        (name, mine), *_ = owner.items()
        found = settings.get(name)
        before = None if found is None else json.loads(found)
        same_epochs = before is not None and (before["checkpoint"], before["query"]) == (context.checkpoint_id, context.query)
        if before is not None and not same_epochs:
            if not context.fresh:
                raise _owned(self.place.path, before["sink"], context)
            others = [key for key in settings if key.startswith(JOB) and key != name]
            if others or settings.get(MADE) != context.job:
                raise _shared(self.place.path, context.job)
            fresh = delta_schema(schema)

            def empty(table: DeltaTable, said: CommitProperties) -> None:
                table.create_write_transaction([], "overwrite", fresh, partition_by=partition_by, commit_properties=said)
                self._table = self.place.table()
                self.table.alter.set_table_properties(owner, raise_if_not_exists=False, commit_properties=self.said())

            return empty
        check(self.place.path, table, schema, partition_by, add)
        if found != mine:
            return lambda table, said: table.alter.set_table_properties(owner, raise_if_not_exists=False, commit_properties=said)
        return lambda table, said: table.create_write_transaction(
            [], "append", table.schema(), partition_by=partition_by, commit_properties=said
        )

    def _widened(self, schema: Struct) -> bool:
        self._table = self.place.table()
        columns = columns_of(self.table)
        missing = [delta_field(field) for field in schema.fields if columns.get(field.name) is None]
        if missing:

            def add(table: DeltaTable, said: CommitProperties) -> None:
                from deltalake.schema import Field

                table.alter.add_columns([Field.from_json(json.dumps(field)) for field in missing], commit_properties=said)

            done = self._attempt(add)
            self._table = self.place.table()
            return done
        return True

    def _refuse_replaced(self) -> None:
        term = self.table.transaction_version(f"{self._application}/term")
        if term is not None and term > self._context.term:
            raise CheckpointError(
                "SINK_FENCED",
                f"{self._context.name}: another process has taken over the job {self._context.job} and writes {self.place.path} now",
                hint="this process was held up for so long that it was replaced; nothing of it was written since",
            )

    def _busy(self) -> HeadraceError:
        return ConnectorError(
            "TABLE_BUSY",
            f"{self._context.name}: {_TRIES} commits to {self.place.path} were each overtaken by one of another writer",
            hint="the next start writes the epoch again; fewer writers, or longer epochs (every=), get in each other's way less",
        )


def check(path: str, table: DeltaTable, schema: Struct, partition_by: list[str], add: bool) -> None:
    """Complain where what a sink writes would not be what the table has."""
    protocol, described = table.protocol(), table.metadata()
    settings = described.configuration
    asks = [f"the feature {name}" for name in protocol.writer_features or () if name not in _FEATURES]
    asks += ["column mapping"] if settings.get("delta.columnMapping.mode", "none") != "none" else []
    asks += [f"the constraint {name[18:]}" for name in settings if name.startswith("delta.constraints.")]
    asks += [
        f"what it says of column {field.name}"
        for field in table.schema().fields
        if any(name.startswith("delta.") and name != "delta.columnMapping.id" for name in field.metadata)
    ]
    if asks:
        raise ConnectorError(
            "TABLE_FEATURE",
            f"the table {path} asks writers for what this sink does not do: {', '.join(asks)}",
            hint="write to a table without that",
        )
    if list(described.partition_columns) != partition_by:
        has = ", ".join(described.partition_columns) or "nothing"
        raise _unfit(
            path,
            f"it is partitioned by {has}, not by {', '.join(partition_by) or 'nothing'}",
            f"partition_by={described.partition_columns}",
        )
    columns = columns_of(table)
    by_name = {field.name: field for field in columns.fields}
    for field in schema.fields:
        known = by_name.get(field.name)
        if known is None and columns.get(field.name) is not None:
            near = next(name for name in by_name if name.lower() == field.name.lower())
            raise _unfit(path, f"its column {near} is spelled {field.name} here", f"rename({{{field.name!r}: {near!r}}})")
        if known is None:
            if not add:
                raise _unfit(path, f"it has no column {field.name}", 'schema="add" adds columns to a table')
        elif not same(known.type, field.type):
            raise _unfit(
                path,
                f"its column {field.name} is {known.type}, not {field.type}",
                f'with_columns({field.name}="cast({field.name} as {known.type})")',
            )
        elif field.nullable and not known.nullable:
            raise _unfit(path, f"its column {field.name} cannot be null, and here it can", f"the table says NOT NULL of {field.name}")
    given = {field.name for field in schema.fields}
    for field in columns.fields:
        if field.name not in given and not field.nullable:
            raise _unfit(
                path, f"its column {field.name} cannot be null, and is not written here", f"the table says NOT NULL of {field.name}"
            )


def _unfit(path: str, why: str, hint: str) -> ConnectorError:
    return ConnectorError("TABLE_SCHEMA", f"the table {path} does not fit: {why}", hint=hint)


def _owned(path: str, sink: str, context: ports.SinkContext) -> CheckpointError:
    return CheckpointError(
        "TABLE_OWNED",
        f"{path} holds what sink {sink} of job {context.job} wrote from another checkpoint or query",
        hint="write to another table, go on from the checkpoint that wrote it, or start with fresh=True, which empties the table",
    )


def _shared(path: str, job: str) -> CheckpointError:
    return CheckpointError(
        "TABLE_OWNED",
        f"with fresh=True what job {job} wrote to {path} would have to go, and it holds rows of others too",
        hint="delete those rows from the table, and write to another one until then",
    )
