"""A source of the versions of a table, their files read by Spark's own Parquet reader."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from headrace import ports
from headrace.connectors.lake.place import Place
from headrace.connectors.lake.versions import Versions
from headrace.connectors.reach import opened
from headrace.jvm.packages import provide
from headrace.schema import Struct

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class TableSource(ports.Source):
    """How the table of a source is read. A class declares the options, and opens the table and its log."""

    place: Place
    # The name of its versions, and the reason why they can be read again.
    version: ClassVar[str]
    why: ClassVar[str]
    follow: bool
    start: int | str | None
    changes: bool
    files_per_epoch: int | None

    @abstractmethod
    def _table(self) -> Any:
        """The present table; raises if it cannot be read."""

    @abstractmethod
    def _columns(self, table: Any) -> Struct:
        """The columns of the table, as Spark reads them."""

    @abstractmethod
    def _log(self, time_zone: str) -> Versions:
        """The log of the table; a time without a zone is in `time_zone`."""

    @abstractmethod
    def _folder(self) -> str:
        """The place of the table, as Spark takes it."""

    @property
    def traits(self) -> ports.SourceTraits:
        changes = "changes" if self.changes else "append"
        return ports.SourceTraits(bounded=not self.follow, replayable=True, why=self.why, ordered=self.version, changes=changes)

    def describe(self) -> str:
        words = ", ".join(word for word, enabled in (("changes", self.changes), ("follow", self.follow)) if enabled)
        return f"{self.connector} {self.place.name}{f' ({words})' if words else ''}"

    def check(self) -> None:
        self._table()

    def infer(self, session: SparkSession) -> Struct:
        provide(self.needs)
        self.schema = self._columns(self._table())
        return self.schema

    def scan(self, session: SparkSession, context: ports.SourceContext) -> tuple[DataFrame, dict[str, Any]]:
        from headrace.jvm.listed import listed

        schema = self.schema or self.infer(session)
        opened(session, self._folder())
        log = self._log(context.time_zone)
        constant = [name for name in schema.names if name in log.constant]
        return listed(session, log, schema.ddl, constant=constant, changes=self.changes), {"kind": "columns"}

    def unread(self, session: SparkSession, context: ports.SourceContext) -> int | None:
        from headrace.jvm.listed import position

        return self._log(context.time_zone).waiting(position(context.checkpoint, context.name))
