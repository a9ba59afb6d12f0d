"""An Iceberg table as one sink writes it: its ownership, and one commit per epoch.

A property of the table, `headrace.epoch.CHECKPOINT.QUERY`, has the last epoch, the start of the job that wrote it, and its identity:
"7/2/5f1c..."; it changes in the same commit as the rows. The summary of each snapshot has the same text and takes precedence, since a table
that was rolled back to an older snapshot keeps the property. Once the snapshot has expired, the property counts.

Each start makes a snapshot of its own before all else. A replaced process commits from a snapshot that is no longer the newest, which the
catalog refuses, and its next read shows the newer start. (pyiceberg's own retries are off: they would put the same rows on top of the newer
snapshot.)
"""

from __future__ import annotations

import posixpath
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from headrace import ports
from headrace.connectors.iceberg.columns import columns_of, iceberg_schema, iceberg_type, plain
from headrace.connectors.iceberg.place import Place
from headrace.connectors.lake import epochs
from headrace.connectors.lake.epochs import CREATOR, TRIES
from headrace.connectors.lake.fitting import lacking, unfitting
from headrace.ports import Held
from headrace.schema import Field, Struct

if TYPE_CHECKING:
    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.table import Table, Transaction
    from pyiceberg.table.snapshots import Snapshot

Write = Callable[["Transaction", dict[str, str]], None]


