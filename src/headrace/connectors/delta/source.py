"""The Delta source: the versions of a table, one after the other, their files read by Spark's own Parquet reader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from headrace import ports
from headrace.connectors.delta.columns import columns_of
from headrace.connectors.delta.log import Log, check
from headrace.connectors.delta.place import NEEDS, Place, storage_of
from headrace.connectors.lake.source import TableSource
from headrace.connectors.lake.stores import Options
from headrace.connectors.lake.versions import start_of
from headrace.ports import option
from headrace.schema import Struct

if TYPE_CHECKING:
    from deltalake import DeltaTable


class Source(ports.Options, TableSource):
    """Reads the rows of a Delta table, and with `follow=True` those of later versions.

    The source is replayable: the checkpoint stores the table version and the position in its files, and a repeated epoch reads the same
    files. A version that deletes or updates rows ends the run (`TABLE_CHANGED`). With `changes=True` those rows are retracted: from the
    table's change data feed or, without one, by comparing the files that the version removed and added. A version that was vacuumed before
    it was read ends the run (`VERSION_GONE`). The stream has the columns of the table, which this call opens. Needs `pip install
    "headrace[delta]"`.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 1)], "card string, amount int", name="charges")
        >>> summary = hr.job("copy", charges.write.delta("out/charges")).run(progress=False)
        >>> hr.read.delta("out/charges", follow=True)
        <Stream charges: card, amount>
    """

    connector: ClassVar[str] = "delta"
    version: ClassVar[str] = "version"
    why: ClassVar[str] = "the table's log lists the files of each version"

    stored: ClassVar[str] = "always"

    path: str = option.path("the folder or address of the table", example="out/charges", kw_only=False)
    follow: bool = option.flag("also read later versions", default=False)
    start: int | str | None = option.option(
        "the first version whose changes are read: its number, a time (the first version at or after it; in the job's zone unless it has "
        'one) or `"latest"` (only versions after the start); without it, all existing rows are read first',
        lambda verb, name, start: start_of(verb, start, "a version (3)"),
        takes=int | str,
        default=None,
    )
    changes: bool = option.flag("also read deletions and updates", default=False)
    files_per_epoch: int | None = option.number("the maximum number of files per epoch", default=None)
    storage_options: Options = option.option(
        'how deltalake accesses an object store; secrets by name: `{"AWS_SECRET_ACCESS_KEY": hr.secret("AWS_SECRET_ACCESS_KEY")}`',
        storage_of,
        takes=Mapping[str, Any],
        default=None,
        empty=dict,
    )

    def __post_init__(self) -> None:
        self.place: Place = Place(self.path, self.storage_options)

    @property
    def needs(self) -> ports.Packages:
        return NEEDS

    @property
    def default_name(self) -> str:
        return self.place.folder

    def _table(self) -> DeltaTable:
        table = self.place.table()
        check(self.place.path, table)
        return table

    def _columns(self, table: DeltaTable) -> Struct:
        return columns_of(table)

    def _folder(self) -> str:
        return self.place.hadoop

    def _log(self, time_zone: str) -> Log:
        return Log(self.place, self.start, time_zone=time_zone, changes=self.changes, follow=self.follow, limit=self.files_per_epoch)
