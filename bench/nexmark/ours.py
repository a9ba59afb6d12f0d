"""headrace as a contender: a query as a job over the files, several of them in each epoch."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import headrace as hr
from bench.nexmark.events import CORES, Events
from bench.nexmark.queries import FILES, FOLDERS, OF_THE_CLOCK, Query
from bench.nexmark.tables import streams
from bench.queries.unkept import write_unkept


def view(query: Query, tables: Mapping[str, hr.Stream]) -> hr.Stream:
    return hr.sql(query.text, **{name: tables[name] for name in query.tables})


def seconds(query: Query, events: Events) -> float:
    """Time from the text of the query to the end of the job, with a checkpoint in each epoch. Only files are kept of its output."""
    folder = Path(tempfile.mkdtemp(prefix="headrace-nexmark-"))
    try:
        began = time.perf_counter()
        stream = view(query, streams(events))
        sink = _as_files(stream, folder / "out") if query.name == FILES else write_unkept(stream)
        summary = hr.job(query.name, sink).run(checkpoint=folder / "checkpoint", progress=False, partitions=CORES)
        spent = time.perf_counter() - began
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if summary.epochs != events.epochs and query.name != OF_THE_CLOCK:
        raise RuntimeError(f"{query.name} took {summary.epochs} epochs, not {events.epochs}")
    return spent


def rows(query: Query, events: Events) -> int:
    """Return the number of rows in the answer at the end of the stream, counted by a query."""
    counted = hr.sql("SELECT count(*) AS n FROM answer", answer=view(query, streams(events)))
    ((count,),) = hr.collect(counted).rows()
    return int(count)


def kept(queries: Iterable[Query], events: Events, folder: Path, files_per_epoch: int | None = CORES) -> hr.Job:
    """Return all queries as one job; the changes of each go to a folder with its name."""
    tables = streams(events, files_per_epoch)

    def sink(query: Query) -> Any:
        stream = view(query, tables)
        if query.name == FILES:
            return _as_files(stream, folder / query.name)
        return stream.write.files(folder / query.name, format="parquet", mode="changes", name=query.name)

    return hr.job("nexmark", *map(sink, queries))


def _as_files(stream: hr.Stream, folder: Path) -> Any:
    return stream.write.files(folder, format="csv", partition_by=FOLDERS, name=FILES)
