"""Two inputs: charges and payments of a key, and its balance after each of them.

Spark's operator has one input: its contenders read the union of both, with a column for the input.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

import headrace as hr
from bench.state.workloads.workload import Input, Workload


class Owed(hr.Program):
    """The number of rows in both inputs of a key, and its balance."""

    n = hr.Value("bigint", default=0)
    owed = hr.Value("bigint", default=0)

    def on_event(self, e: hr.Row) -> None:
        self.moved(e.v)

    def on_payments(self, r: hr.Row) -> None:
        self.moved(-r.v)

    def moved(self, by: hr.Column) -> None:
        n, owed = self.n.get() + 1, self.owed.get() + by
        self.n.set(n)
        self.owed.set(owed)
        hr.emit(k=self.key.k, n=n, owed=owed)


class OwedRow(StatefulProcessor):
    def init(self, handle: Any) -> None:
        self.state = handle.getValueState("state", "n bigint, owed bigint")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
        n, owed = self.state.get() or (0, 0)
        for row in rows:
            n += 1
            owed += row.v if row.side == 0 else -row.v
            yield Row(k=key[0], n=n, owed=owed)
        self.state.update((n, owed))

    def close(self) -> None:
        pass


class OwedPandas(OwedRow):
    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        import pandas

        n, owed = self.state.get() or (0, 0)
        for frame in rows:
            after = (frame["v"] * (1 - 2 * frame["side"])).cumsum() + owed
            yield pandas.DataFrame({"k": key[0], "n": range(n + 1, n + len(frame) + 1), "owed": after})
            n, owed = n + len(frame), int(after.iloc[-1])
        self.state.update((n, owed))


TWO = Workload(
    "two",
    "two inputs",
    {
        "event": Input({"k": ("int", "k"), "v": ("bigint", "id % 1000"), "ts": ("timestamp", "timestamp_millis(1767225600000 + id * 2)")}),
        "payments": Input(
            {"k": ("int", "k"), "v": ("bigint", "id % 700"), "ts": ("timestamp", "timestamp_millis(1767225600001 + id * 2)")}
        ),
    },
    {"k": "int", "n": "bigint", "owed": "bigint"},
    # the balance in between depends on which input comes first
    ("k", "n"),
    Owed,
    OwedRow,
    OwedPandas,
)
