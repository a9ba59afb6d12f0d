"""A join of two append-only streams, against Spark's own join of streams, in the same process and in turns.

All read one file of each source per epoch and write Parquet. Their output is compared with the answer of Spark batch.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import headrace as hr
from bench.queries.auctions import SCHEMAS, make
from bench.state.epoch import setting
from bench.state.measure import Goal, Result, in_turns, median

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BIDS, AUCTIONS, EPOCHS, PARTITIONS = 920_000, 60_000, 10, 2
QUERY = "SELECT auction, bidder, price, channel, seller, category, item FROM bids JOIN auctions ON auction = id"
"""The same text for headrace, for Spark's streams and for Spark batch."""
HEADRACE, SPARKS, NEWER = "headrace", "Spark's join of streams", "the same, state format 4"
FORMAT = "spark.sql.streaming.join.stateFormatVersion"
TIMES_AS_FAST = 2.0


@dataclass(frozen=True)
class Answer:
    """The number of rows, and the sum of their hashes."""

    rows: int
    hashes: int


def measure(spark: SparkSession, folder: Path, rounds: int, scale: float, report: Callable[[str], object]) -> Result:
    """Return the seconds of each contender, from the start of the job to its end."""
    bids, auctions = int(BIDS * scale), int(AUCTIONS * scale)
    make(spark, folder / "input", bids=bids, auctions=auctions, auction=f"pmod(xxhash64(id), {auctions})", epochs=EPOCHS)
    expected = batch(spark, folder / "input")
    report(f"Spark batch: {expected.rows:,} rows")

    def run(contender: Callable[[SparkSession, Path, Path], int]) -> Callable[[], float]:
        return lambda: seconds(spark, contender, folder, expected)

    contenders = {HEADRACE: run(by_headrace), SPARKS: run(by_spark), NEWER: run(by_spark_in_newer_format)}
    samples = in_turns(contenders, rounds, report=report)
    mine, theirs = samples[HEADRACE], samples[SPARKS]
    goals = [
        Goal("as fast as Spark's join, by the medians", median(theirs) / median(mine), TIMES_AS_FAST, at_least=True),
        Goal("as fast as Spark's join, by the least times", min(theirs) / min(mine), TIMES_AS_FAST, at_least=True),
    ]
    remarks = [
        f"each run wrote the {expected.rows:,} rows of Spark batch, in {EPOCHS} epochs",
        "all keep state in RocksDB with changelogs; beside that Spark has its default settings, of which one is state format 2",
    ]
    return Result(f"join of {bids:,} bids and {auctions:,} auctions in {EPOCHS} epochs", "s", samples, goals, remarks)


def seconds(spark: SparkSession, contender: Callable[[SparkSession, Path, Path], int], folder: Path, expected: Answer) -> float:
    """Time one run with a checkpoint and a result of its own, without the check of the result."""
    work = folder / "work"
    try:
        began = time.perf_counter()
        epochs = contender(spark, folder / "input", work)
        spent = time.perf_counter() - began
        result = answer(spark.read.parquet(str(work / "result")))
        if (result, epochs) != (expected, EPOCHS):
            raise RuntimeError(f"{contender.__name__}: {result} in {epochs} epochs instead of {expected} in {EPOCHS}")
        return spent
    finally:
        shutil.rmtree(work, ignore_errors=True)


def by_headrace(_: SparkSession, source: Path, work: Path) -> int:
    """Run headrace's join; returns its number of epochs, as the runs of Spark's join do."""
    tables = {
        name: hr.read.files(source / name, format="parquet", schema=schema, files_per_epoch=1, name=name)
        for name, schema in SCHEMAS.items()
    }
    job = hr.job("join", hr.sql(QUERY, **tables).write.files(work / "result", format="parquet"))
    return job.run(checkpoint=work / "checkpoint", progress=False, partitions=PARTITIONS).epochs


def by_spark(spark: SparkSession, source: Path, work: Path) -> int:
    for name, schema in SCHEMAS.items():
        frame = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(source / name))
        frame.createOrReplaceTempView(name)
    writer = spark.sql(QUERY).writeStream.format("parquet").option("checkpointLocation", str(work / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(work / "result"))
    query.awaitTermination()
    return sum(1 for report in query.recentProgress if report["numInputRows"])


def by_spark_in_newer_format(spark: SparkSession, source: Path, work: Path) -> int:
    """Uses fewer stores than Spark's default format."""
    with setting(spark, FORMAT, "4"):
        return by_spark(spark, source, work)


def batch(spark: SparkSession, source: Path) -> Answer:
    for name in SCHEMAS:
        spark.read.parquet(str(source / name)).createOrReplaceTempView(name)
    return answer(spark.sql(QUERY))


def answer(rows: DataFrame) -> Answer:
    hashes = f"xxhash64({', '.join(sorted(rows.columns))})"
    (row,) = rows.selectExpr("count(1) AS n", f"coalesce(sum(cast({hashes} AS decimal(38, 0))), 0) AS hashes").collect()
    return Answer(int(row["n"]), int(row["hashes"]))
