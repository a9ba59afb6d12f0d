"""Programs without keys: one state for the whole stream."""

from __future__ import annotations

from typing import Any

import pytest

import headrace as hr
from headrace.testing import Harness

pytestmark = pytest.mark.usefixtures("spark")


class Running(hr.Program):
    """A running count and sum."""

    n = hr.Value("bigint")
    total = hr.Value("bigint")

    def on_event(self, e: Any) -> None:
        self.n.set(hr.f.coalesce(self.n.get(), 0) + 1)
        self.total.set(hr.f.coalesce(self.total.get(), 0) + e.v)
        hr.emit(n=self.n.get(), v=e.v, total=self.total.get())


class Keyed(hr.Program):
    def on_event(self, e: Any) -> None:
        hr.emit(k=self.key.k, v=e.v, ts=e.ts)


@pytest.mark.parametrize("partitions", [1, 3])
def test_a_running_count_counts_all_rows(partitions: int) -> None:
    with Harness(partitions=partitions) as h:
        out = h.collect(h.source("t", "v int").process(Running))
        h.commit({"t": [("+", (1,)), ("+", (2,))]})
        h.restart()
        h.commit({"t": [("+", (3,))]})
        assert out.rows() == [(1, 1, 1), (2, 2, 3), (3, 3, 6)]


def test_in_time_order_and_behind_a_program_with_keys() -> None:
    with Harness(partitions=3) as h:
        t = h.source("t", "k string, v int, ts timestamp", watermark=("ts", "1 second"))
        whole = h.collect(t.process(Running))
        behind = h.collect(t.key_by("k").process(Keyed, time="ts").process(Running))
        h.commit({"t": [("+", ("b", 2, at(2))), ("+", ("a", 1, at(1))), ("+", ("c", 3, at(3)))]})
        h.commit({"t": [("+", ("c", 5, at(5))), ("+", ("a", 4, at(4)))]})
        h.finish()
        assert whole.rows() == behind.rows() == [(1, 1, 1), (2, 2, 3), (3, 3, 6), (4, 4, 10), (5, 5, 15)]


def at(second: int) -> str:
    return f"2026-01-01 00:00:{second:02}"
