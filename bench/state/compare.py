"""Every contender with every workload: first their output is compared at a small size, then they run in turns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import geometric_mean
from typing import TYPE_CHECKING

from bench.state import contenders as who
from bench.state.contenders import Answer, Contender
from bench.state.inputs import Events, make
from bench.state.measure import Goal, Result, in_turns, median
from bench.state.workloads import Workload

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHECKED = (20_000, 1_000)
GOALS = {who.ROW: 10.0, who.PANDAS: 25.0, who.SCALA: 1.0, who.BYTEWAX: 1.5}
"""How many times as fast headrace should be, in the geometric mean of all workloads."""
LEAST_OF_SCALA = 0.95
COMPILED = (who.HEADRACE, who.IN_TIME, who.SCALA)
ENOUGH = 100_000
"""No contender gets fewer events than this, unless fewer were asked for: the fixed cost of a query would weigh too much."""


def measure(
    spark: SparkSession,
    workload: Workload,
    contenders: Mapping[str, Contender],
    events: int,
    keys: int,
    rounds: int,
    report: Callable[[str], object],
) -> Result:
    """Return the rates in events per second, in turns."""
    lacking = {name: why for name, one in contenders.items() if (why := one.lacks(workload))}
    taking = {name: one for name, one in contenders.items() if name not in lacking}
    check(spark, workload, taking, report)
    shares = {name: max(one.share, min(1.0, ENOUGH / events)) for name, one in taking.items()}
    inputs = {name: make(spark, workload, int(events * share), max(1, int(keys * share))) for name, share in shares.items()}

    def rate(one: Contender, events: Events) -> Callable[[], float]:
        return lambda: events.events / one.seconds(workload, events)

    runs = {name: rate(one, inputs[name]) for name, one in taking.items()}
    # the JVM compiles hot code in the background, for longer than one round
    in_turns({taking[name].name: runs[name] for name in COMPILED if name in taking}, 0, warm=2, report=report)
    samples = in_turns({taking[name].name: run for name, run in runs.items()}, rounds, report=report)
    goals = []
    if {who.HEADRACE, who.SCALA} <= set(taking):
        speed = ratios(samples)[who.TITLES[who.SCALA]]
        goals.append(Goal(f"as fast as {who.TITLES[who.SCALA]}", speed, LEAST_OF_SCALA, at_least=True))
    less = [f"{taking[name].name} is given {share:.0%} of the events and keys" for name, share in shares.items() if share < 1]
    absent = [f"{contenders[name].name} takes no part: {why}" for name, why in lacking.items()]
    full = workload.keys(events, keys)
    return Result(f"{workload.title}, {events:,} events, {full:,} keys", "events/s", samples, goals, [*less, *absent], base=base(samples))


def check(spark: SparkSession, workload: Workload, contenders: Mapping[str, Contender], report: Callable[[str], object]) -> None:
    """Check that all return the same number of rows, with the same sums."""
    events = make(spark, workload, *CHECKED)
    answers: dict[str, Answer] = {one.name: one.answer(workload, events) for name, one in contenders.items() if name != who.READING}
    if len(set(answers.values())) > 1:
        lines = "\n".join(f"  {name}: {answer.rows} rows, sums {answer.sums}" for name, answer in answers.items())
        raise RuntimeError(f"the contenders do not agree on {workload.name}:\n{lines}")
    for answer in list(answers.values())[:1]:
        sums = ", ".join(f"{name} {total}" for name, total in zip(workload.sums, answer.sums, strict=True))
        report(f"all put out {answer.rows:,} rows for {events.events:,} events; sums: {sums}")


def means(results: list[Result]) -> Result | None:
    """Return how many times as fast as each other contender headrace is, in the geometric mean, with the goals."""
    speeds = {
        who.TITLES[name]: [each[who.TITLES[name]] for r in results if who.TITLES[name] in (each := ratios(r.samples))] for name in GOALS
    }
    samples = {title: values for title, values in speeds.items() if values}
    if not samples:
        return None
    goals = [
        Goal(f"as fast as {who.TITLES[name]}, geometric mean", geometric_mean(samples[who.TITLES[name]]), least, at_least=True)
        for name, least in GOALS.items()
        if who.TITLES[name] in samples
    ]
    return Result(f"how many times as fast headrace is, over {len(results)} programs", "×", samples, goals, [])


def ratios(samples: Mapping[str, list[float]]) -> dict[str, float]:
    """Return how many times as fast as each other contender headrace is."""
    mine = samples.get(who.TITLES[who.HEADRACE])
    return {} if mine is None else {name: median(mine) / median(values) for name, values in samples.items()}


def base(samples: Mapping[str, list[float]]) -> str | None:
    return who.TITLES[who.HEADRACE] if who.TITLES[who.HEADRACE] in samples else None
