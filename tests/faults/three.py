"""A join and an aggregate that are written to three places, for a process that will be killed.

`python -m tests.faults.three FOLDER BROKERS DATABASE`: orders and shops of the folder, an epoch a file, into a topic, a Delta table and a table
of PostgreSQL.
"""

from __future__ import annotations

import sys
from pathlib import Path

import headrace as hr
from tests.servers.postgres import USER, Postgres

SINKS = ("topic", "lake", "table")


def totals(orders: hr.Stream, shops: hr.Stream) -> hr.Stream:
    """What the orders of each region come to."""
    return orders.join(shops, on="shop").group_by("region").agg(amount="sum(amount)", orders="count(*)")


def job(folder: Path, brokers: str, database: str) -> hr.Job:
    orders = hr.read.files(folder / "orders", format="json", schema="id bigint, shop string, amount int", files_per_epoch=1, name="orders")
    shops = hr.read.files(
        folder / "shops", format="json", schema="shop string, region string, op string", change_column="op", files_per_epoch=1, name="shops"
    )
    total = totals(orders, shops)
    topic, lake, table = SINKS
    return hr.job(
        "three",
        total.write.kafka(folder.name, servers=brokers, key="region", create={"partitions": 2}, name=topic),
        total.write.delta(folder / "lake", key="region", name=lake),
        total.write.jdbc(database, "totals", key="region", user=USER, password=hr.secret(Postgres.variable), name=table),
    )


if __name__ == "__main__":
    place, brokers, database = sys.argv[1:]
    print(job(Path(place), brokers, database).run(checkpoint=Path(place) / "state", progress=False))
