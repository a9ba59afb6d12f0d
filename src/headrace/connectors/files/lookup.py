"""Files as a table to look up rows in: loaded as a whole, and again when the table is too old."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

import headrace.ports as ports
from headrace.connectors.files.folders import ANY_NAMES, READS_SUBFOLDERS, in_subfolders, nothing_there, subfolders_notice
from headrace.connectors.files.remote import RemoteManifest
from headrace.connectors.reach import opened
from headrace.durable.manifest import CONTROL, committed_files
from headrace.errors import ConnectorError, here
from headrace.ports import option, paths
from headrace.schema import Struct, shown

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMATS = ("json", "csv", "parquet", "orc")


class Lookup(ports.Options, ports.Lookup):
    """Looks up rows of a file, a folder or a pattern, which each executor keeps in memory.

    The files are read when the job starts. With `refresh`, an epoch that begins when the copy is older than that reads the files again.
    A line that cannot be read ends the run (`LOOKUP_FAILED`). A repeated epoch may find other rows, so sinks downstream are at least once,
    unless the table is `constant`.

    Examples:
        >>> import headrace as hr
        >>> hr.lookup.files("customers.csv", format="csv", schema="customer string, country string", refresh="5 minutes")
        <Table customers: customer, country>
    """

    connector: ClassVar[str] = "files"

    path: str = option.path("a file, a folder or a pattern", example="customers.csv", kw_only=False)
    format: str = option.choice('`"json"` (one object per line), `"csv"`, `"parquet"` or `"orc"`', FORMATS)
    schema: Struct = option.schema("the columns of a row")
    refresh_ms: int | None = option.duration(
        "the maximum age of the copy in memory; without it, the files are read once",
        called="`refresh` of the lookup",
        alias="refresh",
        key="refresh_ms",
        default=None,
    )
    reader_options: dict[str, str] = option.texts(
        "options of [Spark's reader](#formats) for the format", alias="options", default=None, stored="always"
    )

    @property
    def reloads(self) -> bool:
        return True

    @property
    def traits(self) -> ports.LookupTraits:
        return ports.LookupTraits(repeatable=False, why="files may change before they are read again", whole=True)

    @property
    def default_name(self) -> str:
        parts = [part for part in re.split(r"[/\\]", self.path) if part and not paths.SIGNS.search(part) and not part.startswith(".")]
        return parts[-1].split(".")[0] if parts else "files"

    def describe(self) -> str:
        again = "" if self.refresh_ms is None else f", read again after {shown(self.refresh_ms)}"
        return f"files {self.path} ({self.format}{again})"

    def check(self) -> None:
        if paths.listed(self.path, self.reader_options) != []:
            return
        below = in_subfolders(self.path, self.reader_options)
        if below is not None:
            raise nothing_there(self.path, f"its files are in subfolders ({below})", READS_SUBFOLDERS)
        place = paths.local(self.path)
        raise ConnectorError("PATH_MISSING", f"there is no file {self.path}", hint=f"the full path is {place}", site=here())

    def notice(self) -> str | None:
        return subfolders_notice(self.path, self.reader_options)

    def load(self, session: SparkSession, context: ports.LookupContext) -> DataFrame:
        self.check()
        opened(session, self.path)
        reader = session.read.format(self.format).option("mode", "FAILFAST").option("timeZone", context.time_zone)
        reader = reader.options(**self.reader_options, **ANY_NAMES)
        committed = self._committed(session)
        inputs: str | list[str] = paths.for_reader(self.path) if committed is None else committed
        if committed is not None:
            # The folders between hold the values of partition columns.
            reader = reader.option("basePath", paths.for_hadoop(self.path)[0])
        if self.format != "csv":
            return reader.schema(self.schema.ddl).load(inputs)
        header = {name.lower(): value for name, value in self.reader_options.items()}.get("header", "true") == "true"
        reader = reader.option("header", str(header).lower())
        return reader.schema(self._in_order(reader.load(inputs).columns) if header else self.schema.ddl).load(inputs)

    def _committed(self, session: SparkSession) -> list[str] | None:
        """The files of complete epochs if a files sink wrote the folder, which has other files, too; else None."""
        place = paths.local(self.path)
        if place is not None:
            return [paths.escaped(file) for file in committed_files(place)] if (place / CONTROL).is_dir() else None
        if paths.SIGNS.search(self.path):
            return None
        manifest = RemoteManifest(session, self.path)
        return None if manifest.owner() is None else manifest.files()

    def _in_order(self, columns: list[str]) -> str:
        """The columns of a header with their types in the schema; others are read as text and dropped."""
        types = {field.name.lower(): field for field in self.schema.fields}
        return ", ".join(
            types[name.lower()].spelled(" ") if name.lower() in types else f"`{name.replace('`', '``')}` string" for name in columns
        )
