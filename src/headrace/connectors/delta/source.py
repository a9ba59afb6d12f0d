"""The Delta source: the versions of a table, one after the other, their files read by Spark's own Parquet reader."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from headrace import ports
from headrace.connectors.delta.columns import columns_of
from headrace.connectors.delta.log import Log, check
from headrace.connectors.delta.place import NEEDS, place
from headrace.connectors.lake.stores import stored
from headrace.connectors.lake.versions import start_of
from headrace.jvm.packages import provide
from headrace.ports.options import flag, number
from headrace.schema import Struct

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_VERB = "read.delta"


class Source(ports.Source):
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

    connector: ClassVar[str] = "delta"

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
        self.follow = flag(_VERB, "follow", follow)
        self.start = start_of(_VERB, start, "a version (3)")
        self.changes = flag(_VERB, "changes", changes)
        self.files_per_epoch = None if files_per_epoch is None else number(_VERB, "files_per_epoch", files_per_epoch)
        self.schema: Struct | None = None

    @property
    def traits(self) -> ports.SourceTraits:
        why = "the table's log names the files of each version"
        changes = "changes" if self.changes else "append"
        return ports.SourceTraits(bounded=not self.follow, replayable=True, why=why, ordered="version", changes=changes)

    @property
    def needs(self) -> ports.Packages:
        return NEEDS

    @property
    def default_name(self) -> str:
        parts = [part for part in re.split(r"[/\\]", self.place.path) if part and not part.startswith(".")]
        return parts[-1] if parts else "delta"

    def options(self) -> dict[str, Any]:
        return {
            "path": self.place.path,
            "follow": self.follow,
            "start": self.start,
            "changes": self.changes,
            "files_per_epoch": self.files_per_epoch,
            "storage_options": stored(self.place.storage),
        }

    @classmethod
    def from_options(cls, options: Mapping[str, Any], schema: Struct) -> Source:
        made = cls(**options)
        made.schema = schema
        return made

    def describe(self) -> str:
        words = ", ".join(word for word, said in (("changes", self.changes), ("follow", self.follow)) if said)
        return f"delta {self.place.path}{f' ({words})' if words else ''}"

    def check(self) -> None:
        check(self.place.path, self.place.table())

    def infer(self, session: SparkSession) -> Struct:
        provide(NEEDS)
        table = self.place.table()
        check(self.place.path, table)
        self.schema = columns_of(table)
        return self.schema

    def scan(self, session: SparkSession, context: ports.SourceContext) -> tuple[DataFrame, dict[str, Any]]:
        from headrace.jvm.listed import listed

        schema = self.schema or self.infer(session)
        partitions = self.place.table().metadata().partition_columns
        constant = [name for name in schema.names if name in partitions]
        return listed(session, self._log(), schema.ddl, constant=constant, changes=self.changes), {"kind": "columns"}

    def unread(self, session: SparkSession, context: ports.SourceContext) -> int | None:
        from headrace.jvm.listed import position

        return self._log().waiting(position(context.checkpoint, context.name))

    def _log(self) -> Log:
        return Log(self.place, self.start, changes=self.changes, follow=self.follow, limit=self.files_per_epoch)
