"""What folders of files have in common, read or written: their paths, and what is to be said of them."""

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

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMATS = ("json", "csv", "parquet", "orc", "avro")
TEXTS = ("json", "csv")
_OF_SCANS = ("_file", "_position", "_broken", "_problem", "_tombstone", "_weight")


ANY_NAMES = {"fs.file.impl": "headrace.source.AnyNames", "fs.file.impl.disable.cache": "true"}
"""With these options a reader of Spark's takes local files of any name; Hadoop takes what stands in front of a colon for a scheme."""


def for_spark(format: str) -> str:
    """Spark has the classes of Avro, and does not know them by that name."""
    return "org.apache.spark.sql.avro.AvroFileFormat" if format == "avro" else format


def read_before(query: Path) -> dict[Path | None, int | None]:
    """The files that the sources of a query have read, with their lengths (`lengths_read`)."""
    return {paths.local(path): length for log in query.glob("sources/*") for path, length in lengths_read(log).items()}


def unread(files: Iterable[Path], query: Path) -> int:
    """How many of some files a query has not read, or not as they are now."""
    read = read_before(query)
    return sum(file not in read or (read[file] is not None and _other(file, read[file])) for file in files)


def _other(file: Path, length: int | None) -> bool:
    """Whether a file has another length by now; one that was read may go."""
    return file.exists() and file.stat().st_size != length


def refuse_changed(query: Path, source: str) -> None:
    """Refuse to read an epoch again whose files are no more as it has read them. Those in stores are for the kernel to look at."""
    for path, length in read_by_last_epoch(query, source).items():
        file = paths.local(path)
        if file is None:
            continue
        try:
            now = file.stat().st_size
        except FileNotFoundError:
            raise _changed(f"{file} was read, and is gone now") from None
        if length is not None and now != length:
            raise _changed(f"{file} had {length} byte{'' if length == 1 else 's'} when it was read and has {now} now")


def _changed(what: str) -> HeadraceError:
    return HeadraceError("FILE_CHANGED", f"{what}, and a sink has its epoch, which was cut off", hint=CODES["FILE_CHANGED"].cure)


def nothing_there(path: str, why: str, cure: str) -> ConnectorError:
    return ConnectorError("PATH_EMPTY", f"there is nothing to read in {path}: {why}", hint=cure, site=here())


READS_SUBFOLDERS = 'options={"recursiveFileLookup": "true"} reads subfolders, too'


def in_subfolders(path: str, options: Mapping[str, str]) -> str | None:
    """How many files lie in which subfolder that is not read; None where there are none, and where manifests say what is read."""
    place = paths.local(path)
    files = [] if place is None or (place / CONTROL).is_dir() else paths.passed_over(path, options)
    if not files:
        return None
    first = files[0].parent
    there = sum(file.parent == first for file in files)
    more = f" and {len(files) - there} in others" if len(files) > there else ""
    return f"{there} file{'' if there == 1 else 's'} in {first}{more}"


def subfolders_notice(path: str, options: Mapping[str, str]) -> str | None:
    """What a start prints of a path with subfolders that are not read."""
    below = in_subfolders(path, options)
    return None if below is None else f"does not read the subfolders of {path}, with {below}; {READS_SUBFOLDERS}"


def no_columns_of_scans(format: str, schema: Struct) -> None:
    """Columns of lines are parsed from a text; those of other files stand beside the columns of scans (`ports.Source.scan`)."""
    taken = [name for name in schema.names if name.lower() in _OF_SCANS]
    if taken and format not in TEXTS:
        raise wrong(
            f"read.files: a column of {format} files cannot be called {', '.join(taken)}: scans have columns of that name",
            "leave it out of the schema, or have the files written with another name",
        )


def no_partition_folders(folder: Path, schema: Struct) -> None:
    if not folder.is_dir():
        return
    for name in schema.names:
        if any(folder.glob(f"**/{glob.escape(name)}=*/")):
            raise ConnectorError(
                "PARTITION_FOLDERS",
                f"{folder} has folders {name}=..., and JSON and CSV files are read without the columns in their folders' names",
                hint="read Parquet, or leave the column out of the schema",
                site=here(),
            )


def reader_options(format: str, options: dict[str, str]) -> dict[str, str]:
    """What the user gave, with CSV's header on, which most files have."""
    for name in options:
        if name.lower() in ("mode", "columnnameofcorruptrecord", "path", "multiline"):
            raise wrong(
                f"read.files: `{name}` cannot be among the options",
                'rows are one a line; malformed="dead_letter", "fail" or "skip" says what becomes of bad ones',
            )
    lower = {name.lower(): value for name, value in options.items()}
    return {"header": "true", **lower} if format == "csv" else lower


# As `letter/Moments.scala` has them for dead letters: the SSSSSSXXX of Spark's patterns are microseconds and the offset of the zone.
_TIMES = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"}
_BLANKS = {"ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"}
_WHOLE = {"json": _TIMES, "csv": {**_TIMES, **_BLANKS}}


def whole_values(format: str, options: Mapping[str, str]) -> dict[str, str]:
    """As text, times keep their microseconds and texts the blanks around them unless the user says otherwise; Spark's own defaults drop
    both.
    """
    given = {name.lower() for name in options}
    return {**{name: value for name, value in _WHOLE.get(format, {}).items() if name.lower() not in given}, **options}


def unwritable(session: SparkSession, format: str, schema: Struct, options: Mapping[str, str], time_zone: str) -> str | None:
    """Why Spark's writer takes no row with some options; None if it does. A file is written to a folder that goes at once."""
    with TemporaryDirectory() as folder:
        given = java_map(session, options)
        why = jvm(session).headrace.query.Trial.file(java_session(session), format, schema.ddl, given, folder, time_zone)
    return None if why is None else first_lines(str(why))


def broken(session: SparkSession, problem: Exception) -> HeadraceError | None:
    """The error for a file whose columns cannot be found because it is cut off or damaged; None for any other problem."""
    java = getattr(problem, "java_exception", None) or getattr(problem, "_origin", None)
    found = {} if java is None else json.loads(jvm(session).headrace.query.Trouble.json(java))
    if found.get("condition") != "FILE_BROKEN":
        return None
    hint = found["hint"] or 'put a whole copy of it in its place, or give the schema: schema="card string, amount double"'
    return HeadraceError("FILE_BROKEN", found["message"], hint=hint, site=here())
