"""One-row epochs of a job with a hundred different programs that all read the row, against a job with one program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import headrace as hr
from bench.state.follow import Followed
from bench.state.measure import Goal, Result, in_turns, median
from bench.state.nothing import write_nothing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MANY = 100


class Above(hr.Program):
    """Counts and sums the values above a limit: programs with different limits have different code."""

    n = hr.Value("bigint")
    total = hr.Value("bigint")

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def on_event(self, e: hr.Row) -> None:
        with hr.when(e.v > self.limit):
            n = hr.f.coalesce(self.n.get(), 0) + 1
            self.n.set(n)
            self.total.set(hr.f.coalesce(self.total.get(), 0) + e.v - self.limit)
            hr.emit(k=self.key.k, above=self.limit, n=n)


def measure(spark: SparkSession, folder: Path, rounds: int, report: Callable[[str], object]) -> Result:
    one, many = start(folder / "one", 1), start(folder / "many", MANY)
    numbers = iter(range(10**9))

    def row() -> dict[str, int]:
        return {"k": next(numbers) % 10, "v": 1000}

    try:
        samples = in_turns(
            {"one program": lambda: one.feed(row()), f"{MANY} programs": lambda: many.feed(row())},
            rounds,
            warm=max(5, rounds // 3),
            report=report,
        )
    finally:
        one.stop()
        many.stop()
    single, hundred = (median(values) for values in samples.values())
    cache = spark.conf.get("spark.sql.codegen.cache.maxEntries")
    return Result(
        f"one-row epoch of {MANY} different programs in one job (trigger time)",
        "ms",
        samples,
        [Goal("of the time of one program", hundred / single, 1.5)],
        [f"spark.sql.codegen.cache.maxEntries = {cache}; all programs emit for each row, into one sink"],
    )


def start(folder: Path, count: int) -> Followed:
    events = folder / "events"
    events.mkdir(parents=True)
    read = hr.read.files(str(events), format="json", schema="k int, v bigint", follow=True, name="events")
    keyed = read.key_by("k")
    outputs = [keyed.process(Above(limit), order="arrival").named(f"above {limit}") for limit in range(count)]
    together = outputs[0].union(*outputs[1:]) if count > 1 else outputs[0]
    return Followed(hr.job("programs", write_nothing(together)), events, folder / "checkpoint")
