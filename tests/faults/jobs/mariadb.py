"""Tables of MariaDB: by key behind an aggregate, and added to."""

from __future__ import annotations

import headrace as hr
from tests.faults.jobs import served
from tests.faults.jobs.rows import orders
from tests.servers.mariadb import USER, MariaDb

URL = "mariadb://127.0.0.1/elsewhere"
rows = orders()
PLAIN = {"sslMode": "disable"}
spent = rows.group_by("shop").agg(amount="sum(amount)", orders="count(*)")
secret = hr.secret(MariaDb.variable)

job = hr.job(
    "mariadb",
    rows.write.jdbc(URL, "orders", user=USER, password=secret, options=PLAIN, name="orders out"),
    spent.write.jdbc(URL, "spent", key="shop", user=USER, password=secret, options=PLAIN, name="spent out"),
)

servers = served.mariadb
