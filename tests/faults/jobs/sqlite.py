"""Tables in a file of SQLite: by key behind an aggregate, and added to."""

from __future__ import annotations

import headrace as hr
from tests.faults.jobs.rows import orders

rows = orders()
spent = rows.group_by("shop").agg(amount="sum(amount)", orders="count(*)")

job = hr.job(
    "sqlite",
    rows.write.jdbc("sqlite:out.db", "orders", name="orders out"),
    spent.write.jdbc("sqlite:out.db", "spent", key="shop", name="spent out"),
)
