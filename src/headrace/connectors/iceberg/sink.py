"""The Iceberg sink: tasks write Parquet files where they are to stay, the driver adds those of an epoch in one commit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from headrace import ports
from headrace.connectors.iceberg.columns import iceberg_schema
from headrace.connectors.iceberg.merge import merge
from headrace.connectors.iceberg.place import NEEDS, files, folder, place
from headrace.connectors.iceberg.table import Epochs, Write
from headrace.connectors.lake.staged import staged_rows
from headrace.connectors.lake.stores import hadoop, stored
from headrace.errors import ConnectorError, HeadraceError
from headrace.points import point
from headrace.ports.options import choice, texts, wrong
from headrace.ports.paths import escaped
from headrace.schema import Array, Map, Struct, Type

if TYPE_CHECKING:
    from pyiceberg.table import Transaction
    from pyspark.sql import SparkSession

_VERB = "write.iceberg"
_LONGEST = 2000
_STAGING = "_headrace/staging"


class Sink(ports.Sink):
    """An Iceberg table that holds each row once, also after crashes: an epoch is one commit to the table.

    `catalog` is what pyiceberg is told of the catalog. With a `key` each row takes the place of the one with the same key, and rows that
    are taken away are deleted. `partition_by` names columns whose values part the files. `schema="add"` adds the columns that the table
    lacks. `properties` are those that a new table gets.

    >>> import headrace as hr
    >>> catalog = {"type": "sql", "uri": "sqlite:///catalog.db", "warehouse": "warehouse"}
    >>> charges = hr.read.memory([("a", 1)], "card string, amount int", name="charges")
    >>> hr.job("copy", charges.write.iceberg("db.charges", catalog=catalog, partition_by="card"))
    <Job copy: charges.iceberg>
    """

    connector: ClassVar[str] = "iceberg"

    def __init__(
        self,
        table: str,
        *,
        catalog: Mapping[str, Any],
        key: str | Sequence[str] | None = None,
        partition_by: str | Sequence[str] = (),
        schema: str = "keep",
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self.place = place(_VERB, table, catalog)
        self._key = () if key is None else (key,) if isinstance(key, str) else tuple(key)
        self.partition_by = (partition_by,) if isinstance(partition_by, str) else tuple(partition_by)
        self.schema = choice(_VERB, "schema", schema, ("keep", "add"))
        self.properties = texts(_VERB, "properties", properties or {})

    @property
    def traits(self) -> ports.SinkTraits:
        why = "each epoch is one commit to the table, whose properties say its number"
        return ports.SinkTraits("transactional", why, ("append", "upsert"), cleans="files of tasks that were killed go at the next start")

    @property
    def needs(self) -> ports.Packages:
        return NEEDS

    @property
    def key(self) -> tuple[str, ...]:
        return self._key

    @property
    def owns(self) -> str:
        return f"{self.place.name} of {sorted(stored(self.place.options).items())}"

    def options(self) -> dict[str, Any]:
        return {
            "table": self.place.name,
            "catalog": stored(self.place.options),
            "key": list(self._key),
            "partition_by": list(self.partition_by),
            "schema": self.schema,
            "properties": dict(sorted(self.properties.items())),
        }

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Sink:
        return cls(**{**options, "key": options["key"] or None})

    def describe(self) -> str:
        by = f" by {', '.join(self._key)}" if self._key else ""
        parts = f", partitioned by {', '.join(self.partition_by)}" if self.partition_by else ""
        return f"iceberg {self.place.name}{by}{parts}"

    def check(self, columns: tuple[str, ...]) -> None:
        for name in self.partition_by:
            if name not in columns:
                raise wrong(f"{_VERB}: partition_by names `{name}`, which is no column", f"the stream has: {', '.join(columns)}")

    def open(self, context: ports.SinkContext) -> None:
        self._context = context
        self._fits(context.schema)
        spelled = {name.lower(): name for name in context.schema.names}
        self._by = [spelled[name.lower()] for name in self._key]
        self._epochs = Epochs(self.place, context)
        self._epochs.claim(context.schema, partition_by=list(self.partition_by), properties=self.properties, add=self.schema == "add")
        self._files = files(self._epochs.table)

    def recover(self) -> None:
        from pyarrow.fs import FileSelector, FileType

        # The table is ours from here on: whatever an earlier process has still under way, it cannot commit.
        self._forget(_STAGING)
        for info in self._files.get_file_info(FileSelector("data", recursive=bool(self.partition_by), allow_not_found=True)):
            found = re.match(rf"{re.escape(self._prefix)}-(\d+)-", info.base_name)
            if info.type == FileType.File and found and int(found[1]) > self._epochs.last:
                self._files.delete_file(info.path)

    def stage(self) -> dict[str, Any]:
        root = folder(self._epochs.table)
        stage = {"kind": "files", "format": "parquet", "options": {"timeZone": "UTC"}}
        if self._key:
            return {**stage, "folder": root, "partition_by": []}
        by = list(self.partition_by)
        return {**stage, "folder": f"{root}/data", "partition_by": by, "prefix": self._prefix, "keeps_partitions": True}

    def commit(self, epoch: int, staged: ports.Staged) -> None:
        if not staged.count:
            return
        self._refuse_long(staged)
        paths = [file["path"] for file in staged.files]
        done = self._epochs.transact(epoch, self._merged(paths) if self._key else self._added(paths))
        point("in sink commit", self._context.name)
        if self._key:
            self._forget(_STAGING)
        elif not done:
            self._forget(*(f"data/{path}" for path in paths))

    def elsewhere(self, place: ports.Elsewhere) -> Sink:
        catalog = {"type": "sql", "uri": f"sqlite:///{place.folder}.db", "warehouse": str(place.folder)}
        return self.from_options({**self.options(), "catalog": catalog})

    def contents(self, session: SparkSession, schema: Struct) -> Iterable[Sequence[Any]]:
        if not self.place.catalog().table_exists(self.place.name):
            return []
        # By Spark: pyiceberg shows an array of structs that is null as an empty one.
        found = [escaped(hadoop(task.file.file_path).removeprefix("file://")) for task in self.place.table().scan().plan_files()]
        names = [f"`{name.replace('`', '``')}`" for name in schema.names]
        return session.read.schema(schema.ddl).parquet(*found).select(*names).collect() if found else []

    def _merged(self, paths: Sequence[str]) -> Write:
        rows = cache(lambda: staged_rows(self._files, paths, self._by, self._context.schema))
        return lambda transaction, said: merge(transaction, rows(), self._by, said)

    def _added(self, paths: Sequence[str]) -> Write:
        def add(transaction: Transaction, said: dict[str, str]) -> None:
            location = self._epochs.table.location()
            # Their names are ours alone, so none of them can be there already.
            transaction.add_files([f"{location}/data/{path}" for path in paths], said, check_duplicate_files=False)

        return add

    @property
    def _prefix(self) -> str:
        """How the names of this sink's files begin."""
        return f"part-{self._context.checkpoint_id[:12]}-{re.sub(r'[^0-9A-Za-z]', '_', self._context.query)}"

    def _fits(self, schema: Struct) -> None:
        iceberg_schema(schema)
        self._refuse_nested(schema)
        for option, names in (("key", self._key), ("partition_by", self.partition_by)):
            for name in names:
                kind = schema.get(name)
                if isinstance(kind, Struct | Array | Map) or (option == "partition_by" and kind is not None and kind.text in _UNPARTED):
                    raise HeadraceError(
                        "WRONG_TYPE",
                        f"{self._context.name}: column {name} of type {kind.text} cannot be in {option} of an Iceberg table",
                        hint=f'choose other columns, or make one of it: with_columns({name}_text="to_json({name})")',
                    )

    def _refuse_nested(self, schema: Struct) -> None:
        """pyiceberg writes the rows of an upsert, and those beside them, and makes an array or map of structs that is null an empty one."""
        for field in schema.fields if self._key else ():
            if _structs_inside(field.type, False):
                raise HeadraceError(
                    "WRONG_TYPE",
                    f"{self._context.name}: column {field.name} has structs in an array or map, which an upsert of Iceberg cannot keep",
                    hint=f'make a text of it: with_columns({field.name}="to_json({field.name})"), or write its changes: mode="changes"',
                )

    def _refuse_long(self, staged: ports.Staged) -> None:
        """A footer has no bounds of texts that are longer than this, and from them pyiceberg takes the values of a partition."""
        for file in staged.files:
            for name, text in zip(self.partition_by, file["partition"], strict=bool(self.partition_by)):
                if text is not None and len(text.encode()) > _LONGEST:
                    raise ConnectorError(
                        "TABLE_SCHEMA",
                        f"{self._context.name}: a value of {name}, by which the table is partitioned, has more than {_LONGEST} bytes",
                        hint="partition by something shorter; the rows are read again at the next start",
                    )

    def _forget(self, *paths: str) -> None:
        """Remove files or folders that nobody needs; what is not there need not go."""
        from pyarrow.fs import FileType

        for info in self._files.get_file_info(list(paths)):
            if info.type == FileType.Directory:
                self._files.delete_dir(info.path)
            elif info.type == FileType.File:
                self._files.delete_file(info.path)


# Of these a file's footer does not always tell the value that all its rows have.
_UNPARTED = ("binary", "float", "double")


def _structs_inside(kind: Type, repeated: bool) -> bool:
    match kind:
        case Struct(fields):
            return repeated or any(_structs_inside(field.type, False) for field in fields)
        case Array(element):
            return _structs_inside(element, True)
        case Map(key, value):
            return _structs_inside(key, True) or _structs_inside(value, True)
    return False
