"""Dead letters that a user has repaired: files in the checkpoint that are read as rows of their source, each file once.

repaired/SOURCE/00001-3f2a91c07b3e.json     lines in the format of the source, numbered in the order they were given

They have a scan of their own, with offsets of its own. From there on they are rows of the source, with its name, watermark and routes. A
file is identified by its name, so that a checkpoint may be moved.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.durable.filelog import paths_read
from headrace.ops import Source
from headrace.ports import Lines, paths
from headrace.spark.checkpoint.offsets import offset_name
from headrace.spark.compile.identity import repaired_scan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def folder(checkpoint: Path, source: str) -> Path:
    """Return the folder of a source's repaired files."""
    return checkpoint / "repaired" / source


def scan(
    session: SparkSession, checkpoint: Path, source: Source, lines: Lines, *, pending: bool, anew: bool
) -> tuple[DataFrame, dict[str, Any]]:
    """Return the DataFrame of the repaired rows, and how the kernel reads it; `pending` and `anew` as in `SourceContext`."""
    options = {
        "path": paths.literal(folder(checkpoint, str(source.name))),
        "reader": "lines",
        "ddl": source.schema,
        "by": "name",
        "follow": "true",
        "moves": "true",
        "pending": str(pending).lower(),
        "anew": str(anew).lower(),
        **{f"reader.{name}": value for name, value in lines.options.items()},
    }
    frame = session.readStream.format("headrace.source.Files").options(**options).load()
    return frame, {"scan": repaired_scan(str(source.name)), "kind": lines.kind, "options": dict(lines.options)}


def files(checkpoint: Path, source: str) -> list[Path]:
    """Return the repaired files of a source, in the order in which they were given."""
    place = folder(checkpoint, source)
    return sorted(path for path in place.iterdir() if not path.name.startswith(".")) if place.is_dir() else []


def unread(checkpoint: Path, query: Path, source: str) -> int:
    """Return the number of repaired files that a query has not read."""
    log = query / "sources" / offset_name(repaired_scan(source))
    read = {path.rpartition("/")[2] for path in paths_read(log)}
    return sum(path.name not in read for path in files(checkpoint, source))


def give(checkpoint: Path, source: str, text: bytes, digest: str, suffix: str) -> Path:
    """Add a file to those of a source, whole or not at all. Replaces none."""
    place = folder(checkpoint, source)
    place.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=".", dir=place)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        number = 1 + max((int(path.name.partition("-")[0]) for path in files(checkpoint, source)), default=0)
        while True:
            final = place / f"{number:05}-{digest}{suffix}"
            try:
                os.link(temporary, final)
                return final
            except FileExistsError:
                number += 1
    finally:
        os.unlink(temporary)
