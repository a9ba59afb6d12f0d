"""The Iceberg source: the snapshots of a table, one after the other, their files read by Spark's own Parquet reader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from headrace import ports
from headrace.connectors.iceberg.columns import columns_of
from headrace.connectors.iceberg.log import Log, check
from headrace.connectors.iceberg.place import NEEDS, Place, catalog_of, folder, name_of
from headrace.connectors.lake.source import TableSource
from headrace.connectors.lake.stores import Options
from headrace.connectors.lake.versions import start_of
from headrace.ports import option
from headrace.schema import Struct

if TYPE_CHECKING:
    from pyiceberg.table import Table

_VERB = "read.iceberg"


class Source(ports.Options, TableSource):
    """Reads the rows of an Iceberg table, and with `follow=True` those of later snapshots.

    The source is replayable: the checkpoint stores its position, and a repeated epoch reads the same files. A snapshot that deletes or
    updates rows ends the run (`TABLE_CHANGED`). With `changes=True` those rows are retracted, by comparing the files that the snapshot
    removed and added. A snapshot that expired before it was read ends the run (`VERSION_GONE`). The stream has the columns of the table,
    which this call opens. Needs `pip install "headrace[iceberg]"`.

    Examples:
        >>> import headrace as hr
        >>> catalog = {"type": "sql", "uri": "sqlite:///catalog.db", "warehouse": "warehouse"}
        >>> charges = hr.read.memory([("a", 1)], "card string, amount int", name="charges")
        >>> summary = hr.job("copy", charges.write.iceberg("db.charges", catalog=catalog)).run(progress=False)
        >>> hr.read.iceberg("db.charges", catalog=catalog, follow=True)
        <Stream charges: card, amount>
    """

    connector: ClassVar[str] = "iceberg"
    version: ClassVar[str] = "snapshot"
    why: ClassVar[str] = "the table's snapshots list their files"

    stored: ClassVar[str] = "always"

    table: str = option.option("the full name of the table: `db.charges`", name_of, takes=str, kw_only=False)
    catalog: Options = option.option(
        "the properties of the catalog, as pyiceberg expects them; secrets by name", catalog_of, takes=Mapping[str, Any]
    )
    follow: bool = option.flag("also read later snapshots", default=False)
    start: int | str | None = option.option(
        "the first snapshot whose changes are read: its id, a time (the first snapshot at or after it; in the job's zone unless it has "
        'one) or `"latest"` (only snapshots after the start); without it, all existing rows are read first',
        lambda verb, name, start: start_of(verb, start, "the id of a snapshot"),
        takes=int | str,
        default=None,
    )
    changes: bool = option.flag("also read deletions and updates", default=False)
    files_per_epoch: int | None = option.number("the maximum number of files per epoch", default=None)

    def __post_init__(self) -> None:
        self.place: Place = Place(self.table, self.catalog)

    @property
    def needs(self) -> ports.Packages:
        return NEEDS

    @property
    def default_name(self) -> str:
        return self.place.name.rsplit(".", 1)[-1]

    def _table(self) -> Table:
        table = self.place.table()
        check(self.place.name, table)
        return table

    def _columns(self, table: Table) -> Struct:
        return columns_of(table)

    def _folder(self) -> str:
        return folder(self.place.table())

    def _log(self, time_zone: str) -> Log:
        return Log(self.place, self.start, time_zone=time_zone, changes=self.changes, follow=self.follow, limit=self.files_per_epoch)
