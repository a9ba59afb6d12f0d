"""The Delta sink: tasks write Parquet files to their final place, and the driver commits those of an epoch in one transaction."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from headrace import ports
from headrace.connectors.delta.columns import delta_schema
from headrace.connectors.delta.merge import merge
from headrace.connectors.delta.place import NEEDS, Place, storage_of
from headrace.connectors.delta.stats import statistics
from headrace.connectors.delta.table import Epochs, Write
from headrace.connectors.lake.sink import TableSink
from headrace.connectors.lake.stores import Options
from headrace.ports import option, paths
from headrace.ports.options import wrong
from headrace.schema import Struct, Type
from headrace.syntax import quote

if TYPE_CHECKING:
    from deltalake.transaction import AddAction, RemoveAction
    from pyspark.sql import DataFrame, SparkSession

_VERB = "write.delta"
_HOUR = 3_600_000


class Sink(ports.Options, TableSink):
    """Writes a Delta table exactly once: each epoch is one transaction of the table.

    Readers see an epoch as a whole or not at all. A missing table is created when the job starts. A stream with retractions needs a `key`,
    by which rows are replaced and deleted, or `mode="changes"`. The table stores its last epoch, so a start detects that the checkpoint or
    the table was restored from a backup (`CHECKPOINT_BEHIND`, `TABLE_REPLACED`). Needs `pip install "headrace[delta]"`.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 1)], "card string, amount int", name="charges")
        >>> hr.job("copy", charges.write.delta("out/charges", partition_by="card"))
        <Job copy: charges.delta>
    """

    connector: ClassVar[str] = "delta"
    kind: ClassVar[str] = "a Delta table"
    unparted: ClassVar[tuple[str, ...]] = ("binary",)

    stored: ClassVar[str] = "always"

    path: str = option.path("the folder or address of the table", example="out/charges", kw_only=False)
    key: tuple[str, ...] = option.columns(
        "a unique key: a row replaces the row with the same key, and a retraction deletes it", default=None
    )
    partition_by: tuple[str, ...] = option.columns(
        "columns whose values name the folders; a row whose value cannot be a folder name is a "
        "[dead letter](../guides/outputs.md#rows-that-a-sink-cannot-write)",
        default=(),
    )
    schema: str = option.choice(
        'for columns that the table lacks: `"add"` adds them, `"keep"` refuses them ([TABLE_SCHEMA](../errors/TABLE_SCHEMA.md))',
        ("keep", "add"),
        default="keep",
    )
    compact_every: int | None = option.number("compact small files after this many epochs", default=None)
    vacuum: int | None = option.duration(
        'how long old files are kept, at least 1 hour: with `"7 days"`, files that no version of the last 7 days needs are deleted at the '
        "start and after each compaction",
        called="`vacuum` of the sink",
        least=_HOUR,
        why="it is at least an hour, because readers may still use the files",
        key="vacuum",
        default=None,
    )
    properties: dict[str, str] = option.texts(
        'the properties of a new table: `{"delta.enableChangeDataFeed": "true"}`', takes=Mapping[str, str], default=None
    )
    storage_options: Options = option.option(
        'how deltalake accesses an object store; secrets by name: `{"AWS_SECRET_ACCESS_KEY": hr.secret("AWS_SECRET_ACCESS_KEY")}`',
        storage_of,
        takes=Mapping[str, Any],
        default=None,
        empty=dict,
    )

    def __post_init__(self) -> None:
        self.place: Place = Place(self.path, self.storage_options)
        self._epochs: Epochs

    @property
    def traits(self) -> ports.SinkTraits:
        if self.key:
            why = "each epoch is merged in one transaction of the table, which stores its number"
        else:
            why = "each epoch is one transaction of the table, which stores its number"
        return ports.SinkTraits(
            "transactional",
            why,
            ("append", "upsert"),
            replaces=True,
            cleans="the next start deletes the files of killed tasks; vacuum= deletes old versions",
            marks=True,
            rewinds=True,
            swaps=True,
        )

    @property
    def needs(self) -> ports.Packages:
        return NEEDS

    @property
    def owns(self) -> str:
        return os.path.realpath(self.place.uri) if self.place.local else self.place.uri

    @classmethod
    def called(cls, options: Mapping[str, Any]) -> str:
        return paths.last(options["path"])

    def check(self, columns: tuple[str, ...]) -> None:
        super().check(columns)
        if len(set(self.partition_by)) == len(columns):
            raise wrong(f"{_VERB}: partition_by names every column", "the files need at least one column that is not in the folder names")

    def may_open(self, context: ports.SinkContext) -> None:
        why = paths.unwritable(Path(self.place.uri)) if self.place.local else None
        if why is not None:
            raise self.place.unreadable(OSError(why))
        super().may_open(context)

    def recover(self) -> None:
        super().recover()
        self._clean()

    def stage(self) -> dict[str, Any]:
        stage = {"kind": "files", "format": "parquet", "options": {"timeZone": "UTC"}, "years": True, "folder": self.place.hadoop}
        if self.key:
            return {**stage, "partition_by": []}
        return {**stage, "partition_by": list(self.partition_by), "prefix": self._prefix}

    def commit(self, epoch: int, staged: ports.Staged) -> None:
        super().commit(epoch, staged)
        if (staged.count or staged.whole) and self.compact_every is not None and (epoch + 1) % self.compact_every == 0:
            self._compact()

    def elsewhere(self, place: ports.Elsewhere) -> Sink:
        return self.from_options({**self.options(), "path": str(place.folder), "storage_options": {}})

    def contents(self, session: SparkSession, schema: Struct, mode: str) -> DataFrame:
        if not self.place.exists():
            return session.createDataFrame([], schema.ddl)
        table = self.place.table().to_pyarrow_table()
        there = [name for name in schema.names if name in table.column_names]
        rows = session.createDataFrame(table.select(there))
        # the table may get a column with the next epoch
        texts = {field.name: quote(field.name) if field.name in there else "NULL" for field in schema.fields}
        return rows.selectExpr(*(f"CAST({texts[field.name]} AS {field.type.text}) AS {quote(field.name)}" for field in schema.fields))

    def _open_epochs(self, context: ports.SinkContext) -> Epochs:
        return Epochs(self.place, context)

    def _file_system(self) -> Any:
        return self.place.files()

    def suits(self, name: str, schema: Struct) -> None:
        delta_schema(schema)
        super().suits(name, schema)

    def _merged(self, paths: Sequence[str], *, whole: bool) -> Write:
        if not paths:
            return self._added((), whole=whole)
        schema, rows = self._context.schema, self._net(paths)
        return lambda table, commit_properties: merge(table, rows(), self._by, schema, commit_properties, whole=whole)

    def _added(self, files: Sequence[Mapping[str, Any]], *, whole: bool) -> Write:
        actions = cache(lambda: self._actions(files))
        by = list(self.partition_by)
        return lambda table, commit_properties: table.create_write_transaction(
            actions(), "overwrite" if whole else "append", table.schema(), partition_by=by, commit_properties=commit_properties
        )

    def _actions(self, files: Sequence[Mapping[str, Any]]) -> list[AddAction | RemoveAction]:
        """The files of an epoch as actions for the table's log."""
        from concurrent.futures import ThreadPoolExecutor

        schema = self._context.schema
        inside = Struct(tuple(field for field in schema.fields if field.name not in self.partition_by))

        def action(file: Mapping[str, Any]) -> AddAction:
            from deltalake.transaction import AddAction
            from pyarrow.parquet import read_metadata

            file_statistics = statistics(read_metadata(file["path"], filesystem=self._files), inside)
            values = zip(self.partition_by, file["partition"], strict=True)
            parts = {name: _partition(text, schema.get(name)) for name, text in values}
            return AddAction(file["path"], file["bytes"], parts, time.time_ns() // 1_000_000, True, file_statistics)

        with ThreadPoolExecutor(8) as readers:
            return list(readers.map(action, files))

    def _compact(self) -> None:
        self._epochs.tidy(lambda table, commit_properties: table.optimize.compact(commit_properties=commit_properties))
        self._clean()

    def _clean(self) -> None:
        if self.vacuum is not None:
            hours = -(-self.vacuum // _HOUR)
            self._epochs.tidy(
                lambda table, commit_properties: table.vacuum(hours, dry_run=False, enforce_retention_duration=False, full=True)
            )


def _partition(text: str | None, kind: Type | None) -> str | None:
    """A folder's value as in the log: timestamps with a zone, and null for empty texts, as in Delta."""
    if text and kind is not None and kind.text in ("timestamp", "timestamp_ltz"):
        return text.replace(" ", "T") + "Z"
    return text or None
