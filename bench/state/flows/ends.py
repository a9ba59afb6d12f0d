"""The ends of flows: Parquet files read by pyarrow, and a sink that counts.

Each process reports in a file when it opened its first input and when its last row came out, by a clock that all processes share.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.outputs import DynamicSink, StatelessSinkPartition

EVENTS, REPORT = Path(os.environ["BENCH_EVENTS"]), Path(os.environ["BENCH_REPORT"])
SUMS = tuple(int(number) for number in os.environ.get("BENCH_SUMS", "").split(",") if number)
"""The columns of an output row to add up; none when a run is timed. The key is column 0."""
BATCH = 4096
END = 4_102_444_800_000_000
"""The year 2100 in microseconds: one row of that time is for Spark's watermark, and all contenders skip it."""

seen: dict[str, Any] = {"began": None, "ended": 0.0, "rows": 0, "sums": [0] * len(SUMS)}


class Files(FixedPartitionedSource):
    """Pairs of the key as text, as bytewax needs it, and the other columns: a single value, or a tuple of several."""

    def __init__(self, name: str, *columns: str) -> None:
        self.folder, self.columns = EVENTS / name, columns

    def list_parts(self) -> list[str]:
        return [file.name for file in sorted(self.folder.glob("*.parquet"))]

    def build_part(self, step_id: str, for_part: str, resume_state: None) -> File:
        if seen["began"] is None:
            seen["began"] = time.monotonic()
        return File(self.folder / for_part, self.columns)


class File(StatefulSourcePartition):
    def __init__(self, file: Path, columns: tuple[str, ...]) -> None:
        self.batches = self.read(file, columns)

    def read(self, file: Path, columns: tuple[str, ...]) -> Iterator[list[Any]]:
        for batch in pq.ParquetFile(file).iter_batches(BATCH, columns=["k", *columns]):
            if "ts" in columns:
                batch = batch.filter(pc.less(micros(batch), END))
            keys = batch["k"].cast(pa.string()).to_pylist()
            values = [(micros(batch) if name == "ts" else batch[name]).to_pylist() for name in columns]
            yield list(zip(keys, values[0] if len(values) == 1 else zip(*values, strict=True), strict=True))

    def next_batch(self) -> list[Any]:
        return next(self.batches)  # its StopIteration means the end of the file

    def snapshot(self) -> None:
        return None


def micros(batch: pa.RecordBatch) -> pa.Array:
    return batch["ts"].cast(pa.timestamp("us")).cast(pa.int64())


class Nothing(DynamicSink):
    def build(self, step_id: str, worker_index: int, worker_count: int) -> NothingPart:
        return NothingPart()


class NothingPart(StatelessSinkPartition):
    def write_batch(self, items: list[Any]) -> None:
        seen["rows"] += len(items)
        for key, row in items if SUMS else ():
            for place, column in enumerate(SUMS):
                seen["sums"][place] += row[column - 1] if column else int(key)

    def close(self) -> None:
        seen["ended"] = time.monotonic()
        (REPORT / f"{os.getpid()}.json").write_text(json.dumps(seen))
