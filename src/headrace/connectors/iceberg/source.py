"""The Iceberg source: the snapshots of a table, one after the other, their files read by Spark's own Parquet reader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from headrace import ports
from headrace.connectors.iceberg.columns import columns_of
from headrace.connectors.iceberg.log import Log, check
from headrace.connectors.iceberg.place import NEEDS, place
from headrace.connectors.lake.stores import stored
from headrace.connectors.lake.versions import start_of
from headrace.jvm.packages import provide
from headrace.ports.options import flag, number
from headrace.schema import Struct

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_VERB = "read.iceberg"


class Source(ports.Source):
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

    connector: ClassVar[str] = "iceberg"

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
        self.follow = flag(_VERB, "follow", follow)
        self.start = start_of(_VERB, start, "the id of a snapshot")
        self.changes = flag(_VERB, "changes", changes)
        self.files_per_epoch = None if files_per_epoch is None else number(_VERB, "files_per_epoch", files_per_epoch)
        self.schema: Struct | None = None

    @property
    def traits(self) -> ports.SourceTraits:
        why = "the table's snapshots name the files of each"
        changes = "changes" if self.changes else "append"
        return ports.SourceTraits(bounded=not self.follow, replayable=True, why=why, ordered="snapshot", changes=changes)

    @property
    def needs(self) -> ports.Packages:
        return NEEDS

    @property
    def default_name(self) -> str:
        return self.place.name.rsplit(".", 1)[-1]

    def options(self) -> dict[str, Any]:
        return {
            "table": self.place.name,
            "catalog": stored(self.place.options),
            "follow": self.follow,
            "start": self.start,
            "changes": self.changes,
            "files_per_epoch": self.files_per_epoch,
        }

    @classmethod
    def from_options(cls, options: Mapping[str, Any], schema: Struct) -> Source:
        made = cls(**options)
        made.schema = schema
        return made

    def describe(self) -> str:
        words = ", ".join(word for word, said in (("changes", self.changes), ("follow", self.follow)) if said)
        return f"iceberg {self.place.name}{f' ({words})' if words else ''}"

    def check(self) -> None:
        check(self.place.name, self.place.table())

    def infer(self, session: SparkSession) -> Struct:
        provide(NEEDS)
        table = self.place.table()
        check(self.place.name, table)
        self.schema = columns_of(table)
        return self.schema

    def scan(self, session: SparkSession, context: ports.SourceContext) -> tuple[DataFrame, dict[str, Any]]:
        from headrace.jvm.listed import listed

        schema = self.schema or self.infer(session)
        log = self._log()
        constant = [name for name in schema.names if name in log.constant]
        return listed(session, log, schema.ddl, constant=constant, changes=self.changes), {"kind": "columns"}

    def unread(self, session: SparkSession, context: ports.SourceContext) -> int | None:
        from headrace.jvm.listed import position

        return self._log().waiting(position(context.checkpoint, context.name))

    def _log(self) -> Log:
        return Log(self.place, self.start, changes=self.changes, follow=self.follow, limit=self.files_per_epoch)
