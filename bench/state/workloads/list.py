"""A list of 10,000 entries for a few keys: each event adds one, and every thousandth traverses the list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

import headrace as hr
from bench.state.workloads.workload import Input, Workload

LENGTH, EVERY = 10_000, 1_000


class Growing(hr.Program):
    """All values of a key, with their sum at every thousandth."""

    values = hr.List("bigint")

    def on_event(self, e: hr.Row) -> None:
        self.values.append(e.v)
        n = self.values.size()
        with hr.when(n % EVERY == 0):
            total = hr.let(0, "bigint")
            with hr.each(self.values) as it:
                total.set(total.get() + it.value)
            hr.emit(k=self.key.k, n=n, total=total.get())


class GrowingRow(StatefulProcessor):
    """New values are collected and appended once for all rows of a call."""

    def init(self, handle: Any) -> None:
        self.values = handle.getListState("values", "v bigint")
        self.size = handle.getValueState("size", "n bigint")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
        before = self.size.get()
        old = before[0] if before else 0
        new: list[tuple[int]] = []
        for row in rows:
            new.append((row.v,))
            n = old + len(new)
            if n % EVERY == 0:
                kept = sum(value for (value,) in self.values.get()) if old else 0
                yield Row(k=key[0], n=n, total=kept + sum(value for (value,) in new))
        self.values.appendList(new)
        self.size.update((old + len(new),))

    def close(self) -> None:
        pass


class GrowingPandas(GrowingRow):
    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        import pandas

        before = self.size.get()
        old = before[0] if before else 0
        values = pandas.concat([frame["v"] for frame in rows])
        results = []
        for taken in range(EVERY - old % EVERY, len(values) + 1, EVERY):
            kept = sum(value for (value,) in self.values.get()) if old else 0
            results.append((key[0], old + taken, kept + int(values.iloc[:taken].sum())))
        self.values.appendList([(int(value),) for value in values])
        self.size.update((old + len(values),))
        if results:
            yield pandas.DataFrame(results, columns=["k", "n", "total"])


LIST = Workload(
    "list",
    "a list of 10,000 entries for a few keys",
    {"event": Input({"k": ("int", "k"), "v": ("bigint", "id"), "ts": ("timestamp", "timestamp_millis(1767225600000 + id)")})},
    {"k": "int", "n": "bigint", "total": "bigint"},
    ("k", "n", "total"),
    Growing,
    GrowingRow,
    GrowingPandas,
    keys=lambda events, keys: max(1, events // LENGTH),
)
