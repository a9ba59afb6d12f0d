"""Running count and sum per key, one output per event."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

import headrace as hr
from bench.state.workloads.workload import Input, Workload


class Running(hr.Program):
    """The number of values of a key, and their sum."""

    n = hr.Value("bigint")
    total = hr.Value("bigint")

    def on_event(self, e: hr.Row) -> None:
        n = hr.f.coalesce(self.n.get(), 0) + 1
        total = hr.f.coalesce(self.total.get(), 0) + e.v
        self.n.set(n)
        self.total.set(total)
        hr.emit(k=self.key.k, n=n, total=total)


class RunningRow(StatefulProcessor):
    def init(self, handle: Any) -> None:
        self.state = handle.getValueState("state", "n bigint, total bigint")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
        n, total = self.state.get() or (0, 0)
        for row in rows:
            n += 1
            total += row.v
            yield Row(k=key[0], n=n, total=total)
        self.state.update((n, total))

    def close(self) -> None:
        pass


class RunningPandas(RunningRow):
    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        import pandas

        n, total = self.state.get() or (0, 0)
        for frame in rows:
            totals = frame["v"].cumsum() + total
            yield pandas.DataFrame({"k": key[0], "n": range(n + 1, n + len(frame) + 1), "total": totals})
            n, total = n + len(frame), int(totals.iloc[-1])
        self.state.update((n, total))


COUNT = Workload(
    "count",
    "running count and sum per key",
    {
        "event": Input(
            {"k": ("int", "k"), "v": ("bigint", "id"), "ts": ("timestamp", "timestamp_millis(1767225600000 + id)")},
            key="cast(pmod(xxhash64(id), {keys}) AS int)",
        )
    },
    {"k": "int", "n": "bigint", "total": "bigint"},
    ("k", "n", "total"),
    Running,
    RunningRow,
    RunningPandas,
)
