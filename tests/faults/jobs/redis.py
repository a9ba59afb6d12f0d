"""Keys of Redis: behind an aggregate, and more of them an epoch than the server takes in one go, so that one may stand there half done."""

from __future__ import annotations

import headrace as hr
from tests.faults.jobs import served
from tests.faults.jobs.rows import orders
from tests.servers.redis import VARIABLE

LINES = 9
"""Of an order: seven epochs of 2,000 orders have some 2,570 keys each, and the server takes 2,000."""

rows = orders()
spent = rows.group_by("shop").agg(amount="sum(amount)", orders="count(*)")
lines = rows.with_columns(line=f"sequence(1, {LINES})").explode("line")
secret = hr.secret(VARIABLE)

job = hr.job(
    "redis",
    lines.write.redis("redis://127.0.0.1", prefix="lines:", key=["id", "line"], password=secret, name="lines out"),
    spent.write.redis("redis://127.0.0.1", prefix="spent:", key="shop", password=secret, name="spent out"),
)

servers = served.redis
