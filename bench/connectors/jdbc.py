"""Exactly-once upserts into PostgreSQL, against Spark's own writer, which inserts rows one by one: in the same process, in turns."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tests.servers.database import running
from tests.servers.postgres import PASSWORD, USER, Postgres, started

import headrace as hr
from bench.state.measure import Goal, Result, in_turns, median
from headrace.connectors.jdbc.kinds import NEEDS
from headrace.jvm.packages import attach

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 400_000
UPSERT, APPEND, SPARKS = "headrace, upsert by key", "headrace, append", "df.write.jdbc, row inserts"
TIMES_FASTER = 5.0

COLUMNS = "id bigint, country string, amount decimal(12,2), at timestamp, note string"
Contender = Callable[["SparkSession", Postgres, str, Path], None]


def measure(spark: SparkSession, folder: Path, rounds: int, scale: float, report: Callable[[str], object]) -> list[Result]:
    """Return the seconds of each contender, from the start of the job to its end."""
    rows = int(ROWS * scale)
    attach(spark, [NEEDS])
    source = folder / "given"
    frame = spark.range(rows).selectExpr(
        "id",
        "element_at(array('de', 'fr', 'it', 'at'), cast(id % 4 as int) + 1) AS country",
        "cast(id % 100000 / 7 as decimal(12,2)) AS amount",
        "timestamp'2026-01-01 00:00:00' + make_dt_interval(0, 0, 0, id % 1000000) AS at",
        "concat('a note of some length about order number ', id) AS note",
    )
    frame.repartition(4).write.parquet(str(source))
    with running(started()) as server:

        def run(contender: Contender) -> Callable[[], float]:
            return lambda: seconds(spark, server, contender, source, folder / "work", rows)

        contenders = {UPSERT: run(by_upsert), APPEND: run(by_append), SPARKS: run(by_spark)}
        samples = in_turns(contenders, rounds, warm=1, report=report)
    times = median(samples[SPARKS]) / median(samples[UPSERT])
    goals = [Goal("as fast as row inserts of Spark's writer, by the medians", times, TIMES_FASTER, at_least=True)]
    remarks = [
        f"each run wrote {rows:,} rows of {COLUMNS} into a table with a primary key, and a reader of its own found them all",
        "the server is on the same machine and does not wait for its disk; Spark's writer has its default settings",
    ]
    return [Result(f"Into PostgreSQL, {rows:,} rows", "s", samples, goals, remarks, base=UPSERT)]


def seconds(spark: SparkSession, server: Postgres, contender: Contender, source: Path, work: Path, rows: int) -> float:
    """Time one contender that writes all rows into a table of its own."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    url = server.database()
    server.run(url, "CREATE TABLE t (id bigint PRIMARY KEY, country text, amount numeric(12,2), at timestamptz, note text)")
    begun = time.perf_counter()
    contender(spark, server, url, work)
    took = time.perf_counter() - begun
    assert server.run(url, "SELECT count(*), sum(id) FROM t") == [(rows, rows * (rows - 1) // 2)]
    return took


def by_upsert(spark: SparkSession, server: Postgres, url: str, work: Path) -> None:
    _job(server, url, work, "id")


def by_append(spark: SparkSession, server: Postgres, url: str, work: Path) -> None:
    _job(server, url, work, None)


def _job(server: Postgres, url: str, work: Path, key: str | None) -> None:
    read = hr.read.files(work.parent / "given", format="parquet", schema=COLUMNS, name="given")
    sink = read.write.jdbc(url, "t", key=key, user=USER, password=hr.secret(server.variable))
    hr.job("bench", sink).run(checkpoint=work / "state", progress=False)


def by_spark(spark: SparkSession, server: Postgres, url: str, work: Path) -> None:
    options = {"user": USER, "password": PASSWORD, "driver": "org.postgresql.Driver"}
    spark.read.parquet(str(work.parent / "given")).write.jdbc(f"jdbc:{url}", "t", mode="append", properties=options)
