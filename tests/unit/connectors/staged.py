"""What the tasks of a query would leave for a sink of Parquet files, written by pyarrow."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headrace import ports
from headrace.connectors.lake.sink import TableSink

_attempts = itertools.count()


def stage(sink: TableSink, epoch: int, rows: pa.Table, partition: Sequence[str | None] = (), identity: str = "") -> ports.Staged:
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
    return ports.Staged(rows.num_rows, tuple(files), identity=identity)
