"""What the tasks of a query would leave for an Iceberg sink, written by pyarrow."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog import load_catalog
from pyiceberg.table import Table

from headrace import ports
from headrace.connectors.iceberg import Sink

_attempts = itertools.count()


def catalog(folder: Path) -> dict[str, str]:
    return {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": str(folder / "wh")}


def table(folder: Path, name: str = "db.t") -> Table:
    return load_catalog("default", **catalog(folder)).load_table(name)


def sink(folder: Path, **given: Any) -> Sink:
    return Sink("db.t", catalog=catalog(folder), **given)


def opened(made: Sink, given: ports.SinkContext) -> Sink:
    made.open(given)
    made.recover()
    return made


def stage(made: Sink, epoch: int, rows: pa.Table, partition: Sequence[str | None] = ()) -> ports.Staged:
    """The rows in two files, as two tasks would write them; the columns that name the folders are in the files too."""
    wanted = made.stage()
    root = Path(wanted["folder"].removeprefix("file://"))
    attempt = next(_attempts)
    files: list[Mapping[str, Any]] = []
    folder = "".join(f"{name}={text or '__HIVE_DEFAULT_PARTITION__'}/" for name, text in zip(made.partition_by, partition, strict=True))
    for task in range(2):
        part = rows.slice(task * (rows.num_rows // 2), rows.num_rows // 2 if task == 0 else None)
        if not part.num_rows:
            continue
        if "prefix" in wanted:
            path = f"{folder}{wanted['prefix']}-{epoch}-{task}-{attempt}-run-{task:05}-000.snappy.parquet"
        else:
            path = f"_headrace/staging/{epoch}-{task}-{attempt}-run/part-{task:05}-000.snappy.parquet"
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(part, root / path)
        files.append({"path": path, "rows": part.num_rows, "bytes": (root / path).stat().st_size, "partition": list(partition)})
    return ports.Staged(rows.num_rows, tuple(files))


def live_files(folder: Path, name: str = "db.t") -> set[str]:
    return {task.file.file_path.removeprefix("file://") for task in table(folder, name).scan().plan_files()}


def data_files(folder: Path) -> set[str]:
    return {str(path) for path in (folder / "wh").rglob("*.parquet")}


def rows_of(folder: Path, name: str = "db.t") -> list[tuple[Any, ...]]:
    """What an independent reader finds in the table: DuckDB, in the files that the newest snapshot names."""
    files = sorted(live_files(folder, name))
    names = ", ".join(f'"{field.name}"' for field in table(folder, name).schema().fields)
    return duckdb.sql(f"SELECT {names} FROM read_parquet({files!r}, union_by_name=true)").fetchall() if files else []
