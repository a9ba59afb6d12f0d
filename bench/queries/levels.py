"""One-row epochs of stacked aggregates, and of many aggregates side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import headrace as hr
from bench.queries.unkept import write_unkept
from bench.state.follow import Followed
from bench.state.measure import Goal, Result, in_turns, median

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEPTHS = (1, 2, 3, 4, 6)
MANY = 100
KEYS = 10
PER_LEVEL = 70
"""The milliseconds that each level after the first may add."""
TIMES_ONE = 1.5
"""How many times as long as the epoch of one aggregate the epoch of many may take."""


def measure(spark: SparkSession, folder: Path, rounds: int, report: Callable[[str], object]) -> list[Result]:
    cache = spark.conf.get("spark.sql.codegen.cache.maxEntries")
    return [over_each_other(folder / "over", rounds, report), beside_each_other(folder / "beside", rounds, report, f"{cache}")]


def over_each_other(folder: Path, rounds: int, report: Callable[[str], object]) -> Result:
    jobs = {f"{depth} level{'s' if depth > 1 else ''}": partial(tower, depth=depth) for depth in DEPTHS}
    samples = fed_in_turns(folder, jobs, rounds, report)
    medians = [median(values) for values in samples.values()]
    added = (medians[-1] - medians[0]) / (DEPTHS[-1] - DEPTHS[0])
    return Result(
        "one-row epoch of aggregates one over the other (trigger time)",
        "ms",
        samples,
        [Goal(f"for each level after the first, with {DEPTHS[-1]} levels", added, PER_LEVEL, unit="ms")],
        ["a row changes groups of every level"],
    )


def beside_each_other(folder: Path, rounds: int, report: Callable[[str], object], cache: str) -> Result:
    jobs = {"1 aggregate": partial(row, count=1), f"{MANY} aggregates": partial(row, count=MANY)}
    samples = fed_in_turns(folder, jobs, rounds, report)
    one, many = (median(values) for values in samples.values())
    return Result(
        f"one-row epoch of {MANY} different aggregates of one source in one job (trigger time)",
        "ms",
        samples,
        [Goal("of the time of one aggregate", many / one, TIMES_ONE)],
        [f"spark.sql.codegen.cache.maxEntries = {cache}; a row changes all aggregates, and all go into one sink"],
    )


def fed_in_turns(
    folder: Path, queries: Mapping[str, Callable[[hr.Stream], hr.Stream]], rounds: int, report: Callable[[str], object]
) -> dict[str, list[float]]:
    """Return the milliseconds of the epochs of jobs over folders of their own, all running at once."""
    running: dict[str, Followed] = {}
    numbers = {name: iter(range(10**9)) for name in queries}

    def fed(name: str) -> Callable[[], float]:
        return lambda: running[name].feed({"k0": next(numbers[name]) % KEYS, "v": 1})

    try:
        for name, query in queries.items():
            running[name] = started(folder / name.replace(" ", "-"), query)
        return in_turns({name: fed(name) for name in queries}, rounds, warm=max(5, rounds // 3), report=report)
    finally:
        for job in running.values():
            job.stop()


def started(folder: Path, query: Callable[[hr.Stream], hr.Stream]) -> Followed:
    events = folder / "events"
    events.mkdir(parents=True)
    read = hr.read.files(events, format="json", schema="k0 int, v bigint", follow=True, name="events")
    return Followed(hr.job("levels", write_unkept(query(read))), events, folder / "checkpoint")


def tower(events: hr.Stream, depth: int) -> hr.Stream:
    """Return stacked aggregates, each grouped by the sums of the one before: a row moves a group of every level from one sum to another."""
    stream = events.group_by("k0").agg(k1="sum(v)")
    for level in range(2, depth + 1):
        # never 0, so that each row that enters a group changes its sum
        stream = stream.group_by(f"k{level - 1}").agg(**{f"k{level}": f"sum(k{level - 2} + {level})"})
    return stream


def row(events: hr.Stream, count: int) -> hr.Stream:
    """Return aggregates with different expressions, and so with different code."""
    first, *others = (events.group_by("k0").agg(total=f"sum(v + {number})") for number in range(count))
    return first.union(*others) if others else first
