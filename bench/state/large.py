"""Ten times the events over a million keys: headrace is as fast as with few, and its heap does not grow.

Both sizes are read in one epoch, as by the contenders. The result also has a run in many epochs: in each of them nearly every key is read
and written again. The heap is measured in a run of many epochs, after a full collection at the end of each.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from bench.state.contenders.contender import checkpoint, timed
from bench.state.contenders.kernel import made
from bench.state.inputs import Events, make_slices
from bench.state.measure import Goal, Result, in_turns, median
from bench.state.workloads import Workload

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TIMES_EVENTS, TIMES_KEYS, EPOCHS = 10, 20, 10
FILES_PER_EPOCH = 2


def measure(
    spark: SparkSession, workload: Workload, events: int, keys: int, rounds: int, report: Callable[[str], object]
) -> tuple[Result, Result]:
    """Return the rates of both sizes, and the heap by epoch."""
    few = make_slices(spark, workload, events, keys, FILES_PER_EPOCH)
    many = make_slices(spark, workload, events * TIMES_EVENTS, keys * TIMES_KEYS, FILES_PER_EPOCH * EPOCHS)

    def rate(events: Events, files: int) -> Callable[[], float]:
        def run(checkpoint: str) -> None:
            made(workload, events, "arrival", files).run(checkpoint=checkpoint, progress=False, partitions=2)

        return lambda: events.events / timed(run)

    at_once = FILES_PER_EPOCH * EPOCHS
    runs = {
        title(few): rate(few, FILES_PER_EPOCH),
        title(many): rate(many, at_once),
        f"{title(many)}, {EPOCHS} epochs": rate(many, FILES_PER_EPOCH),
    }
    samples = in_turns(runs, rounds, report=report)
    of_few, of_many, _ = (median(values) for values in samples.values())
    goal = Goal("of the rate with few keys", of_many / of_few, 0.75, at_least=True)
    rates = Result(f"{workload.title}, large", "events/s", samples, [goal], [], base=title(few))
    used = heap(spark, workload, many, report)
    # the first epochs fill caches and compile code
    settled = used[len(used) // 3 :]
    grown = Goal("of the heap a third of the way, at the end", settled[-1] / settled[0], 1.1)
    each = {f"epoch {number + 1}": [mebibytes] for number, mebibytes in enumerate(used)}
    return rates, Result(f"{workload.title}, large: used heap after a full collection", "MiB", each, [grown], [])


def title(events: Events) -> str:
    return f"{events.events:,} events, {events.keys:,} keys"


def heap(spark: SparkSession, workload: Workload, events: Events, report: Callable[[str], object]) -> list[float]:
    """Return the mebibytes used at the end of each epoch."""
    java = spark._jvm
    beans = java.java.lang.management.ManagementFactory.getMemoryMXBean()
    used: list[float] = []
    with checkpoint() as folder:
        run = made(workload, events, "arrival", FILES_PER_EPOCH).start(checkpoint=folder, progress=False, partitions=2)
        seen = 0
        while run.status in ("running", "flushing"):
            if run.progress.epochs > seen:
                seen = run.progress.epochs
                beans.gc()
                used.append(beans.getHeapMemoryUsage().getUsed() / 2**20)
                report(f"heap after epoch {seen}: {used[-1]:,.0f} MiB")
            time.sleep(0.02)
        run.wait()
    return used
