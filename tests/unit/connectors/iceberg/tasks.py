"""An Iceberg sink as a test opens it, and what an independent reader finds in its table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
from pyiceberg.catalog import load_catalog
from pyiceberg.table import Table

from headrace import ports
from headrace.connectors.iceberg import Sink


def catalog(folder: Path) -> dict[str, str]:
    return {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": str(folder / "wh")}


def table(folder: Path, name: str = "db.t") -> Table:
    return load_catalog("default", **catalog(folder)).load_table(name)


def sink(folder: Path, **options: Any) -> Sink:
    return Sink("db.t", catalog=catalog(folder), **options)


def opened(table_sink: Sink, sink_context: ports.SinkContext) -> Sink:
    table_sink.open(sink_context)
    table_sink.recover()
    return table_sink


def live_files(folder: Path, name: str = "db.t") -> set[str]:
    return {task.file.file_path.removeprefix("file://") for task in table(folder, name).scan().plan_files()}


def data_files(folder: Path) -> set[str]:
    return {str(path) for path in (folder / "wh").rglob("*.parquet")}


def rows_of(folder: Path, name: str = "db.t") -> list[tuple[Any, ...]]:
    """What an independent reader finds in the table: DuckDB, in the files that the newest snapshot names."""
    files = sorted(live_files(folder, name))
    names = ", ".join(f'"{field.name}"' for field in table(folder, name).schema().fields)
    return duckdb.sql(f"SELECT {names} FROM read_parquet({files!r}, union_by_name=true)").fetchall() if files else []
