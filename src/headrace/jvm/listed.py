"""DataFrames of Parquet files that Python lists, through the kernel's `Listed` source."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from headrace.errors import HeadraceError
from headrace.jvm.callbacks import listen
from headrace.jvm.frames import java_session, python_frame
from headrace.jvm.session import jvm
from headrace.masking import masked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Position = dict[str, Any]
File = dict[str, Any]


class Log(Protocol):
    """A table that grows by versions. A position in it is a JSON object in a form of the log's own."""

    def latest(self, start: Position | None) -> Position | None:
        """Return the position up to which the next epoch reads after one that ended at `start`; None if there is nothing new."""

    def files(self, start: Position | None, end: Position) -> list[File]:
        """Return the files between two positions, each with `path`, `bytes`, `values` and, for a source of changes, `change`."""


def listed(spark: SparkSession, log: Log, ddl: str, *, constant: Sequence[str] = (), changes: bool = False) -> DataFrame:
    """Return the streaming DataFrame of a log's files. `constant`: the columns that have one value per file and are not in the file."""
    listen(spark)
    lister = _Lister(log)
    frame = jvm(spark).headrace.source.Listed.frame(java_session(spark), lister, ddl, json.dumps(list(constant)), changes)
    return python_frame(spark, frame)


def whole(spark: SparkSession, files: Sequence[File], ddl: str, *, constant: Sequence[str] = ()) -> DataFrame:
    """Return the DataFrame of some files, read once."""
    frame = jvm(spark).headrace.source.Listed.whole(java_session(spark), json.dumps(list(files)), ddl, json.dumps(list(constant)))
    return python_frame(spark, frame)


class _Lister:
    """A log as the JVM calls it: texts as arguments and results, also for errors."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def latest(self, start: str | None) -> str | None:
        offset = _result(lambda: self._log.latest(None if start is None else json.loads(start)))
        return None if offset is None else json.dumps(offset, sort_keys=True)

    def files(self, start: str | None, end: str) -> str:
        return json.dumps(_result(lambda: self._log.files(None if start is None else json.loads(start), json.loads(end))))

    class Java:
        # py4j's declaration of the interface through which the JVM calls this object
        implements = ("headrace.source.Lister",)


def _result(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except HeadraceError as error:
        return {"code": error.code, "message": error.message}
    except Exception as problem:
        # An exception that left this call would put a Python traceback into a Java one.
        return {"code": "TABLE_UNREADABLE", "message": masked(f"{type(problem).__name__}: {problem}")}


def position(checkpoint: Path, source: str) -> Position | None:
    """Return the position up to which a checkpoint's query has read a source; None if it has read nothing."""
    logs = sorted((file for file in (checkpoint / "offsets").glob("*") if file.name.isdigit()), key=lambda file: int(file.name))
    # The name as the kernel gives it to Spark: other characters by their codes.
    name = "".join(sign if sign == "_" or (sign.isascii() and sign.isalnum()) else f"_{ord(sign):x}_" for sign in source)
    for line in logs[-1].read_text(encoding="utf-8").splitlines()[2:] if logs else ():
        if line.startswith(f"{name}:"):
            place: Position = json.loads(line[len(name) + 1 :])
            return place
    return None
