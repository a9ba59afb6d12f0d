"""Exactly-once copies of one topic to another, against Spark's own sink, which may write records twice: in the same process, in turns.

Both read the topic in ten epochs. After each run, a reader of committed records counts them.
"""

from __future__ import annotations

import itertools
import random
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tests.servers.kafka import Broker, Record

import headrace as hr
from bench.state.measure import Goal, Result, in_turns, median
from headrace.connectors.kafka.needs import KAFKA
from headrace.jvm.packages import attach

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDS, BYTES, EPOCHS, PARTITIONS = 1_000_000, 200, 10, 2
HEADRACE, BARE, SPARKS = "headrace, exactly once", "the same without epochs in headers", "Spark's sink, at least once"
TIMES_AS_LONG = 1.25

Contender = Callable[["SparkSession", Broker, str, Path, int], int]
_topics = itertools.count()


def measure(spark: SparkSession, folder: Path, rounds: int, scale: float, report: Callable[[str], object]) -> list[Result]:
    """Return the seconds of each contender, from the start of the job to its end."""
    records = int(RECORDS * scale)
    attach(spark, [KAFKA])
    broker = Broker(folder / "broker")
    broker.start()
    try:
        broker.create_topic("given", PARTITIONS)
        broker.produce("given", given(records))

        def run(contender: Contender) -> Callable[[], float]:
            return lambda: seconds(spark, broker, contender, folder / "work", records)

        contenders = {HEADRACE: run(by_headrace), BARE: run(by_headrace_bare), SPARKS: run(by_spark)}
        samples = in_turns(contenders, rounds, warm=2, report=report)
    finally:
        broker.kill()
    mine, theirs = samples[HEADRACE], samples[SPARKS]
    goals = [
        Goal("as long as Spark's sink, by the medians", median(mine) / median(theirs), TIMES_AS_LONG),
        Goal("as long as Spark's sink, by the least times", min(mine) / min(theirs), TIMES_AS_LONG),
    ]
    remarks = [
        f"each run read {records:,} records in {EPOCHS} epochs, and readers of committed records found them all",
        "one broker on the same machine; both sinks have their default settings, which are few large compressed requests for headrace's",
    ]
    title = f"Kafka to Kafka, {records:,} records of {BYTES} bytes in {EPOCHS} epochs"
    return [Result(title, "s", samples, goals, remarks, base=HEADRACE)]


def given(records: int) -> Iterator[Record]:
    """Yield values that compress like JSON: one half is the same in all of them."""
    chance = random.Random(1)
    fixed = b"x" * (BYTES // 2)
    for number in range(records):
        yield Record(fixed + chance.randbytes(BYTES // 4).hex().encode(), partition=number % PARTITIONS)


def seconds(spark: SparkSession, broker: Broker, contender: Contender, work: Path, records: int) -> float:
    """Time one run into a topic of its own, with a checkpoint of its own, without the check of the topic."""
    topic = broker.create_topic(f"taken-{next(_topics)}", PARTITIONS)
    try:
        began = time.perf_counter()
        epochs = contender(spark, broker, topic, work, records // EPOCHS)
        spent = time.perf_counter() - began
        count = len(broker.consume(topic))
        if (count, epochs) != (records, EPOCHS):
            raise RuntimeError(f"{contender.__name__}: {count} records in {epochs} epochs instead of {records} in {EPOCHS}")
        return spent
    finally:
        shutil.rmtree(work, ignore_errors=True)
        broker.delete_topic(topic)


def by_headrace(_: SparkSession, broker: Broker, topic: str, work: Path, each: int, *, headers: bool = True) -> int:
    read = hr.read.kafka("given", servers=broker.servers, value="raw", end="latest", rows_per_epoch=each)
    job = hr.job("copy", read.write.kafka(topic, servers=broker.servers, value="raw", epoch_headers=headers))
    return job.run(checkpoint=work / "checkpoint", progress=False, partitions=PARTITIONS).epochs


def by_headrace_bare(spark: SparkSession, broker: Broker, topic: str, work: Path, each: int) -> int:
    return by_headrace(spark, broker, topic, work, each, headers=False)


def by_spark(spark: SparkSession, broker: Broker, topic: str, work: Path, each: int) -> int:
    at = {"kafka.bootstrap.servers": broker.servers}
    read = spark.readStream.format("kafka").options(**at, subscribe="given", startingOffsets="earliest", maxOffsetsPerTrigger=str(each))
    writer = read.load().select("value").writeStream.format("kafka").options(**at, topic=topic, checkpointLocation=str(work / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return sum(1 for report in query.recentProgress if report["numInputRows"])
