"""The first rows of a source, written to a few files, one for each epoch."""

from __future__ import annotations

import gzip
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.ports import paths
from headrace.schema import Struct

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def of_lines(files: Iterable[Path], folder: Path, suffix: str, rows: int, epochs: int, *, header: bool) -> None:
    """Write the first lines of files. With `header`, the first line of each file is not a row, and every new file begins with it."""
    first = b""

    def lines(file: Path) -> Iterator[bytes]:
        nonlocal first
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as text:
            read = (line if line.endswith(b"\n") else line + b"\n" for line in text)
            if header:
                first = next(read, b"")
            yield from read

    taken = list(islice(chain.from_iterable(map(lines, files)), rows))
    folder.mkdir(parents=True)
    for number, part in enumerate(parts(taken, epochs)):
        (folder / f"{number:05}.{suffix}").write_bytes(first + b"".join(part))


def of_rows(session: SparkSession, rows: Sequence[Any], schema: Struct, folder: Path, epochs: int) -> None:
    """Write rows of Python values as Parquet."""
    folder.mkdir(parents=True)
    for number, part in enumerate(parts(rows, epochs)):
        staging_folder = folder / f".{number}"
        frame = session.createDataFrame(list(part), schema.ddl)
        frame.coalesce(1).write.option("parquet.outputTimestampType", "TIMESTAMP_MICROS").parquet(paths.literal(staging_folder))
        written = next(staging_folder.glob("part-*.parquet"))
        written.rename(folder / f"{number:05}.parquet")
        for file in staging_folder.iterdir():
            file.unlink()
        staging_folder.rmdir()


def parts(rows: Sequence[Any], epochs: int) -> Iterator[Sequence[Any]]:
    """Rows in parts, one per epoch.

    >>> list(parts([1, 2, 3, 4, 5], 2)), list(parts([], 2))
    ([[1, 2, 3], [4, 5]], [[]])
    """
    size = max(math.ceil(len(rows) / max(epochs, 1)), 1)
    return (rows[at : at + size] for at in range(0, max(len(rows), 1), size))
