"""Folders of JSON, CSV, Parquet, ORC or Avro files, written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, ClassVar

import headrace.ports as ports
from headrace.connectors.files.folders import (
    FORMATS,
    TEXTS,
    for_spark,
    unwritable,
    whole_values,
)
from headrace.connectors.files.remote import PREFIX, RemoteManifest
from headrace.connectors.files.withdrawing import rewound
from headrace.durable.manifest import Manifest, Owner, StagedFile, clears, committed_files, files_gone, may_write
from headrace.durable.named import write_cure
from headrace.errors import ConnectorError, HeadraceError, here
from headrace.masking import masked_problem
from headrace.ports import option, paths
from headrace.ports.options import wrong
from headrace.schema import Array, Map, Struct

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_OF_WRITING = ("compression", "maxrecordsperfile", "ignorenullfields")
"""Options that readers do not depend on."""
_SUFFIXES = {"gzip": ".gz", "bzip2": ".bz2", "zstd": ".zst"}
_CLEANS = "staged files of an epoch that was not committed, until the next start"


class Sink(ports.Options, ports.Sink):
    """Writes a folder of JSON, CSV, Parquet, ORC or Avro files exactly once.

    A manifest for each epoch, written in one atomic step, lists the files that belong to the result. `hr.committed_files(path)` lists those
    of complete epochs, and `hr.read.files` without `follow=True` reads exactly these. Other readers of the folder may see a part of an
    epoch while it is committed. A folder belongs to one sink of one checkpoint (`FOLDER_OWNED`). Files are append-only: a stream with
    retractions needs `mode="changes"`.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 1)], "card string, amount int", name="charges")
        >>> hr.job("copy", charges.write.files("out/charges", format="parquet", partition_by="card"))
        <Job copy: charges.files>
    """

    connector: ClassVar[str] = "files"

    stored: ClassVar[str] = "always"

    path: str = option.path("a folder that only this sink writes", example="charges/", kw_only=False)
    format: str = option.choice('`"json"` (one object per line), `"csv"`, `"parquet"`, `"orc"` or `"avro"`', FORMATS)
    partition_by: tuple[str, ...] = option.columns("columns whose values name the folders: `day=2026-01-01/`", default=())
    writer_options: dict[str, str] = option.texts(
        "options of [Spark's writer](https://spark.apache.org/docs/latest/sql-data-sources.html) for the format",
        alias="options",
        default=None,
    )

    def __post_init__(self) -> None:
        verb = self.verb
        if self.format == "csv":
            self.writer_options.setdefault("header", "true")
        local = paths.local(self.path)
        if paths.SIGNS.search(self.path) if local is None else paths.split(local)[1] is not None:
            raise wrong(f"{verb}: the path {self.path} is a pattern", "name one folder")
        if local is not None and local.exists() and not local.is_dir():
            raise ConnectorError(
                "NOT_A_FOLDER", f"{self.path} is a file, and a files sink writes into a folder", hint="name a folder", site=here()
            )
        self._manifest: Manifest | RemoteManifest | None = None
        self._held: Callable[[], None] = lambda: None

    @property
    def traits(self) -> ports.SinkTraits:
        why = "a manifest per epoch decides which files belong to the result"
        return ports.SinkTraits("transactional", why, cleans=_CLEANS, marks=True, rewinds=not self._remote, swaps=True)

    @property
    def folder(self) -> Path:
        """The absolute path; a relative one starts in the folder in which the job runs."""
        return paths.local(self.path) or Path(self.path)

    @property
    def owns(self) -> str:
        return self.path.rstrip("/") if self._remote else str(self.folder.resolve())

    @property
    def example(self) -> PurePosixPath:
        """A file name of the form that it writes."""
        compression = self.writer_options.get("compression", "").lower() if self.format in TEXTS else ""
        name = f"{PREFIX}-{0:020}-00000.{self.format}{_SUFFIXES.get(compression, '')}"
        return PurePosixPath(self.owns, *(f"{column}=value" for column in self.partition_by), name)

    @property
    def _remote(self) -> bool:
        """Whether it writes to a store outside this machine's file systems."""
        return paths.local(self.path) is None

    def written_as(self, mode: str, schema: Struct) -> dict[str, Any]:
        text = self.format in TEXTS
        options = {name: value for name, value in self.writer_options.items() if name.lower() not in _OF_WRITING}
        nameless = self.format == "csv" and any(name.lower() == "header" and value.lower() == "false" for name, value in options.items())
        places = [name for name in schema.names if name not in self.partition_by] if nameless else []
        return {
            "format": self.format,
            "partition_by": list(self.partition_by),
            "mode": mode,
            **({"options": options} if text else {}),
            **({"places": places} if places else {}),
            "columns": {field.name: "" if text else field.type.text for field in schema.fields},
        }

    @classmethod
    def called(cls, options: Mapping[str, Any]) -> str:
        return paths.last(options["path"])

    @staticmethod
    def committed(folder: str) -> list[str]:
        """The files of all complete epochs in a folder of a store, oldest epoch first. Starts the session."""
        from headrace.jvm.session import session

        return RemoteManifest(session(), folder).files()

    def describe(self) -> str:
        return f"files {self.path} ({self.format}{' by ' + ', '.join(self.partition_by) if self.partition_by else ''})"

    def check(self, columns: tuple[str, ...]) -> None:
        for name in self.partition_by:
            if name not in columns:
                raise wrong(f"write.files: partition_by names `{name}`, which is not a column", f"the stream has: {', '.join(columns)}")
        if len(set(self.partition_by)) == len(columns):
            raise wrong(
                "write.files: partition_by names every column", "the files need at least one column that is not in the folder names"
            )

    def suits(self, name: str, schema: Struct) -> None:
        for column in self.partition_by:
            kind = schema.get(column)
            if kind is not None and (kind.text == "binary" or isinstance(kind, Struct | Array | Map)):
                text = f"base64({column})" if kind.text == "binary" else f"to_json({column})"
                raise HeadraceError(
                    "WRONG_TYPE",
                    f"{name}: column {column} of type {kind.text} cannot be in partition_by: folder names are strings",
                    hint=f'choose other columns, or convert it to a string: with_columns({column}_text="{text}")',
                )

    def mark(self, context: ports.SinkContext) -> ports.Mark | None:
        manifest = self._manifest_of(context)
        owner = manifest.owner()
        if owner is not None and (owner.checkpoint, owner.query) != (context.checkpoint_id, context.query):
            return ports.Mark()
        return replace(manifest.mark(), claimed=owner is not None)

    def examine(self, context: ports.SinkContext) -> None:
        if lost := self._manifest_of(context).lost():
            raise files_gone(lost)

    def rewind(self, context: ports.SinkContext, mark: ports.Mark) -> ports.Rewind:
        return rewound(self._manifest_of(context), context.name, mark)

    def may_open(self, context: ports.SinkContext) -> None:
        self._check_folder()
        why = None if self._remote else paths.unwritable(self.folder)
        if why is not None:
            raise self._not_writable(why)
        manifest, owner = self._manifest_of(context), _owner(context)
        current_owner = manifest.owner()
        if not (context.fresh and _cleared(current_owner, owner)):
            may_write(manifest.folder, current_owner, owner)
        self._try_options(context)

    def open(self, context: ports.SinkContext) -> None:
        self._try_options(context)
        manifest = self._manifest = self._manifest_of(context)
        self._held = context.held
        self._check_folder()
        owner = _owner(context)
        if context.fresh and _cleared(manifest.owner(), owner):
            self._held()
            manifest.clear()
        try:
            if not self._remote:
                self.folder.mkdir(parents=True, exist_ok=True)
            manifest.claim(owner)
        except OSError as cause:
            raise self._not_writable(cause.strerror or str(cause), cause) from masked_problem(cause)

    def recover(self) -> None:
        self._opened().recover(self._held)

    def stage(self) -> dict[str, Any]:
        place = {"folder": self.path, "prefix": PREFIX} if self._remote else {"folder": paths.literal(self.folder)}
        written = {
            "format": self.format,
            "options": whole_values(self.format, self.writer_options),
            "partition_by": list(self.partition_by),
        }
        return {"kind": "files", **written, **place}

    def _check_folder(self) -> None:
        if not self._remote and self.folder.exists() and not self.folder.is_dir():
            raise ConnectorError(
                "NOT_A_FOLDER", f"{self.path} is a file, and a files sink writes into a folder", hint="name a folder", site=here()
            )

    def _try_options(self, context: ports.SinkContext) -> None:
        """Raise if the options do not allow a file to be written."""
        if not self.writer_options:
            return
        schema = Struct(tuple(field for field in context.schema.fields if field.name not in self.partition_by))
        options = whole_values(self.format, self.writer_options)
        why = unwritable(context.session, self.format, schema, options, context.time_zone)
        if why is not None:
            raise wrong(f"{self.verb}: {context.name} cannot be written with its options: {why}", "correct the option, or leave it out")

    def _not_writable(self, why: str, cause: OSError | None = None) -> ConnectorError:
        return ConnectorError(
            "FOLDER_NOT_WRITABLE",
            f"{self.folder} cannot be written: {why}",
            hint=write_cure(cause, "give this user write permission on it, or choose another folder"),
            cause=cause,
        )

    def _manifest_of(self, context: ports.SinkContext) -> Manifest | RemoteManifest:
        return RemoteManifest(context.session, self.path, context.term) if self._remote else Manifest(self.folder, context.term)

    def _opened(self) -> Manifest | RemoteManifest:
        if self._manifest is None:
            raise RuntimeError("the sink is not open")
        return self._manifest

    def commit(self, epoch: int, staged: ports.Staged) -> None:
        files = [StagedFile(file["path"], file["rows"], file["bytes"]) for file in staged.files]
        self._opened().commit(epoch, files, staged.identity, whole=staged.whole)

    def elsewhere(self, place: ports.Elsewhere) -> Sink:
        return Sink(str(place.folder), format=self.format, partition_by=self.partition_by, options=self.writer_options)

    def uncomparable(self, mode: str) -> str | None:
        return "CSV does not return every value as it was written" if self.format == "csv" else None

    def contents(self, session: SparkSession, schema: Struct, mode: str) -> DataFrame:
        files = RemoteManifest(session, self.path).files() if self._remote else list(map(paths.escaped, committed_files(self.folder)))
        if not files:
            return session.createDataFrame([], schema.ddl)
        reader = session.read.format(for_spark(self.format)).schema(schema.ddl).options(**self.writer_options)
        read = reader.option("basePath", self.path if self._remote else paths.literal(self.folder)).load(files)
        return read.select(*(f"`{name.replace('`', '``')}`" for name in schema.names))


def _owner(context: ports.SinkContext) -> Owner:
    return Owner(context.job, context.name, context.checkpoint_id, context.query)


def _cleared(current_owner: Owner | None, owner: Owner) -> bool:
    """Whether a fresh start removes the contents of a folder."""
    return current_owner is None or clears(current_owner, owner)
