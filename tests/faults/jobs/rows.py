"""Rows that the jobs of the fault matrix read: orders of some shops, with ids that tell them apart."""

from __future__ import annotations

import headrace as hr

SHOPS = 7


def orders(count: int = 2000) -> hr.Stream:
    """So many orders, in the order of their times."""
    rows = [
        (id, f"shop {id * 31 % SHOPS}", id % 97, f"2026-01-{id // 1440 + 1:02} {id // 60 % 24:02}:{id % 60:02}:00") for id in range(count)
    ]
    return hr.read.memory(rows, "id bigint, shop string, amount int, ts timestamp", name="orders").watermark("ts", "5 minutes")
