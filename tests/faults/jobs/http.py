"""Rows posted to a server that keeps keys: added, and as changes behind an aggregate; several batches an epoch, between which it may stop."""

from __future__ import annotations

import headrace as hr
from tests.faults.jobs import served
from tests.faults.jobs.rows import orders

URL = "http://127.0.0.1/"

rows = orders()
spent = rows.group_by("shop").agg(amount="sum(amount)", orders="count(*)")

job = hr.job(
    "http",
    rows.write.http(URL, batch=100, idempotent=True, name="orders out"),
    spent.write.http(URL, batch=4, idempotent=True, mode="changes", name="spent out"),
)

servers = served.http
