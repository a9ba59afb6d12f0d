"""A Delta table as one sink writes it: whose it is, and one transaction an epoch.

Two application transactions in the table's log keep it exactly once. `headrace/CHECKPOINT/QUERY` has the number of the last epoch, so
that one that comes again is known. `.../term` has the number of the process: each start writes its own before all else, and each epoch
carries it. Delta refuses two commits at once that carry the same application, so a process that was replaced cannot commit from what it
knew before, and what it reads anew tells it that it was replaced.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import unquote

from headrace import ports
from headrace.connectors.delta.columns import columns_of, delta_field, delta_schema, same
from headrace.connectors.delta.log import actions
from headrace.connectors.delta.place import Place
from headrace.connectors.lake import epochs
from headrace.connectors.lake.epochs import LOOKS, MADE, TRIES
from headrace.connectors.lake.fitting import lacking, unfitting
from headrace.errors import ConnectorError
from headrace.masking import masked_problem
from headrace.schema import Struct

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable

Write = Callable[["DeltaTable", "CommitProperties"], object]

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


class Epochs(epochs.Epochs[Write]):
    """The epochs of one sink in the log of its table."""

    def __init__(self, place: Place, context: ports.SinkContext) -> None:
        super().__init__(place, context)
        self.place = place
        self._application = f"headrace/{context.checkpoint_id}/{context.query}"
        self._table: DeltaTable | None = None

    @property
    def table(self) -> DeltaTable:
        if self._table is None:
            self._table = self.place.table()
        return self._table

    @property
    def last(self) -> int:
        found = self.table.transaction_version(self._application)
        return -1 if found is None else int(found)

    @property
    def term(self) -> int:
        return self.term_of(self._context.query)

    def term_of(self, query: str) -> int:
        return int(self.table.transaction_version(f"headrace/{self._context.checkpoint_id}/{query}/term") or 0)

    def refresh(self) -> None:
        self.table.update_incremental()

    def named(self, epochs: set[int]) -> set[str]:
        files, newest, missing, found = self.place.files(), self.table.version(), set(epochs), set[str]()
        for version in range(newest, max(newest - LOOKS, -1), -1):
            try:
                each = actions(files, version)
            except FileNotFoundError:
                break
            carried = [int(action["txn"]["version"]) for action in each if action.get("txn", {}).get("appId") == self._application]
            if missing.intersection(carried):
                found.update(posixpath.basename(unquote(action["add"]["path"])) for action in each if "add" in action)
                missing.difference_update(carried)
            if not missing:
                break
        return found

    def claim(self, schema: Struct, *, partition_by: list[str], properties: dict[str, str], add: bool) -> None:
        for _ in range(TRIES):
            if not self.place.exists():
                if self._made(schema, partition_by, properties):
                    return
                continue
            self._table = self.place.table()
            self._refuse_replaced()
            if self._attempt(self._taken(schema, partition_by, add)) and self._widened(schema):
                return
        raise self._busy()

    def tidy(self, write: Write) -> None:
        """A commit that changes no rows; one that is overtaken is left out."""
        self.refresh()
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
                configuration={**properties, MADE: context.job, **self._owner},
                storage_options=self.place.options(),
                commit_properties=self.said(),
                raise_if_key_not_exists=False,
            )
        except DeltaError as problem:
            if self.place.exists():
                return False  # somebody else was quicker
            raise self.place.unreadable(problem) from masked_problem(problem)
        return True

    def _taken(self, schema: Struct, partition_by: list[str], add: bool) -> Write:
        """What takes the table over: nothing but the term, the owner's name too, or with a fresh start all that was written before."""
        table, owner = self.table, self._owner
        settings = table.metadata().configuration
        if self._to_be_emptied(settings):
            fresh = delta_schema(schema)

            def empty(table: DeltaTable, said: CommitProperties) -> None:
                table.create_write_transaction([], "overwrite", fresh, partition_by=partition_by, commit_properties=said)
                self._table = self.place.table()
                self.table.alter.set_table_properties(owner, raise_if_not_exists=False, commit_properties=self.said())

            return empty
        check(self.place.path, table, schema, partition_by, add)
        if not owner.items() <= settings.items():
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
        raise unfitting(
            path,
            f"it is partitioned by {has}, not by {', '.join(partition_by) or 'nothing'}",
            f"partition_by={described.partition_columns}",
        )
    lacking(path, columns_of(table), schema, same, add=add)
