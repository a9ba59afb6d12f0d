"""Files of each format, behind a program with state, an aggregate and nothing."""

from __future__ import annotations

from typing import Any

import headrace as hr
from tests.faults.jobs.rows import orders


class Number(hr.Program):
    """Numbers the orders of a shop; a timer far away keeps state that has to survive."""

    n = hr.Value("bigint")
    done = hr.Timer()

    def on_event(self, e: Any) -> None:
        self.n.set(hr.f.coalesce(self.n.get(), 0) + 1)
        self.done.set(e.ts + hr.days(30))
        hr.emit(shop=self.key.shop, id=e.id, n=self.n.get(), ts=e.ts)

    def on_done(self, at: Any) -> None:
        hr.emit(shop=self.key.shop, id=-1, n=self.n.get(), ts=at)


rows = orders()
numbered = rows.key_by("shop").process(Number, time="ts").named("numbered")
spent = rows.group_by("shop").agg(amount="sum(amount)")

job = hr.job(
    "files",
    rows.write.files("out/orders", format="json", name="orders out"),
    numbered.write.files("out/numbered", format="parquet", partition_by="shop", name="numbered out"),
    spent.write.files("out/spent", format="csv", mode="changes", name="spent out"),
)
