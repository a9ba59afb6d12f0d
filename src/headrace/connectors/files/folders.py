"""Helpers for reading and writing folders of files: their paths, and messages about them."""

from __future__ import annotations

import glob
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from headrace.durable.filelog import lengths_read, read_by_last_epoch
from headrace.durable.manifest import CONTROL
from headrace.errors import CODES, ConnectorError, HeadraceError, here
from headrace.jvm.frames import java_map, java_session
from headrace.jvm.messages import first_lines
from headrace.jvm.session import jvm
from headrace.ports import paths
from headrace.ports.options import wrong
from headrace.schema import Struct
from headrace.spelling import listing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMATS = ("json", "csv", "parquet", "orc", "avro")
TEXTS = ("json", "csv")
_OF_SCANS = ("_file", "_position", "_broken", "_problem", "_tombstone", "_weight")


ANY_NAMES = {"fs.file.impl": "headrace.source.AnyNames", "fs.file.impl.disable.cache": "true"}
"""Options that let Spark's readers take local files of any name; Hadoop parses the part before a colon as a scheme."""


def for_spark(format: str) -> str:
    """The name of a format in Spark, which knows Avro only by its class."""
    return "org.apache.spark.sql.avro.AvroFileFormat" if format == "avro" else format


def read_before(query: Path) -> dict[Path | None, int | None]:
    """The local files that the sources of a query have read, with their lengths (`lengths_read`)."""
    return {paths.local(path): length for log in query.glob("sources/*") for path, length in lengths_read(log).items()}


def unread(files: Iterable[Path], query: Path) -> int:
    """The number of files that a query has not read, or not in their present state."""
    read = read_before(query)
    return sum(file not in read or (read[file] is not None and _other(file, read[file])) for file in files)


def _other(file: Path, length: int | None) -> bool:
    """Whether a file has another length now; one that was read may be deleted."""
    return file.exists() and file.stat().st_size != length


def refuse_changed(query: Path, source: str) -> None:
    """Refuse to read an epoch again if its local files have changed since they were read. The kernel checks files in stores."""
    for path, length in read_by_last_epoch(query, source).items():
        file = paths.local(path)
        if file is None:
            continue
        try:
            now = file.stat().st_size
        except FileNotFoundError:
            raise _changed(f"{file} was deleted after it was read") from None
        if length is not None and now != length:
            raise _changed(f"{file} had {length} byte{'' if length == 1 else 's'} when it was read and has {now} now")


def _changed(what: str) -> HeadraceError:
    return HeadraceError("FILE_CHANGED", f"{what}; its epoch was interrupted after a sink had written it", hint=CODES["FILE_CHANGED"].cure)


def nothing_there(path: str, why: str, cure: str) -> ConnectorError:
    return ConnectorError("PATH_EMPTY", f"there is nothing to read in {path}: {why}", hint=cure, site=here())


READS_SUBFOLDERS = 'to read subfolders too, set options={"recursiveFileLookup": "true"}'


def in_subfolders(path: str, options: Mapping[str, str]) -> str | None:
    """The files in subfolders that are not read, in words; None if there are none, or if manifests list the files to read."""
    place = paths.local(path)
    files = [] if place is None or (place / CONTROL).is_dir() else paths.passed_over(path, options)
    if not files:
        return None
    first = files[0].parent
    there = sum(file.parent == first for file in files)
    more = f" and {len(files) - there} in others" if len(files) > there else ""
    return f"{there} file{'' if there == 1 else 's'} in {first}{more}"


def subfolders_notice(path: str, options: Mapping[str, str]) -> str | None:
    """The line that a start prints about a path whose subfolders are not read."""
    below = in_subfolders(path, options)
    return None if below is None else f"does not read the subfolders of {path} ({below}); {READS_SUBFOLDERS}"


def no_columns_of_scans(format: str, schema: Struct) -> None:
    """Refuse columns with names that scans use (`ports.Source.scan`). Formats of lines may have them, since their columns are parsed from a
    text.
    """
    taken = [name for name in schema.names if name.lower() in _OF_SCANS]
    if taken and format not in TEXTS:
        names, them = ("this name is", "it") if len(taken) == 1 else ("these names are", "them")
        raise wrong(
            f"read.files: columns of {format} files cannot be named {listing(taken, 'or')}: {names} reserved",
            f"remove {them} from the schema, or write the files with other column names",
        )


def no_partition_folders(folder: Path, schema: Struct) -> None:
    if not folder.is_dir():
        return
    for name in schema.names:
        if any(folder.glob(f"**/{glob.escape(name)}=*/")):
            raise ConnectorError(
                "PARTITION_FOLDERS",
                f"{folder} has folders {name}=..., but for JSON and CSV files columns are not read from folder names",
                hint=f"use Parquet, ORC or Avro, or remove `{name}` from the schema",
                site=here(),
            )


def reader_options(format: str, options: dict[str, str]) -> dict[str, str]:
    """The user's options, with a CSV header by default, since most files have one."""
    for name in options:
        if name.lower() in ("mode", "columnnameofcorruptrecord", "path", "multiline"):
            raise wrong(
                f"read.files: Spark's option `{name}` cannot be set",
                'set malformed="dead_letter", "fail" or "skip" for rows that cannot be read',
            )
    lower = {name.lower(): value for name, value in options.items()}
    return {"header": "true", **lower} if format == "csv" else lower


# As in `letter/TimeFormats.scala` for dead letters: SSSSSSXXX in Spark's patterns is microseconds and the offset of the zone.
_TIMES = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"}
_BLANKS = {"ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"}
_WHOLE = {"json": _TIMES, "csv": {**_TIMES, **_BLANKS}}


def whole_values(format: str, options: Mapping[str, str]) -> dict[str, str]:
    """Options that keep the microseconds of times, and blanks around texts, unless the user sets them; Spark's defaults drop both."""
    option_names = {name.lower() for name in options}
    return {**{name: value for name, value in _WHOLE.get(format, {}).items() if name.lower() not in option_names}, **options}


def unwritable(session: SparkSession, format: str, schema: Struct, options: Mapping[str, str], time_zone: str) -> str | None:
    """The reason why Spark's writer rejects these options; None if it accepts them. Writes a file to a temporary folder."""
    with TemporaryDirectory() as folder:
        java_options = java_map(session, options)
        why = jvm(session).headrace.query.Trial.file(java_session(session), format, schema.ddl, java_options, folder, time_zone)
    return None if why is None else first_lines(str(why))


def broken(session: SparkSession, problem: Exception) -> HeadraceError | None:
    """The error for a file whose columns cannot be inferred because it is truncated or damaged; None for any other problem."""
    java = getattr(problem, "java_exception", None) or getattr(problem, "_origin", None)
    trouble = {} if java is None else json.loads(jvm(session).headrace.query.Trouble.json(java))
    if trouble.get("condition") != "FILE_BROKEN":
        return None
    hint = trouble["hint"] or 'replace it with a complete copy, or give the schema: schema="card string, amount double"'
    return HeadraceError("FILE_BROKEN", trouble["message"], hint=hint, site=here())
