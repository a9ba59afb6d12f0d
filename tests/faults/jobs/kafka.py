"""Topics of Kafka: records that are added, and a record a key behind an aggregate."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import headrace as hr
from tests.faults.jobs.rows import orders
from tests.servers.kafka import started

given = orders()
spent = given.group_by("shop").agg(amount="sum(amount)", orders="count(*)")

job = hr.job(
    "kafka",
    given.write.kafka("orders", servers="localhost:9092", key="id", name="orders out"),
    spent.write.kafka("spent", servers="localhost:9092", key="shop", name="spent out"),
)


@contextmanager
def servers() -> Iterator[dict[str, str]]:
    """A broker that the copies of the job write to."""
    folder = Path(tempfile.mkdtemp(prefix="headrace-kafka-"))
    broker = started(folder / "broker")
    try:
        yield {"kafka": broker.servers}
    finally:
        broker.kill()
        shutil.rmtree(folder, ignore_errors=True)
