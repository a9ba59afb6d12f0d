"""The Delta sink: tasks write Parquet files where they are to stay, the driver commits those of an epoch in one transaction."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from headrace import ports
from headrace.connectors.delta.columns import delta_schema
from headrace.connectors.delta.merge import merge
from headrace.connectors.delta.place import NEEDS, place
from headrace.connectors.delta.stats import statistics
from headrace.connectors.delta.table import Epochs, Write
from headrace.connectors.lake.staged import staged_rows
from headrace.connectors.lake.stores import stored
from headrace.errors import HeadraceError
from headrace.points import point
from headrace.ports.options import choice, number, texts, wrong
from headrace.schema import Array, Map, Struct, Type, milliseconds

if TYPE_CHECKING:
    from deltalake.transaction import AddAction, RemoveAction
    from pyspark.sql import SparkSession

_VERB = "write.delta"
_HOUR = 3_600_000
_STAGING = "_headrace/staging"


class Sink(ports.Sink):
    """A Delta table that holds each row once, also after crashes: an epoch is one transaction of the table.

    With a `key` each row takes the place of the one with the same key, and rows that are taken away are deleted. `partition_by` makes a
    folder per value. `schema="add"` adds the columns that the table lacks. `compact_every` puts small files together after so many
    epochs, and `vacuum` ("7 days") removes files that no version younger than that needs, at the start and after each compaction.
    `properties` are those that a new table gets. `storage_options` say to deltalake how a store is reached.

    >>> import headrace as hr
    >>> charges = hr.read.memory([("a", 1)], "card string, amount int", name="charges")
    >>> hr.job("copy", charges.write.delta("out/charges", partition_by="card"))
    <Job copy: charges.delta>
    """

    connector: ClassVar[str] = "delta"

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        key: str | Sequence[str] | None = None,
        partition_by: str | Sequence[str] = (),
        schema: str = "keep",
        compact_every: int | None = None,
        vacuum: str | timedelta | None = None,
        properties: Mapping[str, str] | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.place = place(_VERB, path, storage_options)
        self._key = () if key is None else (key,) if isinstance(key, str) else tuple(key)
        self.partition_by = (partition_by,) if isinstance(partition_by, str) else tuple(partition_by)
        self.schema = choice(_VERB, "schema", schema, ("keep", "add"))
        self.compact_every = None if compact_every is None else number(_VERB, "compact_every", compact_every)
        self.vacuum = None if vacuum is None else milliseconds(vacuum, "vacuum of a Delta sink")
        if self.vacuum is not None and self.vacuum < _HOUR:
            raise wrong(
                f"{_VERB}: vacuum cannot be {vacuum!r}", "it is an hour at least: files that a reader has just begun with must stay"
            )
        self.properties = texts(_VERB, "properties", properties or {})

    @property
    def traits(self) -> ports.SinkTraits:
        if self._key:
            why = "each epoch is merged in one transaction of the table, which carries its number"
        else:
            why = "each epoch is one transaction of the table, which carries its number"
        return ports.SinkTraits(
            "transactional",
            why,
            ("append", "upsert"),
            cleans="files of tasks that were killed go at the next start; old versions by vacuum=",
        )

    @property
    def needs(self) -> ports.Packages:
        return NEEDS

    @property
    def key(self) -> tuple[str, ...]:
        return self._key

    @property
    def owns(self) -> str:
        return self.place.uri

    def options(self) -> dict[str, Any]:
        return {
            "path": self.place.path,
            "key": list(self._key),
            "partition_by": list(self.partition_by),
            "schema": self.schema,
            "compact_every": self.compact_every,
            "vacuum": self.vacuum,
            "properties": dict(sorted(self.properties.items())),
            "storage_options": stored(self.place.storage),
        }

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Sink:
        span = options["vacuum"]
        given = {**options, "vacuum": None if span is None else timedelta(milliseconds=span), "key": options["key"] or None}
        return cls(**given)

    def describe(self) -> str:
        by = f" by {', '.join(self._key)}" if self._key else ""
        parts = f", partitioned by {', '.join(self.partition_by)}" if self.partition_by else ""
        return f"delta {self.place.path}{by}{parts}"

    def check(self, columns: tuple[str, ...]) -> None:
        for name in self.partition_by:
            if name not in columns:
                raise wrong(f"{_VERB}: partition_by names `{name}`, which is no column", f"the stream has: {', '.join(columns)}")
        if len(set(self.partition_by)) == len(columns):
            raise wrong(f"{_VERB}: partition_by names every column", "the files need one column at least that is not in the folders' names")

    def open(self, context: ports.SinkContext) -> None:
        self._context = context
        self._fits(context.schema)
        spelled = {name.lower(): name for name in context.schema.names}
        self._by = [spelled[name.lower()] for name in self._key]
        self._epochs = Epochs(self.place, context)
        self._epochs.claim(context.schema, partition_by=list(self.partition_by), properties=self.properties, add=self.schema == "add")
        self._files = self.place.files()

    def recover(self) -> None:
        # The table is ours from here on: whatever an earlier process has still under way, it cannot commit.
        self._forget(_STAGING)
        for path in self._written():
            found = re.match(rf"{re.escape(self._prefix)}-(\d+)-", path.rsplit("/", 1)[-1])
            if found and int(found[1]) > self._epochs.last:
                self._files.delete_file(path)
        self._clean()

    def stage(self) -> dict[str, Any]:
        stage = {"kind": "files", "format": "parquet", "options": {"timeZone": "UTC"}, "folder": self.place.hadoop}
        if self._key:
            return {**stage, "partition_by": []}
        return {**stage, "partition_by": list(self.partition_by), "prefix": self._prefix}

    def commit(self, epoch: int, staged: ports.Staged) -> None:
        if not staged.count:
            return
        paths = [file["path"] for file in staged.files]
        write = self._merged(paths) if self._key else self._added(staged.files)
        done = self._epochs.transact(epoch, write)
        point("in sink commit", self._context.name)
        if self._key:
            self._forget(_STAGING)
        elif not done:
            self._forget(*paths)
        if self.compact_every is not None and (epoch + 1) % self.compact_every == 0:
            self._compact()

    def elsewhere(self, place: ports.Elsewhere) -> Sink:
        return self.from_options({**self.options(), "path": str(place.folder), "storage_options": {}})

    def contents(self, session: SparkSession, schema: Struct) -> Iterable[Sequence[Any]]:
        rows = self.place.table().to_pyarrow_table().select(list(schema.names)) if self.place.exists() else None
        return [] if rows is None else (tuple(row.values()) for row in rows.to_pylist())

    @property
    def _prefix(self) -> str:
        """How the names of this sink's files begin."""
        return f"part-{self._context.checkpoint_id[:12]}-{re.sub(r'[^0-9A-Za-z]', '_', self._context.query)}"

    def _fits(self, schema: Struct) -> None:
        delta_schema(schema)
        for option, names in (("key", self._key), ("partition_by", self.partition_by)):
            for name in names:
                kind = schema.get(name)
                if isinstance(kind, Struct | Array | Map) or (kind is not None and kind.text == "binary" and option == "partition_by"):
                    raise HeadraceError(
                        "WRONG_TYPE",
                        f"{self._context.name}: column {name} of type {kind.text} cannot be in {option} of a Delta table",
                        hint=f'choose other columns, or make one of it: with_columns({name}_text="to_json({name})")',
                    )

    def _merged(self, paths: Sequence[str]) -> Write:
        schema = self._context.schema
        rows = cache(lambda: staged_rows(self._files, paths, self._by, schema))
        return lambda table, said: merge(table, rows(), self._by, schema, said)

    def _added(self, files: Sequence[Mapping[str, Any]]) -> Write:
        actions = cache(lambda: self._actions(files))
        by = list(self.partition_by)
        return lambda table, said: table.create_write_transaction(
            actions(), "append", table.schema(), partition_by=by, commit_properties=said
        )

    def _actions(self, files: Sequence[Mapping[str, Any]]) -> list[AddAction | RemoveAction]:
        """The files of an epoch as the table's log takes them in."""
        from concurrent.futures import ThreadPoolExecutor

        schema = self._context.schema
        inside = Struct(tuple(field for field in schema.fields if field.name not in self.partition_by))

        def action(file: Mapping[str, Any]) -> AddAction:
            from deltalake.transaction import AddAction
            from pyarrow.parquet import read_metadata

            told = statistics(read_metadata(file["path"], filesystem=self._files), inside)
            values = zip(self.partition_by, file["partition"], strict=True)
            parts = {name: _partition(text, schema.get(name)) for name, text in values}
            return AddAction(file["path"], file["bytes"], parts, time.time_ns() // 1_000_000, True, told)

        with ThreadPoolExecutor(8) as readers:
            return list(readers.map(action, files))

    def _compact(self) -> None:
        self._epochs.tidy(lambda table, said: table.optimize.compact(commit_properties=said))
        self._clean()

    def _clean(self) -> None:
        if self.vacuum is not None:
            hours = -(-self.vacuum // _HOUR)
            self._epochs.tidy(lambda table, said: table.vacuum(hours, dry_run=False, enforce_retention_duration=False, full=True))

    def _written(self) -> list[str]:
        """The table's files, as far as this sink may have written them."""
        from pyarrow.fs import FileSelector, FileType

        found = self._files.get_file_info(FileSelector("", recursive=bool(self.partition_by)))
        return [info.path for info in found if info.type == FileType.File]

    def _forget(self, *paths: str) -> None:
        """Remove files or folders that nobody needs; what is not there need not go."""
        from pyarrow.fs import FileType

        for info in self._files.get_file_info(list(paths)):
            if info.type == FileType.Directory:
                self._files.delete_dir(info.path)
            elif info.type == FileType.File:
                self._files.delete_file(info.path)


def _partition(text: str | None, kind: Type | None) -> str | None:
    """A value in a folder's name as the log has it: a time with its zone, and no empty texts, which are null in Delta."""
    if text and kind is not None and kind.text in ("timestamp", "timestamp_ltz"):
        return text.replace(" ", "T") + "Z"
    return text or None
