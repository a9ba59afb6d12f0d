"""Tables of PostgreSQL: by key behind an aggregate, and added to."""

from __future__ import annotations

import headrace as hr
from tests.faults.jobs import served
from tests.faults.jobs.rows import orders
from tests.servers.postgres import USER, Postgres

URL = "postgresql://127.0.0.1/elsewhere"
rows = orders()
spent = rows.group_by("shop").agg(amount="sum(amount)", orders="count(*)")
secret = hr.secret(Postgres.variable)

job = hr.job(
    "postgresql",
    rows.write.jdbc(URL, "orders", user=USER, password=secret, name="orders out"),
    spent.write.jdbc(URL, "spent", key="shop", user=USER, password=secret, name="spent out"),
)

servers = served.postgresql
