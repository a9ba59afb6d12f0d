"""A Delta table as one sink writes it: its ownership, and one transaction per epoch.

Three application transactions in the table's log make it exactly once; each commit carries all of them. `headrace/CHECKPOINT/QUERY` has the
number of the last epoch and `.../identity` the first 60 bits of its identity, which detect a repeated epoch. `.../term` has the number of
the start: each start writes its own before all else. Delta refuses two concurrent commits that carry the same application, so a replaced
process cannot commit from an old state, and its next read shows the newer term.

A table that was restored to an older version keeps the transactions of newer versions; only its log shows that their rows are gone.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from headrace import ports
from headrace.connectors.delta.columns import columns_of, delta_field, delta_schema, same
from headrace.connectors.delta.log import actions, entry
from headrace.connectors.delta.place import Place
from headrace.connectors.lake import epochs
from headrace.connectors.lake.epochs import CREATOR, LOOKS, TRIES
from headrace.connectors.lake.fitting import lacking, unfitting
from headrace.errors import ConnectorError
from headrace.masking import masked_problem
from headrace.ports import Held
from headrace.schema import Struct

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable

Write = Callable[["DeltaTable", "CommitProperties"], object]
Commit = list[dict[str, Any]]

# The number of an identity's hexadecimal digits that fit into the version of an application, a long.
_DIGITS = 15

# Features that ask nothing of a writer of Parquet files.
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

    versions = "version"

    def __init__(self, place: Place, context: ports.SinkContext) -> None:
        super().__init__(place, context)
        self.place = place
        self._application = f"headrace/{context.checkpoint_id}/{context.query}"
        self._applications = (self._application, f"{self._application}/identity", f"{self._application}/term")
        self._table: DeltaTable | None = None

    @property
    def table(self) -> DeltaTable:
        if self._table is None:
            self._table = self.place.table()
        return self._table

    @cached_property
    def _files(self) -> Any:
        return self.place.files()

    def exists(self) -> bool:
        return self.place.exists()

    def term_of(self, query: str) -> int:
        return int(self.table.transaction_version(f"headrace/{self._context.checkpoint_id}/{query}/term") or 0)

    def refresh(self) -> None:
        if self._logged():
            self.table.update_incremental()
        else:
            self._table = self.place.table()
        self.state = self._carried_state()

    def named(self, epochs: set[int]) -> set[str]:
        names = set[str]()
        for _, commit in self._commits():
            epoch = _carried(commit).get(self._application)
            if epoch is not None and epoch < min(epochs):
                break
            if epoch in epochs:
                names.update(posixpath.basename(unquote(action["add"]["path"])) for action in commit if "add" in action)
        return names

    def claim(self, schema: Struct, *, partition_by: list[str], properties: dict[str, str], add: bool) -> None:
        for _ in range(TRIES):
            if not self.place.exists():
                if self._create(schema, partition_by, properties):
                    self._own.wrote(-1, "")
                    return
                continue
            self._table = self.place.table()
            self.refresh()
            self._own.refuse_successor(self.state.term)
            if self._commit(self._taken(schema, partition_by, add)) and self._widened(schema):
                return
        raise self._busy()

    def tidy(self, write: Write) -> None:
        """A commit that changes no rows; it is skipped if another commit overtakes it."""
        self.check_term()
        self._commit(write)

    def _commit_properties(self, mark: ports.Mark) -> CommitProperties:
        """The properties that every commit of this sink carries."""
        from deltalake import CommitProperties, Transaction

        context = self._context
        versions = (mark.epoch, int(mark.identity[:_DIGITS] or "0", 16), context.term)
        return CommitProperties(
            app_transactions=[Transaction(name, version) for name, version in zip(self._applications, versions, strict=True)],
            custom_metadata={"headrace.job": context.job, "headrace.sink": context.name, "headrace.epoch": str(mark.epoch)},
        )

    def _attempt(self, write: Write, mark: ports.Mark) -> bool:
        from deltalake.exceptions import CommitFailedError

        try:
            write(self.table, self._commit_properties(mark))
        except CommitFailedError:
            return False
        return True

    def _carried_state(self) -> Held:
        """The state carried by the commits that the table's rows come from."""
        carried: dict[str, int] = {}
        for _, commit in self._commits():
            # before identities existed, the commit of a start carried only the term
            carried = {**_carried(commit), **carried}
            if self._application in carried:
                break
        return self._state(carried)

    def _state(self, carried: dict[str, int]) -> Held:
        epoch, identity, term = (carried.get(name) for name in self._applications)
        mark = ports.Mark() if epoch is None else ports.Mark(epoch, f"{identity:0{_DIGITS}x}" if identity else "")
        return Held(mark, term or 0)

    def _history(self) -> Iterator[tuple[int, Held | None, bool]]:
        for version, commit in self._commits():
            if version >= 0:
                carried = _carried(commit)
                yield version, self._state(carried) if self._application in carried else None, any(map(_changes, commit))

    def _lacking(self, version: int) -> str | None:
        import pyarrow as pa
        from pyarrow.fs import FileType

        then, now = (set(pa.table(table.get_add_actions())["path"].to_pylist()) for table in (self.place.table(version), self.table))
        infos = self._files.get_file_info(sorted(path for path in then - now if "://" not in path))
        return next((info.path for info in infos if info.type == FileType.NotFound), None)

    def _restore(self, version: int, mark: ports.Mark) -> bool:
        return self._attempt(lambda table, commit_properties: table.restore(version, commit_properties=commit_properties), mark)

    def _commits(self) -> Iterator[tuple[int, Commit]]:
        """The commits that the table's rows come from, newest first, with their versions. The last one, -1, replaces those whose log
        entries are gone: it carries the transactions that the table remembers of them.
        """
        version = self.table.version()
        for _ in range(LOOKS):
            try:
                commit = actions(self._files, version)
            except FileNotFoundError:
                break
            yield version, commit
            version = self._before(version, commit)
            if version < 0:
                return
        remembered = ((name, self.table.transaction_version(name)) for name in self._applications)
        yield -1, [{"txn": {"appId": name, "version": version}} for name, version in remembered if version is not None]

    @staticmethod
    def _before(version: int, commit: Commit) -> int:
        """The version that a commit builds on: the one before it, or the one that it restores; -1 if none is known."""
        info: dict[str, Any] = next((action["commitInfo"] for action in commit if "commitInfo" in action), {})
        operation, parameters = info.get("operation", ""), info.get("operationParameters") or {}
        if operation == "RESTORE":
            # a restore by time does not record the version
            restored = parameters.get("version")
            return -1 if restored is None else int(restored)
        return -1 if "REPLACE TABLE" in operation else version - 1

    def _logged(self) -> bool:
        """Whether the log still has the version of the last look. If not, the table is gone or was replaced."""
        from pyarrow.fs import FileType

        return bool(self._files.get_file_info(entry(self.table.version())).type == FileType.File)

    def _create(self, schema: Struct, partition_by: list[str], properties: dict[str, str]) -> bool:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        context = self._context
        try:
            self._table = DeltaTable.create(
                self.place.uri,
                delta_schema(schema),
                partition_by=partition_by,
                configuration={**properties, CREATOR: context.job, **self._owner},
                storage_options=self.place.options(),
                commit_properties=self._commit_properties(ports.Mark()),
                raise_if_key_not_exists=False,
            )
        except DeltaError as problem:
            if self.place.exists():
                return False  # another writer was faster
            raise self.place.unreadable(problem) from masked_problem(problem)
        return True

    def _taken(self, schema: Struct, partition_by: list[str], add: bool) -> Write:
        """The commit that takes the table over: with only the term, also with the owner's name, or for a fresh start without any earlier
        rows.
        """
        owner, settings = self._owner, self._properties()
        if self._to_be_emptied(settings):
            fresh = delta_schema(schema)

            def empty(table: DeltaTable, commit_properties: CommitProperties) -> None:
                table.create_write_transaction([], "overwrite", fresh, partition_by=partition_by, commit_properties=commit_properties)
                self._table = self.place.table()
                self.table.alter.set_table_properties(
                    owner, raise_if_not_exists=False, commit_properties=self._commit_properties(self.state.mark)
                )

            return empty
        self._check(schema, partition_by, add)
        if not owner.items() <= settings.items():
            return lambda table, commit_properties: table.alter.set_table_properties(
                owner, raise_if_not_exists=False, commit_properties=commit_properties
            )
        return carry

    def _properties(self) -> Mapping[str, str]:
        return self.table.metadata().configuration

    def _check(self, schema: Struct, partition_by: list[str], add: bool) -> None:
        check(self.place.path, self.table, schema, partition_by, add)

    def _widened(self, schema: Struct) -> bool:
        self._table = self.place.table()
        columns = columns_of(self.table)
        missing = [delta_field(field) for field in schema.fields if columns.get(field.name) is None]
        if missing:

            def add(table: DeltaTable, commit_properties: CommitProperties) -> None:
                from deltalake.schema import Field

                table.alter.add_columns([Field.from_json(json.dumps(field)) for field in missing], commit_properties=commit_properties)

            committed = self._commit(add)
            self._table = self.place.table()
            return committed
        return True


