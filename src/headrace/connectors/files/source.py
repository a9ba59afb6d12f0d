"""Folders of JSON, CSV, Parquet, ORC or Avro files, read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import headrace.ports as ports
from headrace.connectors import beginnings
from headrace.connectors.files.folders import (
    ANY_NAMES,
    FORMATS,
    READS_SUBFOLDERS,
    TEXTS,
    broken,
    for_spark,
    in_subfolders,
    no_columns_of_scans,
    no_partition_folders,
    nothing_there,
    read_before,
    reader_options,
    refuse_changed,
    subfolders_notice,
    unread,
)
from headrace.connectors.files.remembered import same
from headrace.connectors.files.remote import RemoteManifest
from headrace.connectors.files.sink import Sink
from headrace.connectors.reach import opened
from headrace.durable.manifest import CONTROL, Manifest, committed_files, files_gone
from headrace.errors import ConnectorError, here
from headrace.ports import option, paths
from headrace.ports.options import wrong
from headrace.schema import Struct, schema_of
from headrace.spelling import suggestion

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ORDERS = ("name", "time")

_ALIASES = {"delimiter": "sep", "charset": "encoding"}
_OF_FINDING = (
    "pathglobfilter",
    "recursivefilelookup",
    "modifiedbefore",
    "modifiedafter",
    "ignoremissingfiles",
    "ignorecorruptfiles",
    "inferschema",
    "infertimestamp",
    "samplingratio",
)
"""Options that decide which files are read, or how columns are inferred; not how a row is read."""


class Source(ports.Options, ports.Source):
    """Reads the rows of JSON, CSV, Parquet, ORC or Avro files.

    The source is replayable: the checkpoint has the path and length of each file, and a repeated epoch reads the same files. A file is read
    once. A line that cannot be read becomes a dead letter, unless `malformed` says otherwise. A truncated or damaged file ends the run
    (`FILE_BROKEN`), unless `broken_files` says otherwise. A file whose length changes later gives one dead letter (`FILE_CHANGED`) and is
    not read again.

    Examples:
        >>> import headrace as hr
        >>> hr.read.files("charges/", format="json", schema="card string, amount decimal(10,2), ts timestamp")
        <Stream charges: card, amount, ts>
    """

    connector: ClassVar[str] = "files"
    feeds: ClassVar[bool] = True

    stored: ClassVar[str] = "always"

    path: str = option.path("a file, a folder or a pattern", example="charges/", kw_only=False)
    format: str = option.choice('`"json"` (one object per line), `"csv"`, `"parquet"`, `"orc"` or `"avro"`', FORMATS)
    schema: Struct | None = option.schema("the columns; without it, they are inferred once by reading the files", default=None)
    follow: bool = option.flag("also read files that are added later", default=False)
    by: str = option.choice(
        'the order of files that are found together: `"name"`, by the whole path, or `"time"`, by modification time',
        _ORDERS,
        default="name",
    )
    files_per_epoch: int | None = option.number("the maximum number of files per epoch", default=None)
    malformed: str = option.choice(
        'for a line or row that cannot be read: `"dead_letter"`; `"fail"` ends the run; `"skip"` only counts it',
        ports.MALFORMED,
        default="dead_letter",
    )
    broken_files: str = option.choice(
        'for a truncated or damaged file: `"fail"` ends the run; `"skip"` makes it one dead letter',
        ("fail", "skip"),
        default="fail",
        stored="given",
    )
    reader_options: dict[str, str] = option.texts("options of [Spark's reader](#formats) for the format", alias="options", default=None)

    def __post_init__(self) -> None:
        self.reader_options = reader_options(self.format, self.reader_options)
        if self.schema is not None:
            no_columns_of_scans(self.format, self.schema)

    @property
    def traits(self) -> ports.SourceTraits:
        return ports.SourceTraits(bounded=not self.follow, replayable=True, why="the files are read again", ordered=self.by)

    def read_as(self) -> dict[str, Any]:
        # without the format: files of another format are other files
        return {_ALIASES.get(name, name): value for name, value in self.reader_options.items() if name not in _OF_FINDING}

    def reads_from(self) -> str:
        return str(paths.local(self.path) or self.path)

    @property
    def repairs(self) -> ports.Lines:
        if self.format not in TEXTS:
            return ports.Lines("json")
        # A repaired file is written by an editor: lines of UTF-8.
        plain = {name: value for name, value in self.reader_options.items() if name not in ("encoding", "charset", "linesep")}
        return ports.Lines(self.format, plain)

    @property
    def default_name(self) -> str:
        parts = [part for part in re.split(r"[/\\]", self.path) if part and not paths.SIGNS.search(part) and not part.startswith(".")]
        return parts[-1].split(".")[0] if parts else "files"

    def describe(self) -> str:
        skips = ", broken files skipped" if self.broken_files == "skip" else ""
        return f"files {self.path} ({self.format}{', follow' if self.follow else ''}{skips})"

    def check(self) -> None:
        local = paths.local(self.path)
        if local is None:
            return
        if paths.split(local)[1] is not None:
            return
        if not local.exists():
            near = sorted(other.name for other in local.parent.iterdir() if other.is_dir()) if local.parent.is_dir() else []
            beside = f"; the parent folder has: {', '.join(near[:5])}" if near else ""
            hint = suggestion(local.name, near, f"the full path is {local}{beside}")
            raise ConnectorError("PATH_MISSING", f"there is no file or folder {self.path}", hint=hint, site=here())
        if self.format in TEXTS and self.schema is not None:
            no_partition_folders(local, self.schema)

    def check_first(self) -> None:
        self._some_file("put files there first, or wait for them with follow=True")

    def notice(self) -> str | None:
        return subfolders_notice(self.path, self.reader_options)

    def _some_file(self, cure: str) -> None:
        """Raise if there is no file to read now."""
        local = paths.local(self.path)
        if local is None or self.follow or paths.listed(self.path, self.reader_options):
            return
        below = in_subfolders(self.path, self.reader_options)
        if below is not None:
            raise nothing_there(self.path, f"its files are in subfolders ({below})", READS_SUBFOLDERS)
        if paths.split(local)[1] is not None:
            raise nothing_there(self.path, "no file matches the pattern", cure)
        if local.is_dir():
            ignored = paths.ignored(local)
            if ignored:
                why = f"Spark ignores its files, whose names begin with `_` or `.`: {', '.join(ignored[:5])}"
                raise nothing_there(self.path, why, f"rename them, {cure}")
            raise nothing_there(self.path, "the folder has no files", cure)

    def infer(self, session: SparkSession) -> Struct:
        self.check()
        self._some_file('put files there first, or give the columns: schema="card string, amount double"')
        opened(session, self.path)
        looks = {"csv": {"inferSchema": "true"}, "json": {"inferTimestamp": "true"}}
        reader = session.read.format(for_spark(self.format)).options(**looks.get(self.format, {}), **self.reader_options, **ANY_NAMES)
        committed = [paths.escaped(file) for file in self._committed() or ()]
        if committed:
            reader = reader.option("basePath", paths.for_hadoop(self.path)[0])
        try:
            inferred = schema_of(reader.load(committed or paths.for_reader(self.path)).schema)
        except Exception as problem:
            raise broken(session, problem) or problem from None
        fields = tuple(field for field in inferred.fields if field.name != "_corrupt_record")
        if not fields:
            raise ConnectorError(
                "SCHEMA_NEEDED",
                f"no columns were found in {self.path}",
                hint='give the schema: schema="card string, amount double"',
                site=here(),
            )
        self.schema = Struct(fields)
        no_columns_of_scans(self.format, self.schema)
        return self.schema

    def scan(self, session: SparkSession, context: ports.SourceContext) -> tuple[DataFrame, dict[str, Any]]:
        self.check()
        opened(session, self.path)
        schema = self._schema()
        lines = self.format in TEXTS
        path, pattern = paths.for_hadoop(self.path)
        options = {
            "path": path,
            "pattern": str(pattern).lower(),
            "reader": "lines" if lines else self.format,
            "ddl": schema.ddl,
            "by": self.by,
            "follow": str(self.follow).lower(),
            **{f"reader.{key}": value for key, value in self.reader_options.items()},
        }
        if self.files_per_epoch is not None:
            options["limit"] = str(self.files_per_epoch)
        if self.broken_files == "skip":
            options["broken"] = "skip"
        options |= {name: "true" for name in ("pending", "anew") if getattr(context, name)}
        committed = self._listed(session)
        if committed is not None:
            same(context, self._manifest(session))
        if committed is not None and not self.follow:
            self._refuse_lost(session, context)
            options["files"] = json.dumps(committed)
        # The kernel sets the frame's name in Spark's logs.
        frame = session.readStream.format("headrace.source.Files").options(**options).load()
        return frame, {"kind": self.format, "options": self.reader_options} if lines else {"kind": "columns"}

    def reads(self, sink: ports.Sink) -> bool:
        return isinstance(sink, Sink) and paths.reads(self.path, self.reader_options, sink.example)

    def refuse_other_input(self, session: SparkSession, context: ports.SourceContext) -> None:
        refuse_changed(context.checkpoint, context.name)

    def unread(self, session: SparkSession, context: ports.SourceContext) -> int | None:
        committed = self._committed()
        files = committed if committed is not None else paths.listed(self.path, self.reader_options)
        if files is None:
            return None
        return unread(files, context.checkpoint)

    def beginning(self, session: SparkSession, place: ports.Elsewhere, rows: int, epochs: int) -> Source | None:
        committed = self._committed()
        files = committed if committed is not None else paths.listed(self.path, self.reader_options)
        if files is None:
            return None
        if self.by == "time":
            files = sorted(files, key=lambda file: file.stat().st_mtime_ns)
        if self.format in TEXTS:
            header = self.format == "csv" and self.reader_options.get("header") == "true"
            beginnings.of_lines(files, place.folder, self.format, rows, epochs, header=header)
            return Source(
                str(place.folder),
                format=self.format,
                schema=self.schema,
                files_per_epoch=1,
                malformed=self.malformed,
                options=self.reader_options,
            )
        reader = session.read.format(for_spark(self.format)).schema(self._schema().ddl).options(**self.reader_options, **ANY_NAMES)
        first_rows: list[Any] = []
        for few in range(1, len(files) + 1):
            read = reader.option("basePath", paths.for_hadoop(self.path)[0]).load([paths.escaped(file) for file in files[:few]])
            first_rows = read.limit(rows).collect()
            if len(first_rows) >= rows:
                break
        beginnings.of_rows(session, first_rows, self._schema(), place.folder, epochs)
        return Source(str(place.folder), format="parquet", schema=self.schema, files_per_epoch=1)

    def _schema(self) -> Struct:
        if self.schema is None:
            raise ConnectorError(
                "SCHEMA_NEEDED", f"{self.path} has no schema", hint='give it: schema="card string, amount double"', site=here()
            )
        return self.schema

    def _listed(self, session: SparkSession) -> list[str] | None:
        """The files of complete epochs as Hadoop takes them, if a files sink wrote the folder, else None."""
        if paths.local(self.path) is not None:
            committed = self._committed()
            return None if committed is None else [paths.literal(file) for file in committed]
        if paths.SIGNS.search(self.path):
            return None
        manifest = RemoteManifest(session, self.path)
        if manifest.owner() is not None:
            if self.follow:
                raise wrong(
                    f"read.files: {self.path} is the folder of a files sink, and in an object store files exist before they are committed",
                    "read it without follow=True: then only committed files are read",
                )
            return manifest.files()
        if not self.follow and not manifest.store.exists():
            raise ConnectorError("PATH_MISSING", f"there is no file or folder {self.path}", hint="check its name", site=here())
        return None

    def _refuse_lost(self, session: SparkSession, context: ports.SourceContext) -> None:
        """Raise if committed files that were not read are missing: their rows would be lost silently."""
        lost: list[Any] = list(self._manifest(session).lost())
        if self.broken_files == "skip":
            # A truncated file becomes a dead letter; a missing one would leave no trace.
            lost = [file for file in lost if not (isinstance(file, Path) and file.exists())]
        if lost:
            read = read_before(context.checkpoint)
            if gone := [file for file in lost if file not in read]:
                raise files_gone(gone)

    def _manifest(self, session: SparkSession) -> Manifest | RemoteManifest:
        local = paths.local(self.path)
        return RemoteManifest(session, self.path) if local is None else Manifest(local)

    def _committed(self) -> list[Path] | None:
        """The files of complete epochs, if a files sink wrote the local folder, else None."""
        local = paths.local(self.path)
        return committed_files(local) if local is not None and (local / CONTROL).is_dir() else None
