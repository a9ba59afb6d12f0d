"""The cost of looking each row up in Redis, by the cache of answers and the number of concurrent requests.

Orders are read from Parquet in ten epochs; the same job without the lookup is the baseline. After each run, the rows that found their
customer are counted.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.servers.redis import PASSWORD, VARIABLE, over, started

import headrace as hr
from bench.state.measure import Goal, Result, in_turns, median

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS, KEYS, EPOCHS = 1_000_000, 10_000, 10
NONE, CACHED, ASKED, ONE, FILES = "no lookup", "answers kept", "each epoch asks", "each epoch asks, one request at once", "a table of files"
TIMES_AS_LONG = 2.0


def measure(spark: SparkSession, folder: Path, rounds: int, scale: float, report: Callable[[str], object]) -> list[Result]:
    """Return the seconds of each contender, from the start of the job to its end."""
    rows, keys = int(ROWS * scale), max(int(KEYS * scale), 1)
    orders = folder / "orders"
    frame = spark.range(rows).selectExpr("id", f"concat('c', pmod(xxhash64(id), {keys})) AS customer", "id % 100 AS amount")
    frame.repartition(EPOCHS, "id").write.parquet(str(orders))
    names = spark.range(keys).selectExpr("concat('c', id) AS customer", "concat('name of ', id) AS name")
    names.coalesce(1).write.option("header", "true").csv(str(folder / "names"))
    os.environ[VARIABLE] = PASSWORD
    server = started()
    try:
        server.load([["SET", f"c:c{n}", f"name of {n}"] for n in range(keys)])
        schema = "customer string, name string"
        redis = hr.lookup.redis(server.url, schema, key="customer", prefix="c:", value="text", password=hr.secret(VARIABLE), name="names")
        files = hr.lookup.files(folder / "names", format="csv", schema=schema, name="names")
        options: dict[str, tuple[Any, dict[str, Any]]] = {
            NONE: (None, {}),
            CACHED: (redis, {"cache": "1 hour"}),
            ASKED: (redis, {}),
            ONE: (redis, {"in_flight": 1}),
            FILES: (files, {}),
        }

        def run(table: Any, options_of: dict[str, Any]) -> Callable[[], float]:
            return lambda: seconds(orders, table, options_of, folder / "work", rows)

        samples = in_turns({name: run(*options_of) for name, options_of in options.items()}, rounds, report=report)
    finally:
        over(server)
    least = {name: median(values) for name, values in samples.items()}
    goals = [Goal("as long as without a lookup, where answers are kept", least[CACHED] / least[NONE], TIMES_AS_LONG)]
    remarks = [f"{rows / value:,.0f} rows/s: {name}" for name, value in least.items()] + [
        f"{keys:,} keys; one server on the same machine; 200 keys a request, 4 requests at once where nothing else is said"
    ]
    return [Result(f"{rows:,} rows looked up in Redis, in {EPOCHS} epochs", "s", samples, goals, remarks, base=NONE)]


def seconds(orders: Path, table: Any, options_of: dict[str, Any], work: Path, rows: int) -> float:
    """Time a job that looks each order up and counts the results."""
    shutil.rmtree(work, ignore_errors=True)
    schema = "id bigint, customer string, amount bigint"
    stream = hr.read.files(orders, format="parquet", schema=schema, files_per_epoch=1, name="orders")
    if table is not None:
        stream = stream.lookup(table, on="customer", how="inner", **options_of)
    counted = stream.group_by().agg(n="count(*)", amount="sum(amount)")
    kept = counted.write.memory()
    job = hr.job("looked-up", kept)
    begun = time.perf_counter()
    job.run(checkpoint=work / "state", progress=False)
    took = time.perf_counter() - begun
    assert kept.rows() == [(rows, sum(n % 100 for n in range(rows)))], kept.rows()
    return took
