"""The heap under a join and an aggregate whose state grows tenfold.

A tenth of the rows is added at a time. The heap is measured after a full collection, when the job has read them and waits.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import headrace as hr
from bench.queries.auctions import SCHEMAS, files, make
from bench.queries.unkept import write_unkept
from bench.state.measure import Goal, Result

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.spark.run.run import Run

ROWS = 1_000_000
"""Rows of each of the two sources, each with a key of its own."""
TENTHS, PARTITIONS, PATIENCE = 10, 2, 600
QUERY = "SELECT id, seller, count(*) AS bids, max(price) AS most FROM bids JOIN auctions ON auction = id GROUP BY id, seller"
GROWN = 1.15


def measure(spark: SparkSession, folder: Path, scale: float, report: Callable[[str], object]) -> Result:
    """Return the mebibytes used after each tenth."""
    rows = int(ROWS * scale)
    # a bid arrives with its auction, so that the groups grow with the sides of the join
    make(spark, folder / "made", bids=rows, auctions=rows, auction="id", epochs=TENTHS)
    slices = list(zip(*(files(folder / "made" / name) for name in SCHEMAS), strict=True))
    used: list[float] = []
    keys: list[int] = []
    run = started(folder)
    try:
        for tenth, slice in enumerate(slices, 1):
            for name, file in zip(SCHEMAS, slice, strict=True):
                file.rename(folder / name / file.name)
            wait(run, len(SCHEMAS) * rows * tenth // TENTHS)
            used.append(mebibytes(spark))
            keys.append(run.progress.state_keys)
            report(f"heap with state of {keys[-1]:,} keys: {used[-1]:,.0f} MiB")
    finally:
        run.stop()
    return Result(
        f"join and aggregate over {rows:,} rows of each of two sources: used heap after a full collection",
        "MiB",
        {f"{count:,} keys": [mebibytes] for count, mebibytes in zip(keys, used, strict=True)},
        [Goal("of the heap with a tenth of the state, at the end", used[-1] / used[0], GROWN)],
    )


def started(folder: Path) -> Run:
    """Start a job that follows a folder for each source."""
    for name in SCHEMAS:
        (folder / name).mkdir()
    tables = {name: hr.read.files(folder / name, format="parquet", schema=of, follow=True, name=name) for name, of in SCHEMAS.items()}
    job = hr.job("heap", write_unkept(hr.sql(QUERY, **tables)))
    return job.start(checkpoint=folder / "checkpoint", progress=False, partitions=PARTITIONS, every="1 second")


def wait(run: Run, rows: int) -> None:
    """Wait until this many rows are read."""
    end = time.monotonic() + PATIENCE
    while run.progress.rows < rows:
        if run.error is not None:
            raise run.error
        if time.monotonic() > end:
            raise TimeoutError(f"{run.progress} after {PATIENCE} s, instead of {rows:,} rows")
        time.sleep(0.05)


def mebibytes(spark: SparkSession) -> float:
    java: Any = spark._jvm
    beans = java.java.lang.management.ManagementFactory.getMemoryMXBean()
    beans.gc()
    return float(beans.getHeapMemoryUsage().getUsed()) / 2**20
