"""Upserts per second into Redis, with values as JSON and as hashes."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tests.servers.redis import PASSWORD, VARIABLE, Redis, over, started

import headrace as hr
from bench.state.measure import Goal, Result, in_turns, median

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 500_000
JSON, HASH = "keys with JSON", "keys with hashes"
PER_SECOND = 50_000
COLUMNS = "id bigint, country string, amount int"


def measure(spark: SparkSession, folder: Path, rounds: int, scale: float, report: Callable[[str], object]) -> list[Result]:
    """Return the seconds of each contender, from the start of the job to its end."""
    rows = int(ROWS * scale)
    source = folder / "given"
    frame = spark.range(rows).selectExpr("id", "concat('country ', id % 50) AS country", "cast(id % 1000 as int) AS amount")
    frame.repartition(2).write.parquet(str(source))
    os.environ[VARIABLE] = PASSWORD
    server = started()
    try:

        def run(value: str) -> Callable[[], float]:
            return lambda: seconds(server, source, folder / "work", value, rows)

        samples = in_turns({JSON: run("json"), HASH: run("hash")}, rounds, warm=1, report=report)
    finally:
        over(server)
    per_second = rows / median(samples[JSON])
    goals = [Goal("upserts a second, by the median", per_second, PER_SECOND, at_least=True, unit="")]
    remarks = [
        f"each run wrote {rows:,} rows of {COLUMNS} under as many keys in one epoch",
        "the server is on the same machine and leaves it to the system when its log reaches the disk",
    ]
    return [Result(f"Into Redis, {rows:,} rows", "s", samples, goals, remarks, base=JSON)]


def seconds(server: Redis, source: Path, work: Path, value: str, rows: int) -> float:
    """Time a job that writes all rows into an empty server."""
    shutil.rmtree(work, ignore_errors=True)
    server.run("FLUSHALL")
    read = hr.read.files(source, format="parquet", schema=COLUMNS, name="given")
    job = hr.job("bench", read.write.redis(server.url, prefix="row:", key="id", value=value, password=hr.secret(VARIABLE)))
    begun = time.perf_counter()
    job.run(checkpoint=work / "state", progress=False)
    took = time.perf_counter() - begun
    assert server.run("DBSIZE") == str(rows + 1)
    return took