def carry(table: DeltaTable, commit_properties: CommitProperties) -> None:
    """A commit without rows, for the transactions that it carries."""
    by = list(table.metadata().partition_columns)
    table.create_write_transaction([], "append", table.schema(), partition_by=by, commit_properties=commit_properties)


def _carried(commit: Commit) -> dict[str, int]:
    """The applications of a commit, and their versions."""
    carried = (action["txn"] for action in commit if "txn" in action)
    return {one["appId"]: int(one["version"]) for one in carried}


def _changes(action: dict[str, Any]) -> bool:
    """Whether an action of a commit changes rows, or the table's metadata or protocol."""
    return any(action.get(what, {}).get("dataChange") for what in ("add", "remove")) or "metaData" in action or "protocol" in action


def check(path: str, table: DeltaTable, schema: Struct, partition_by: list[str], add: bool) -> None:
    """Raise if a sink's output would not match the table."""
    protocol, described = table.protocol(), table.metadata()
    settings = described.configuration
    asks = [f"the feature {name}" for name in protocol.writer_features or () if name not in _FEATURES]
    asks += ["column mapping"] if settings.get("delta.columnMapping.mode", "none") != "none" else []
    asks += [f"the constraint {name[18:]}" for name in settings if name.startswith("delta.constraints.")]
    asks += [
        f"the metadata of column {field.name}"
        for field in table.schema().fields
        if any(name.startswith("delta.") and name != "delta.columnMapping.id" for name in field.metadata)
    ]
    if asks:
        raise ConnectorError(
            "TABLE_FEATURE",
            f"the table {path} requires features that this sink does not support: {', '.join(asks)}",
            hint="write to a table without them",
        )
    if list(described.partition_columns) != partition_by:
        has = ", ".join(described.partition_columns) or "nothing"
        raise unfitting(
            path,
            f"it is partitioned by {has}, not by {', '.join(partition_by) or 'nothing'}",
            f"partition_by={described.partition_columns}",
        )
    lacking(path, columns_of(table), schema, same, add=add)
