"""The Iceberg sink: tasks write Parquet files to their final place, and the driver adds those of an epoch in one commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from headrace import ports
from headrace.connectors.iceberg.columns import iceberg_schema
from headrace.connectors.iceberg.merge import empty, merge
from headrace.connectors.iceberg.place import NEEDS, Place, catalog_of, files, folder, name_of
from headrace.connectors.iceberg.table import Epochs, Write
from headrace.connectors.lake.sink import TableSink
from headrace.connectors.lake.stores import Options, hadoop, stored
from headrace.errors import HeadraceError
from headrace.ports import option
from headrace.ports.paths import escaped
from headrace.schema import Array, Map, Struct, Type

if TYPE_CHECKING:
    from pyiceberg.table import Transaction
    from pyspark.sql import DataFrame, SparkSession


class Sink(ports.Options, TableSink):
    """Writes an Iceberg table exactly once: each epoch is one commit to the catalog.

    Readers see an epoch as a whole or not at all. A missing table is created when the job starts. A stream with retractions needs a `key`,
    by which rows are replaced and deleted, or `mode="changes"`. The table stores its last epoch, so a start detects that the checkpoint or
    the table was restored from a backup (`CHECKPOINT_BEHIND`, `TABLE_REPLACED`). Needs `pip install "headrace[iceberg]"`.

    Examples:
        >>> import headrace as hr
        >>> catalog = {"type": "sql", "uri": "sqlite:///catalog.db", "warehouse": "warehouse"}
        >>> charges = hr.read.memory([("a", 1)], "card string, amount int", name="charges")
        >>> hr.job("copy", charges.write.iceberg("db.charges", catalog=catalog, partition_by="card"))
        <Job copy: charges.iceberg>
    """

    connector: ClassVar[str] = "iceberg"
    kind: ClassVar[str] = "an Iceberg table"
    folder: ClassVar[str] = "data"
    # For these types, a file's footer does not always have the common value of its rows.
    unparted: ClassVar[tuple[str, ...]] = ("binary", "float", "double")

    stored: ClassVar[str] = "always"

    table: str = option.option("the full name of the table: `db.charges`", name_of, takes=str, kw_only=False)
    catalog: Options = option.option(
        "the properties of the catalog, as pyiceberg expects them; secrets by name", catalog_of, takes=Mapping[str, Any]
    )
    key: tuple[str, ...] = option.columns(
        "a unique key: a row replaces the row with the same key, and a retraction deletes it", default=None
    )
    partition_by: tuple[str, ...] = option.columns(
        "columns to partition by (identity; not `float`, `double` or `binary`); a row whose value cannot be a folder name is a "
        "[dead letter](../guides/outputs.md#rows-that-a-sink-cannot-write)",
        default=(),
    )
    schema: str = option.choice(
        'for columns that the table lacks: `"add"` adds them, `"keep"` refuses them ([TABLE_SCHEMA](../errors/TABLE_SCHEMA.md))',
        ("keep", "add"),
        default="keep",
    )
    properties: dict[str, str] = option.texts("the properties of a new table", takes=Mapping[str, str], default=None)

    def __post_init__(self) -> None:
        self.place: Place = Place(self.table, self.catalog)
        self._epochs: Epochs

    @property
    def traits(self) -> ports.SinkTraits:
        why = "each epoch is one commit, which stores its number in the table's properties"
        return ports.SinkTraits(
            "transactional",
            why,
            ("append", "upsert"),
            replaces=True,
            cleans="the next start deletes the files of killed tasks",
            marks=True,
            rewinds=True,
            swaps=True,
        )

    @property
    def needs(self) -> ports.Packages:
        return NEEDS

    @property
    def owns(self) -> str:
        catalog = ", ".join(f"{name}={value}" for name, value in stored(self.place.options).items())
        return f"{self.place.name} ({catalog})"

    @classmethod
    def called(cls, options: Mapping[str, Any]) -> str:
        return str(options["table"]).rpartition(".")[2]

    def stage(self) -> dict[str, Any]:
        root = folder(self._epochs.table)
        stage = {"kind": "files", "format": "parquet", "options": {"timeZone": "UTC"}, "years": True}
        if self.key:
            return {**stage, "folder": root, "partition_by": []}
        by = list(self.partition_by)
        return {**stage, "folder": f"{root}/{self.folder}", "partition_by": by, "prefix": self._prefix, "keeps_partitions": True}

    def elsewhere(self, place: ports.Elsewhere) -> Sink:
        catalog = {"type": "sql", "uri": f"sqlite:///{place.folder}.db", "warehouse": str(place.folder)}
        return self.from_options({**self.options(), "catalog": catalog})

    def contents(self, session: SparkSession, schema: Struct, mode: str) -> DataFrame:
        if not self.place.catalog().table_exists(self.place.name):
            return session.createDataFrame([], schema.ddl)
        # With Spark, since pyiceberg reads a null array of structs as an empty one.
        files = [escaped(hadoop(task.file.file_path).removeprefix("file://")) for task in self.place.table().scan().plan_files()]
        names = [f"`{name.replace('`', '``')}`" for name in schema.names]
        return session.read.schema(schema.ddl).parquet(*files).select(*names) if files else session.createDataFrame([], schema.ddl)

    def _open_epochs(self, context: ports.SinkContext) -> Epochs:
        return Epochs(self.place, context)

    def _file_system(self) -> Any:
        return files(self._epochs.table)

    def _merged(self, paths: Sequence[str], *, whole: bool) -> Write:
        if not paths:
            return self._added((), whole=whole)
        rows = self._net(paths)
        return lambda transaction, snapshot_properties: merge(transaction, rows(), self._by, snapshot_properties, whole=whole)

    def _added(self, files: Sequence[Mapping[str, Any]], *, whole: bool) -> Write:
        def add(transaction: Transaction, snapshot_properties: dict[str, str]) -> None:
            if whole:
                empty(transaction, snapshot_properties)
            if not files:
                return
            location = self._epochs.table.location()
            # Their names are unique, so none of them can be in the table already.
            transaction.add_files(
                [f"{location}/{self.folder}/{file['path']}" for file in files], snapshot_properties, check_duplicate_files=False
            )

        return add

    def suits(self, name: str, schema: Struct) -> None:
        iceberg_schema(schema)
        self._refuse_nested(name, schema)
        super().suits(name, schema)

    def _refuse_nested(self, name: str, schema: Struct) -> None:
        """Refuse structs in arrays and maps: pyiceberg writes the rows of an upsert, and those in the same files, and makes a null array or
        map of structs empty.
        """
        for field in schema.fields if self.key else ():
            if _structs_inside(field.type, False):
                raise HeadraceError(
                    "WRONG_TYPE",
                    f"{name}: column {field.name} has structs in an array or map, which Iceberg cannot upsert",
                    hint=f'convert it to a string: with_columns({field.name}="to_json({field.name})"), or write its changes: '
                    'mode="changes"',
                )


def _structs_inside(kind: Type, repeated: bool) -> bool:
    match kind:
        case Struct(fields):
            return repeated or any(_structs_inside(field.type, False) for field in fields)
        case Array(element):
            return _structs_inside(element, True)
        case Map(key, value):
            return _structs_inside(key, True) or _structs_inside(value, True)
    return False
