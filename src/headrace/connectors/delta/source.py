"""The Delta source: the versions of a table, one after the other, their files read by Spark's own Parquet reader."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from headrace import ports
from headrace.connectors.delta.columns import columns_of
from headrace.connectors.delta.log import Log, check
from headrace.connectors.delta.place import NEEDS, Place, place
from headrace.connectors.lake.source import TableSource
from headrace.connectors.lake.stores import stored
from headrace.schema import Struct

if TYPE_CHECKING:
    from deltalake import DeltaTable

_VERB = "read.delta"


class Source(TableSource):
    """The rows of a Delta table, and with `follow=True` those of the versions that come later.

    `start` is where reading begins: a version, a time ("2026-01-31 12:00:00", in UTC if it has no zone) or "latest"; without it all
    rows that are there are read first. With `changes=True` rows are also taken away: what a version deletes and updates is read from
    its feed of changes, where the table has one, else found by reading the files that it replaced. `files_per_epoch` limits how much an
    epoch takes.

    >>> import headrace as hr
    >>> charges = hr.read.memory([("a", 1)], "card string, amount int", name="charges")
    >>> summary = hr.job("copy", charges.write.delta("out/charges")).run(progress=False)
    >>> hr.read.delta("out/charges")
    <Stream charges: card, amount>
    """

    place: Place
    connector: ClassVar[str] = "delta"
    version: ClassVar[str] = "version"
    why: ClassVar[str] = "the table's log names the files of each version"

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        follow: bool = False,
        start: int | str | None = None,
        changes: bool = False,
        files_per_epoch: int | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.place = place(_VERB, path, storage_options)
        super().__init__(_VERB, "a version (3)", follow=follow, start=start, changes=changes, files_per_epoch=files_per_epoch)

    @property
    def needs(self) -> ports.Packages:
        return NEEDS

    @property
    def default_name(self) -> str:
        return self.place.folder

    def options(self) -> dict[str, Any]:
        return {"path": self.place.path, **super().options(), "storage_options": stored(self.place.storage)}

    def _table(self) -> DeltaTable:
        table = self.place.table()
        check(self.place.path, table)
        return table

    def _columns(self, table: DeltaTable) -> Struct:
        return columns_of(table)

    def _folder(self) -> str:
        return self.place.hadoop

    def _log(self) -> Log:
        return Log(self.place, self.start, changes=self.changes, follow=self.follow, limit=self.files_per_epoch)
