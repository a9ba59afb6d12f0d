"""What the tasks of a query would leave for a Delta sink, written by pyarrow."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from headrace import ports
from headrace.connectors.delta import Sink
from headrace.schema import Struct, parse_schema

_attempts = itertools.count()


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


def opened(sink: Sink, given: ports.SinkContext, *, recover: bool = True) -> Sink:
    sink.open(given)
    if recover:
        sink.recover()
    return sink


def stage(sink: Sink, epoch: int, rows: pa.Table, partition: Sequence[str | None] = ()) -> ports.Staged:
    """The rows in two files, as two tasks would write them."""
    wanted = sink.stage()
    root = Path(wanted["folder"].removeprefix("file://"))
    attempt = next(_attempts)
    files: list[Mapping[str, Any]] = []
    folder = "".join(f"{name}={text or '__HIVE_DEFAULT_PARTITION__'}/" for name, text in zip(sink.partition_by, partition, strict=True))
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
