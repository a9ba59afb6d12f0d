"""Keys of Redis, behind an aggregate."""

from __future__ import annotations

import headrace as hr
from tests.faults.jobs import served
from tests.faults.jobs.rows import orders
from tests.servers.redis import VARIABLE

spent = orders().group_by("shop").agg(amount="sum(amount)", orders="count(*)")

job = hr.job("redis", spent.write.redis("redis://127.0.0.1", prefix="spent:", key="shop", password=hr.secret(VARIABLE), name="spent out"))

servers = served.redis
