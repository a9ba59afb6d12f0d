"""Delta: rows that are added, rows by a key, and changes that are told of."""

from __future__ import annotations

import headrace as hr
from tests.faults.jobs.rows import orders

rows = orders()
spent = rows.group_by("shop").agg(amount="sum(amount)", orders="count(*)")

job = hr.job(
    "delta",
    rows.write.delta("out/orders", partition_by="shop", name="orders out"),
    spent.write.delta("out/spent", key="shop", name="spent out"),
    spent.write.delta("out/told", mode="changes", compact_every=2, name="told out"),
)
