"""A join and an aggregate, in a topic of Kafka, a Delta table and a table of PostgreSQL at once."""

from __future__ import annotations

import headrace as hr
from tests.faults.jobs import served
from tests.faults.jobs.rows import SHOPS, orders
from tests.faults.three import totals
from tests.servers.postgres import USER, Postgres

# A shop opens after the other, and some move: then what a region has comes and goes.
_moves = [(f"shop {shop}", f"region {shop % 3}", "insert") for shop in range(SHOPS)]
for _shop in range(0, SHOPS, 2):
    _moves += [(f"shop {_shop}", f"region {_shop % 3}", "delete"), (f"shop {_shop}", f"region {9 - _shop}", "insert")]

shops = hr.read.memory(_moves, "shop string, region string, op string", change_column="op", name="shops")
total = totals(orders(), shops)

job = hr.job(
    "three",
    total.write.kafka("totals", servers="localhost:9092", key="region", name="topic"),
    total.write.delta("out/totals", key="region", name="lake"),
    total.write.jdbc(
        "postgresql://127.0.0.1/elsewhere", "totals", key="region", user=USER, password=hr.secret(Postgres.variable), name="table"
    ),
)

servers = served.kafka_and_postgresql
