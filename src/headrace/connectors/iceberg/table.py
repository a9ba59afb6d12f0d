"""An Iceberg table as one sink writes it: whose it is, and one commit an epoch.

A property of the table, `headrace.epoch.CHECKPOINT.QUERY`, says which epoch was the last and which start of the job wrote it; it changes
in the same commit as the rows do. Each start makes a snapshot of its own before all else: a process that was replaced commits from a
snapshot that is no longer the newest, which the catalog refuses, and what it reads anew tells it that it was replaced. (pyiceberg's own
retries, which would put the same rows on top of the newer snapshot, are off.)
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from headrace import ports
from headrace.connectors.iceberg.columns import columns_of, iceberg_schema, iceberg_type, plain
from headrace.connectors.iceberg.place import Place
from headrace.errors import CheckpointError, ConnectorError, HeadraceError
from headrace.schema import Field, Struct

if TYPE_CHECKING:
    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.table import Table, Transaction

Write = Callable[["Transaction", dict[str, str]], None]

MADE = "headrace.made"
JOB = "headrace.job."
_TRIES = 20


class Epochs:
    """The epochs of one sink in the properties and snapshots of its table."""

    def __init__(self, place: Place, context: ports.SinkContext) -> None:
        self.place = place
        self._context = context
        self._state = f"headrace.epoch.{context.checkpoint_id}.{context.query}"
        self._catalog = place.catalog()
        self.table: Table

    @property
    def last(self) -> int:
        """The last epoch that the table has; -1 for none."""
        return self._stored()[0]

    def claim(self, schema: Struct, *, partition_by: list[str], properties: dict[str, str], add: bool) -> None:
        """Make the table, or take it over from the process that wrote it before, and give it the columns that it lacks."""
        for _ in range(_TRIES):
            if not self._catalog.table_exists(self.place.name):
                self._make(schema, partition_by, properties)
            self.table = self.place.table()
            self._refuse_replaced()
            if self._to_be_emptied():
                self._catalog.purge_table(self.place.name)
                continue
            missing = check(self.place.name, self.table, schema, partition_by, add)

            def take(transaction: Transaction, said: dict[str, str], missing: list[Field] = missing) -> None:
                if missing:
                    with transaction.update_schema() as update:
                        for field in missing:
                            update.add_column(field.name, iceberg_type(field.type, field.name))
                with transaction.update_snapshot(said).fast_append():
                    pass  # a snapshot of the same files: who knows only the one before can no longer commit
                transaction.set_properties(self._owner())

            if self._attempt(take, self.last):
                return
        raise self._busy()

    def transact(self, epoch: int, write: Write) -> bool:
        """Write an epoch in one commit; False if the table had it already."""
        for tried in range(_TRIES):
            self.table.refresh()
            if self.last >= epoch:
                # What one of these tries wrote may have gone through although its answer was lost.
                return tried > 0
            self._refuse_replaced()
            try:
                if self._attempt(write, epoch):
                    return True
            except FileNotFoundError:
                # Whoever takes over removes what was staged here.
                self.table.refresh()
                self._refuse_replaced()
                raise
        raise self._busy()

    def _attempt(self, write: Write, epoch: int) -> bool:
        """Whether a commit went through; another one may have come before it."""
        from pyiceberg.exceptions import CommitFailedException

        context = self._context
        said = {
            "headrace.job": context.job,
            "headrace.sink": context.name,
            "headrace.epoch": str(epoch),
            "headrace.term": str(context.term),
        }
        # Of this object alone, not of the table.
        self.table.metadata.properties["commit.retry.num-retries"] = "0"
        try:
            # A delete that finds nothing warns.
            with warnings.catch_warnings(action="ignore"), self.table.transaction() as transaction:
                write(transaction, said)
                transaction.set_properties({self._state: f"{epoch}/{context.term}"})
        except CommitFailedException:
            return False
        return True

    def _stored(self) -> tuple[int, int]:
        """The last epoch, and the start of the job that wrote it."""
        epoch, _, term = self.table.properties.get(self._state, "-1/0").partition("/")
        return int(epoch), int(term)

    def _make(self, schema: Struct, partition_by: list[str], properties: dict[str, str]) -> None:
        from pyiceberg.exceptions import TableAlreadyExistsError

        namespace = self.place.name.rsplit(".", 1)[0]
        self._catalog.create_namespace_if_not_exists(namespace)
        columns = iceberg_schema(schema)
        given = {**properties, MADE: self._context.job}
        with suppress(TableAlreadyExistsError):  # somebody else was quicker
            self._catalog.create_table(self.place.name, columns, partition_spec=_spec(columns, partition_by), properties=given)

    def _owner(self) -> dict[str, str]:
        context = self._context
        owner = {"sink": context.name, "checkpoint": context.checkpoint_id, "query": context.query}
        return {f"{JOB}{context.job}": json.dumps(owner, sort_keys=True)}

    def _to_be_emptied(self) -> bool:
        """Whether the table is to be emptied for a fresh start; complains where another checkpoint writes it."""
        context = self._context
        properties = self.table.properties
        name = f"{JOB}{context.job}"
        found = properties.get(name)
        before = None if found is None else json.loads(found)
        if before is None or (before["checkpoint"], before["query"]) == (context.checkpoint_id, context.query):
            return False
        if not context.fresh:
            raise CheckpointError(
                "TABLE_OWNED",
                f"{self.place.name} holds what sink {before['sink']} of job {context.job} wrote from another checkpoint or query",
                hint="write to another table, go on from the checkpoint that wrote it, or start with fresh=True, which empties the table",
            )
        if properties.get(MADE) != context.job or any(key.startswith(JOB) and key != name for key in properties):
            raise CheckpointError(
                "TABLE_OWNED",
                f"with fresh=True what job {context.job} wrote to {self.place.name} would have to go, and it holds rows of others too",
                hint="delete those rows from the table, and write to another one until then",
            )
        return True

    def _refuse_replaced(self) -> None:
        if self._stored()[1] > self._context.term:
            raise CheckpointError(
                "SINK_FENCED",
                f"{self._context.name}: another process has taken over the job {self._context.job} and writes {self.place.name} now",
                hint="this process was held up for so long that it was replaced; nothing of it was written since",
            )

    def _busy(self) -> HeadraceError:
        return ConnectorError(
            "TABLE_BUSY",
            f"{self._context.name}: {_TRIES} commits to {self.place.name} were each overtaken by one of another writer",
            hint="the next start writes the epoch again; fewer writers, or longer epochs (every=), get in each other's way less",
        )


def check(name: str, table: Table, schema: Struct, partition_by: list[str], add: bool) -> list[Field]:
    """Complain where what a sink writes would not be what the table has; gives the columns that it lacks."""
    parts = [(table.schema().find_column_name(field.source_id), str(field.transform)) for field in table.spec().fields]
    if parts != [(column, "identity") for column in partition_by]:
        has = ", ".join(f"{column} ({transform})" for column, transform in parts) or "nothing"
        raise _unfit(
            name, f"it is partitioned by {has}, not by {', '.join(partition_by) or 'nothing'}", "partition_by= names the table's own"
        )
    columns = columns_of(table)
    by_name = {field.name: field for field in columns.fields}
    missing = []
    for field in schema.fields:
        known = by_name.get(field.name)
        if known is None and columns.get(field.name) is not None:
            near = next(one for one in by_name if one.lower() == field.name.lower())
            raise _unfit(name, f"its column {near} is spelled {field.name} here", f"rename({{{field.name!r}: {near!r}}})")
        if known is None:
            if not add:
                raise _unfit(name, f"it has no column {field.name}", 'schema="add" adds columns to a table')
            missing.append(field)
        elif plain(known.type) != plain(field.type):
            cast = f'with_columns({field.name}="cast({field.name} as {known.type})")'
            raise _unfit(name, f"its column {field.name} is {known.type}, not {field.type}", cast)
        elif field.nullable and not known.nullable:
            raise _unfit(name, f"its column {field.name} cannot be null, and here it can", f"the table says that {field.name} is required")
    given = {field.name for field in schema.fields}
    for field in columns.fields:
        if field.name not in given and not field.nullable:
            raise _unfit(
                name, f"its column {field.name} cannot be null, and is not written here", f"the table says that {field.name} is required"
            )
    return missing


def _spec(columns: object, partition_by: list[str]) -> PartitionSpec:
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.transforms import IdentityTransform

    assert isinstance(columns, Schema)
    fields = (
        PartitionField(columns.find_field(name).field_id, 1000 + number, IdentityTransform(), name)
        for number, name in enumerate(partition_by)
    )
    return PartitionSpec(*fields)


def _unfit(name: str, why: str, hint: str) -> ConnectorError:
    return ConnectorError("TABLE_SCHEMA", f"the table {name} does not fit: {why}", hint=hint)
