"""A Delta table to look up rows in: loaded as a whole, and again when it has a newer version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from headrace import ports
from headrace.connectors.delta.columns import columns_of
from headrace.connectors.delta.log import Log, check
from headrace.connectors.delta.place import NEEDS, Place, storage_of
from headrace.connectors.lake.stores import Options
from headrace.connectors.reach import opened
from headrace.errors import ConnectorError
from headrace.jvm.packages import provide
from headrace.ports import option
from headrace.ports.options import wrong
from headrace.schema import Struct, shown

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_VERB = "lookup.delta"


class Lookup(ports.Options, ports.Lookup):
    """Looks up rows in a Delta table, which each executor keeps in memory.

    The table is read when the job starts. With `refresh`, an epoch that begins when the copy is older than that reads the newest version. A
    repeated epoch may find another version, so sinks downstream are at least once, unless `version` is given or the table is `constant`.
    Without `schema`, this call opens the table. Needs `pip install "headrace[delta]"`.

    Examples:
        >>> import headrace as hr
        >>> hr.lookup.delta("out/rates", schema="currency string, rate double", refresh="5 minutes")
        <Table rates: currency, rate>
    """

    connector: ClassVar[str] = "delta"

    path: str = option.path("the folder or address of the table", example="out/charges", kw_only=False)
    schema: Any = option.schema(
        "the columns to return, with the types of the table; without it, all of them, and `hr.lookup.delta` opens the table",
        default=None,
    )
    version: int | None = option.number(
        "read only this version: it never changes, so sinks downstream keep their guarantee, and streams with retractions can use it",
        least=0,
        default=None,
    )
    refresh_ms: int | None = option.duration(
        "the maximum age of the copy in memory; without it, the table is read once",
        called="`refresh` of the lookup",
        alias="refresh",
        key="refresh_ms",
        default=None,
    )
    storage_options: Options = option.option(
        'how deltalake accesses an object store; secrets by name: `{"AWS_SECRET_ACCESS_KEY": hr.secret("AWS_SECRET_ACCESS_KEY")}`',
        storage_of,
        takes=Mapping[str, Any],
        default=None,
        empty=dict,
    )

    def __post_init__(self) -> None:
        self.place = Place(self.path, self.storage_options)
        if self.version is not None and self.refresh_ms is not None:
            raise wrong(f"{_VERB}: a version never changes, so it is not read again", "remove version= or refresh=")
        if self.schema is None:
            self.schema = self._columns()

    @property
    def reloads(self) -> bool:
        return self.version is None

    @property
    def traits(self) -> ports.LookupTraits:
        if self.version is not None:
            return ports.LookupTraits(repeatable=True, why=f"version {self.version} of the table never changes", whole=True)
        return ports.LookupTraits(repeatable=False, why="the table may have a new version when it is read again", whole=True)

    @property
    def needs(self) -> ports.Packages:
        return NEEDS

    @property
    def default_name(self) -> str:
        return self.place.folder

    def describe(self) -> str:
        which = "" if self.version is None else f" version {self.version}"
        again = "" if self.refresh_ms is None else f" (read again after {shown(self.refresh_ms)})"
        return f"delta {self.place.path}{which}{again}"

    def check(self) -> None:
        self._refuse_others(self._columns())

    def state(self) -> str:
        table = self.place.table(self.version)
        return f"{table.metadata().id} {table.version()}"

    def load(self, session: SparkSession, context: ports.LookupContext) -> DataFrame:
        from headrace.jvm.listed import whole

        opened(session, self.place.hadoop)
        log = Log(self.place, None, changes=False, follow=False, limit=None, time_zone="UTC")
        table = self.place.table(log.newest() if self.version is None else self.version)
        self._refuse_others(columns_of(table))
        constant = [name for name in self.schema.names if name in table.metadata().partition_columns]
        return whole(session, list(log.all(table.version())), self.schema.ddl, constant=constant)

    def _columns(self) -> Struct:
        """The columns of the table."""
        provide(NEEDS)
        table = self.place.table(self.version)
        check(self.place.path, table)
        return columns_of(table)

    def _refuse_others(self, columns: Struct) -> None:
        """Raise unless the table has these columns and types: a column that is not in its files would be null."""
        there = {field.name: field.type for field in columns.fields}
        for field in self.schema.fields:
            known = there.get(field.name)
            if known is None:
                raise self._unfit(f"it has no column {field.name}", f"it has: {', '.join(there)}")
            if known != field.type:
                raise self._unfit(f"its column {field.name} is {known}, not {field.type}", f'schema="{field.name} {known}, ..."')

    def _unfit(self, why: str, hint: str) -> ConnectorError:
        return ConnectorError("TABLE_SCHEMA", f"the table {self.place.path} does not fit: {why}", hint=hint)
