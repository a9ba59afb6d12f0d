"""Iceberg: rows that are added, rows by a key, and changes that are told of."""

from __future__ import annotations

import headrace as hr
from tests.faults.jobs.rows import orders

rows = orders()
spent = rows.group_by("shop").agg(amount="sum(amount)", orders="count(*)")
catalog = {"type": "sql", "uri": "sqlite:///out/catalog.db", "warehouse": "out"}

job = hr.job(
    "iceberg",
    rows.write.iceberg("shop.orders", catalog=catalog, partition_by="shop", name="orders out"),
    spent.write.iceberg("shop.spent", catalog=catalog, key="shop", name="spent out"),
    spent.write.iceberg("shop.told", catalog=catalog, mode="changes", name="told out"),
)
