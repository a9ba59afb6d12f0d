"""Topics of Kafka: records that are added, and a record a key behind an aggregate."""

from __future__ import annotations

import headrace as hr
from tests.faults.jobs import served
from tests.faults.jobs.rows import orders

rows = orders()
spent = rows.group_by("shop").agg(amount="sum(amount)", orders="count(*)")

job = hr.job(
    "kafka",
    rows.write.kafka("orders", servers="localhost:9092", key="id", name="orders out"),
    spent.write.kafka("spent", servers="localhost:9092", key="shop", name="spent out"),
)

servers = served.kafka
