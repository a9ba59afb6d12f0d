"""A map of 100 entries per key: the sum of each item of a key, one output per event."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

import headrace as hr
from bench.state.workloads.workload import Input, Workload, in_frames


class Spent(hr.Program):
    """The sum of each item of a key."""

    spent = hr.Map("int", "bigint")

    def on_event(self, e: hr.Row) -> None:
        total = hr.f.coalesce(self.spent.get(e.item), 0) + e.v
        self.spent.set(e.item, total)
        hr.emit(k=self.key.k, item=e.item, total=total)


class SpentRow(StatefulProcessor):
    """An entry is read and written once for all rows of a call."""

    def init(self, handle: Any) -> None:
        self.spent = handle.getMapState("spent", "item int", "total bigint")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
        totals: dict[int, int] = {}
        for row in rows:
            item = row.item
            if item not in totals:
                before = self.spent.getValue((item,))
                totals[item] = before[0] if before else 0
            totals[item] += row.v
            yield Row(k=key[0], item=item, total=totals[item])
        for item, total in totals.items():
            self.spent.updateValue((item,), (total,))

    def close(self) -> None:
        pass


MAP = Workload(
    "map",
    "a map of 100 entries per key",
    {
        "event": Input(
            {
                "k": ("int", "k"),
                "item": ("int", "cast(j * 37 % 100 AS int)"),
                "v": ("bigint", "id"),
                "ts": ("timestamp", "timestamp_millis(1767225600000 + id)"),
            }
        )
    },
    {"k": "int", "item": "int", "total": "bigint"},
    ("k", "item", "total"),
    Spent,
    SpentRow,
    in_frames(SpentRow),
    # each entry is used twice
    keys=lambda events, keys: max(1, min(keys, events // 200)),
)
