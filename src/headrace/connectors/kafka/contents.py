"""The contents of a topic, as readers of committed records see them."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.connectors.kafka.cluster import Cluster
from headrace.connectors.kafka.look import Topics, look
from headrace.connectors.kafka.needs import KAFKA
from headrace.jvm.packages import attach
from headrace.schema import Struct

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# The time to wait for an unfinished transaction, in seconds.
_PATIENCE = 10.0


def records(session: SparkSession, cluster: Cluster, topic: str, schema: Struct, *, parsed: bool, newest: bool) -> DataFrame:
    """The values of a topic: with `parsed` the columns of each as JSON, else its bytes; with `newest` those of the newest record of each
    key, without deleted keys.
    """
    from pyspark.sql import functions as f

    attach(session, [KAFKA])
    _wait_for_commits(cluster, topic)
    clients = {f"kafka.{name}": text for name, text in cluster.properties().items()}
    reader = session.read.format("kafka").options(**clients, subscribe=topic, startingOffsets="earliest")
    frame = reader.option("kafka.isolation.level", "read_committed").load()
    if newest:
        place = f.max_by(f.struct("value"), f.struct("partition", "offset")).alias("last")
        frame = frame.groupBy("key").agg(place).select("last.value")
    # tombstones, and the markers at the ends of epochs
    frame = frame.where("value IS NOT NULL")
    if parsed:
        frame = frame.select(f.from_json(f.col("value").cast("string"), schema.ddl).alias("row")).select("row.*")
    return frame


def _wait_for_commits(cluster: Cluster, topic: str) -> None:
    """Wait until commits are visible: Kafka answers a commit once it is certain, and only then makes its records readable, partition by
    partition.
    """
    topics = Topics((topic,))
    every = replace(cluster, clients={**cluster.clients, "isolation.level": "read_uncommitted"})
    until = time.monotonic() + _PATIENCE
    # In this order, records written between the two calls are waited for, too.
    while look(cluster, topics) != look(every, topics) and time.monotonic() < until:
        time.sleep(0.05)