class Epochs(epochs.Epochs[Write]):
    """The epochs of one sink in the properties and snapshots of its table."""

    versions = "snapshot"

    def __init__(self, place: Place, context: ports.SinkContext) -> None:
        super().__init__(place, context)
        self.place = place
        self._property = f"headrace.epoch.{context.checkpoint_id}.{context.query}"
        self._catalog = place.catalog()
        self.table: Table

    def exists(self) -> bool:
        return self.place.exists(self._catalog)

    def refresh(self) -> None:
        self.table = self.place.table(self._catalog)
        self.state = self._stored()

    def named(self, epochs: set[int]) -> set[str]:
        known = {one.snapshot_id: one for one in self.table.metadata.snapshots}
        snapshot, missing, file_names = self.table.current_snapshot(), set(epochs), set[str]()
        while snapshot is not None and missing:
            properties = {} if snapshot.summary is None else snapshot.summary.additional_properties
            epoch = int(properties.get("headrace.epoch", "-1"))
            if properties.get("headrace.job") == self._context.job and epoch in missing:
                names = {posixpath.basename(path) for path in self._added(snapshot)}
                file_names |= names
                # A start's own snapshot has the same epoch, and adds nothing.
                missing -= {epoch} if names else set()
            parent = snapshot.parent_snapshot_id
            snapshot = None if parent is None else known.get(parent)
        return file_names

    def claim(self, schema: Struct, *, partition_by: list[str], properties: dict[str, str], add: bool) -> None:
        for _ in range(TRIES):
            if not self.exists():
                self._make(schema, partition_by, properties)
            self.refresh()
            self._own.refuse_successor(self.state.term)
            if self._to_be_emptied(self._properties()):
                self._context.held()
                self._catalog.purge_table(self.place.name)
                continue
            missing = self._check(schema, partition_by, add)

            def take(transaction: Transaction, snapshot_properties: dict[str, str], missing: list[Field] = missing) -> None:
                if missing:
                    with transaction.update_schema() as update:
                        for field in missing:
                            update.add_column(field.name, iceberg_type(field.type, field.name))
                transaction.set_properties(self._owner)

            if self._commit(take):
                return
        raise self._busy()

    def _properties(self) -> Mapping[str, str]:
        return self.table.properties

    def _check(self, schema: Struct, partition_by: list[str], add: bool) -> list[Field]:
        return check(self.place.name, self.table, schema, partition_by, add)

    def _attempt(self, write: Write, mark: ports.Mark) -> bool:
        from pyiceberg.exceptions import CommitFailedException

        context, before = self._context, self.table.metadata.current_snapshot_id
        state = {self._property: f"{mark.epoch}/{context.term}/{mark.identity}"}
        snapshot_properties = {
            "headrace.job": context.job,
            "headrace.sink": context.name,
            "headrace.epoch": str(mark.epoch),
            "headrace.term": str(context.term),
            **state,
        }
        # Set on this object only, not in the table.
        self.table.metadata.properties["commit.retry.num-retries"] = "0"
        try:
            # A delete that finds nothing warns.
            with warnings.catch_warnings(action="ignore"), self.table.transaction() as transaction:
                write(transaction, snapshot_properties)
                if transaction.table_metadata.current_snapshot_id == before:
                    with transaction.update_snapshot(snapshot_properties).fast_append():
                        pass  # the same files in a new snapshot: a process that knows only the one before can no longer commit
                transaction.set_properties(state)
        except CommitFailedException:
            return False
        return True

    def _added(self, snapshot: Snapshot) -> Iterator[str]:
        for manifest in snapshot.manifests(self.table.io):
            if manifest.added_snapshot_id == snapshot.snapshot_id:
                for entry in manifest.fetch_manifest_entry(self.table.io):
                    yield entry.data_file.file_path

    def _stored(self) -> Held:
        from pyiceberg.table.snapshots import ancestors_of

        snapshots = ancestors_of(self.table.current_snapshot(), self.table.metadata)
        summaries = (snapshot.summary.additional_properties for snapshot in snapshots if snapshot.summary is not None)
        newest = next((summary for summary in summaries if self._property in summary), self.table.properties)
        return _state(newest.get(self._property, "-1/0"))

    def _history(self) -> Iterator[tuple[int, Held | None, bool]]:
        from pyiceberg.table.snapshots import Operation, ancestors_of

        for snapshot in ancestors_of(self.table.current_snapshot(), self.table.metadata):
            summary = snapshot.summary
            properties = {} if summary is None else summary.additional_properties
            state = _state(properties[self._property]) if self._property in properties else None
            # compaction changes no rows
            yield snapshot.snapshot_id, state, summary is None or summary.operation != Operation.REPLACE

    def _lacking(self, version: int) -> str | None:
        # a snapshot's files are removed when it expires, and then it is no longer found
        return None

    def _restore(self, version: int, mark: ports.Mark) -> bool:
        def back(transaction: Transaction, snapshot_properties: dict[str, str]) -> None:
            from pyiceberg.table.update.snapshot import ManageSnapshots

            ManageSnapshots(transaction).set_current_snapshot(snapshot_id=version)

        return self._attempt(back, mark)

    def _make(self, schema: Struct, partition_by: list[str], properties: dict[str, str]) -> None:
        from pyiceberg.exceptions import TableAlreadyExistsError

        namespace = self.place.name.rsplit(".", 1)[0]
        self._catalog.create_namespace_if_not_exists(namespace)
        columns = iceberg_schema(schema)
        table_properties = {**properties, CREATOR: self._context.job}
        with suppress(TableAlreadyExistsError):  # another writer was faster
            self._catalog.create_table(self.place.name, columns, partition_spec=_spec(columns, partition_by), properties=table_properties)


def _state(text: str) -> Held:
    epoch, term, *identity = text.split("/")
    return Held(ports.Mark(int(epoch), "".join(identity)), int(term))


def check(name: str, table: Table, schema: Struct, partition_by: list[str], add: bool) -> list[Field]:
    """The columns that the table lacks. Raises if a sink's output would not match the table."""
    parts = [(table.schema().find_column_name(field.source_id), str(field.transform)) for field in table.spec().fields]
    if parts != [(column, "identity") for column in partition_by]:
        has = ", ".join(f"{column} ({transform})" for column, transform in parts) or "nothing"
        raise unfitting(
            name, f"it is partitioned by {has}, not by {', '.join(partition_by) or 'nothing'}", "set partition_by= to the table's own"
        )
    return lacking(name, columns_of(table), schema, lambda one, other: plain(one) == plain(other), add=add)


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
