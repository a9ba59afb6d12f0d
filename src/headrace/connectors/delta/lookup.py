"""A Delta table to look up in: read as a whole, and again when it has a newer version."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from headrace import ports
from headrace.connectors.delta.columns import columns_of
from headrace.connectors.delta.log import Log, check
from headrace.connectors.delta.place import NEEDS, place
from headrace.connectors.lake.stores import stored
from headrace.connectors.reach import opened
from headrace.errors import ConnectorError
from headrace.jvm.packages import provide
from headrace.ports.options import number, wrong
from headrace.schema import Struct, milliseconds, schema_of, shown

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_VERB = "lookup.delta"


class Lookup(ports.Lookup):
    """Rows of a Delta table, kept in the memory of each executor.

    They are those of the newest version when the job starts, and with `refresh="5 minutes"` the first epoch that begins when they are older
    than that looks whether there is a newer one. `version` names one for good: what is looked up in it is the same whenever it is asked
    for. `schema` names the columns that are wanted; without it they are all of the table's, which is opened for that.

    >>> import headrace as hr
    >>> rates = hr.read.memory([("EUR", 1.1)], "currency string, rate double", name="rates")
    >>> summary = hr.job("rates", rates.write.delta("out/rates")).run(progress=False)
    >>> hr.lookup.delta("out/rates", refresh="5 minutes")
    <Table rates: currency, rate>
    """

    connector: ClassVar[str] = "delta"

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        schema: Any = None,
        version: int | None = None,
        refresh: str | timedelta | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.place = place(_VERB, path, storage_options)
        self.version = None if version is None else number(_VERB, "version", version, 0)
        self._refresh_ms = None if refresh is None else milliseconds(refresh, "how old the table may get")
        if self.version is not None and self._refresh_ms is not None:
            raise wrong(f"{_VERB}: a version stays as it is, so there is nothing to be read again", "leave out version= or refresh=")
        self.schema = self._columns() if schema is None else schema_of(schema)

    @property
    def traits(self) -> ports.LookupTraits:
        if self.version is not None:
            return ports.LookupTraits(repeatable=True, why=f"version {self.version} of the table stays as it is", whole=True)
        return ports.LookupTraits(repeatable=False, why="the table may have another version when it is read again", whole=True)

    @property
    def needs(self) -> ports.Packages:
        return NEEDS

    @property
    def refresh_ms(self) -> int | None:
        return self._refresh_ms

    @property
    def default_name(self) -> str:
        return self.place.folder

    def options(self) -> dict[str, Any]:
        given = {"path": self.place.path, "version": self.version, "refresh_ms": self._refresh_ms}
        storage = {"storage_options": stored(self.place.storage)} if self.place.storage else {}
        return {name: value for name, value in given.items() if value is not None} | storage

    @classmethod
    def from_options(cls, options: Mapping[str, Any], schema: Struct) -> Lookup:
        given = dict(options)
        refresh = given.pop("refresh_ms", None)
        return cls(**given, schema=schema, refresh=None if refresh is None else timedelta(milliseconds=refresh))

    def describe(self) -> str:
        which = "" if self.version is None else f" version {self.version}"
        again = "" if self._refresh_ms is None else f" (read again after {shown(self._refresh_ms)})"
        return f"delta {self.place.path}{which}{again}"

    def check(self) -> None:
        self._refuse_others(self._columns())

    def state(self) -> str:
        table = self.place.table(self.version)
        return f"{table.metadata().id} {table.version()}"

    def load(self, session: SparkSession, context: ports.LookupContext) -> DataFrame:
        from headrace.jvm.listed import whole

        opened(session, self.place.hadoop)
        log = Log(self.place, None, changes=False, follow=False, limit=None)
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
        """Complain of columns that the table does not have: what is not in its files would be null."""
        there = {field.name: field.type for field in columns.fields}
        for field in self.schema.fields:
            known = there.get(field.name)
            if known is None:
                raise self._unfit(f"it has no column {field.name}", f"it has: {', '.join(there)}")
            if known != field.type:
                raise self._unfit(f"its column {field.name} is {known}, not {field.type}", f'schema="{field.name} {known}, ..."')

    def _unfit(self, why: str, hint: str) -> ConnectorError:
        return ConnectorError("TABLE_SCHEMA", f"the table {self.place.path} does not fit: {why}", hint=hint)
