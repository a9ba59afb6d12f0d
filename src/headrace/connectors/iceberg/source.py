"""The Iceberg source: the snapshots of a table, one after the other, their files read by Spark's own Parquet reader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from headrace import ports
from headrace.connectors.iceberg.columns import columns_of
from headrace.connectors.iceberg.log import Log, check
from headrace.connectors.iceberg.place import NEEDS, Place, folder, place
from headrace.connectors.lake.source import TableSource
from headrace.connectors.lake.stores import stored
from headrace.schema import Struct

if TYPE_CHECKING:
    from pyiceberg.table import Table

_VERB = "read.iceberg"


class Source(TableSource):
    """The rows of an Iceberg table, and with `follow=True` those of the snapshots that come later.

    `catalog` is what pyiceberg is told of the catalog. `start` is where reading begins: the id of a snapshot, a time ("2026-01-31
    12:00:00", in UTC if it has no zone) or "latest"; without it all rows that are there are read first. With `changes=True` rows are also
    taken away, found by reading the files that a snapshot replaced. `files_per_epoch` limits how much an epoch takes.

    >>> import headrace as hr
    >>> catalog = {"type": "sql", "uri": "sqlite:///catalog.db", "warehouse": "warehouse"}
    >>> charges = hr.read.memory([("a", 1)], "card string, amount int", name="charges")
    >>> summary = hr.job("copy", charges.write.iceberg("db.charges", catalog=catalog)).run(progress=False)
    >>> hr.read.iceberg("db.charges", catalog=catalog)
    <Stream charges: card, amount>
    """

    place: Place
    connector: ClassVar[str] = "iceberg"
    version: ClassVar[str] = "snapshot"
    why: ClassVar[str] = "the table's snapshots name the files of each"

    def __init__(
        self,
        table: str,
        *,
        catalog: Mapping[str, Any],
        follow: bool = False,
        start: int | str | None = None,
        changes: bool = False,
        files_per_epoch: int | None = None,
    ) -> None:
        self.place = place(_VERB, table, catalog)
        super().__init__(_VERB, "the id of a snapshot", follow=follow, start=start, changes=changes, files_per_epoch=files_per_epoch)

    @property
    def needs(self) -> ports.Packages:
        return NEEDS

    @property
    def default_name(self) -> str:
        return self.place.name.rsplit(".", 1)[-1]

    def options(self) -> dict[str, Any]:
        return {"table": self.place.name, "catalog": stored(self.place.options), **super().options()}

    def _table(self) -> Table:
        table = self.place.table()
        check(self.place.name, table)
        return table

    def _columns(self, table: Table) -> Struct:
        return columns_of(table)

    def _folder(self) -> str:
        return folder(self.place.table())

    def _log(self) -> Log:
        return Log(self.place, self.start, changes=self.changes, follow=self.follow, limit=self.files_per_epoch)
