"""A Delta sink as a test opens it, and what an independent reader finds in its table."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import duckdb
from deltalake import DeltaTable

from headrace import ports
from headrace.connectors.delta import Sink
from headrace.schema import Struct, parse_schema


def context(folder: Path, schema: str | Struct = "k string, n bigint", **changes: Any) -> ports.SinkContext:
    values = {
        "job": "job",
        "name": "sink",
        "schema": parse_schema(schema) if isinstance(schema, str) else schema,
        "session": cast(Any, None),
        "checkpoint": folder / "checkpoint",
        "checkpoint_id": "c1",
    }
    return ports.SinkContext(**{**values, **changes})


def opened(sink: Sink, sink_context: ports.SinkContext, *, recover: bool = True) -> Sink:
    sink.open(sink_context)
    if recover:
        sink.recover()
    return sink


def rows_of(folder: Path) -> list[tuple[Any, ...]]:
    """What an independent reader finds in the table: DuckDB, in the files that the log names."""
    table = DeltaTable(folder)
    names = ", ".join(f'"{field.name}"' for field in table.schema().fields)
    files = table.file_uris()
    if not files:
        return []
    return duckdb.sql(f"SELECT {names} FROM read_parquet({[_plain(file) for file in files]!r}, union_by_name=true)").fetchall()


def data_files(folder: Path) -> set[str]:
    """The files that lie in the table's folder, beside its log."""
    return {str(file.relative_to(folder)) for file in folder.rglob("*.parquet") if "_delta_log" not in file.parts}


def live_files(folder: Path) -> set[str]:
    return {_plain(uri).removeprefix(f"{folder}/") for uri in DeltaTable(folder).file_uris()}


def _plain(uri: str) -> str:
    from urllib.parse import unquote

    return unquote(uri.removeprefix("file://"))
