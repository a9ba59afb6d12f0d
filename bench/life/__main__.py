"""`make bench-life`: savepoints, another number of partitions and restarts of a job with large state, and views added to jobs.

python -m bench.life [--keys N] [--scale F] [--json FILE]
"""

from __future__ import annotations

import argparse
import datetime as dt
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import headrace as hr
from bench.life.added import added
from bench.life.backfill import backfill
from bench.queries.unkept import write_unkept
from bench.state.measure import Goal, Result, machine, progress
from bench.state.show import ended, keep, show

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEYS = 10_000_000
BEFORE, AFTER = 2, 8
PAUSE_S, RESCALE_S, RESTART_S, EXPORT_S = 0.2, 60.0, 15.0, 1.0
"""The goals with `KEYS` keys on two cores; with fewer keys they say little."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.life", description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--keys", type=int, default=KEYS, help="keys with state (default: %(default)s)")
    parser.add_argument("--scale", type=float, default=0.5, help="scale factor of TPC-H for added views (default: %(default)s)")
    parser.add_argument("--json", type=Path, default=Path("bench/results/life.json"), help="where the numbers go (default: %(default)s)")
    options = parser.parse_args()
    spark = hr.session(
        master="local[2]",
        conf={"spark.driver.memory": "4g", "spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": f"{BEFORE}"},
    )
    on, results = {"date": dt.date.today().isoformat(), **machine()}, list[Result]()
    folder = Path(tempfile.mkdtemp(prefix="headrace-life-"))
    try:
        if options.keys:
            results.append(measure(spark, folder, options.keys))
        if options.scale:
            results.append(backfill(spark, folder / "backfill", options.scale))
            results.append(added(folder / "added", options.scale / 5))
    finally:
        show(on, results)
        keep(options.json, on, results)
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return ended(results)


def measure(spark: SparkSession, folder: Path, keys: int) -> Result:
    """Return the seconds of each step in the life of one job."""
    samples: dict[str, list[float]] = {}

    def timed(name: str, work: Callable[[], object]) -> None:
        began = time.perf_counter()
        work()
        samples[name] = [time.perf_counter() - began]
        progress(f"{name}: {samples[name][0]:,.2f} s")

    def run() -> None:
        job(folder).run(checkpoint=folder / "checkpoint", flush=False, progress=False)

    def more(name: str) -> None:
        spark.range(1).selectExpr("id AS k", "7L AS v").coalesce(1).write.mode("append").parquet(str(folder / "in"))
        timed(name, run)

    spark.range(0, keys, 1, BEFORE * 4).selectExpr("id AS k", "id % 1000 AS v").write.parquet(str(folder / "in"))
    timed(
        f"first epoch, {keys:,} keys",
        lambda: job(folder).run(checkpoint=folder / "checkpoint", partitions=BEFORE, progress=False, flush=False),
    )
    timed("savepoint", lambda: job(folder).savepoint("first", checkpoint=folder / "checkpoint"))
    more("restart, to the end of an epoch of one row")
    timed(f"rescale, {BEFORE} to {AFTER}", lambda: job(folder).deploy(checkpoint=folder / "checkpoint", partitions=AFTER))
    more("restart after it")
    timed("export of a portable savepoint", lambda: hr.export_savepoint(folder / "checkpoint", "first", folder / "portable"))
    timed("import of it", lambda: hr.import_savepoint(folder / "portable", checkpoint=folder / "imported"))
    names = list(samples)
    goals = [
        Goal("pause of a savepoint", samples["savepoint"][0], PAUSE_S, unit="s"),
        Goal(names[3], samples[names[3]][0], RESCALE_S, unit="s"),
        Goal("a portable savepoint of a million keys", samples["export of a portable savepoint"][0] * 1e6 / keys, EXPORT_S, unit="s"),
        Goal("restart", max(samples[names[2]][0], samples[names[4]][0]), RESTART_S, unit="s"),
    ]
    remarks = ["each step once, one after the other", "a restart opens stores that the session has not opened before"]
    return Result(f"job life with {keys:,} keys", "s", samples, goals, remarks)


def job(folder: Path) -> hr.Job:
    rows = hr.read.files(folder / "in", format="parquet", schema="k bigint, v bigint", name="rows")
    return hr.job("life", write_unkept(rows.group_by("k").agg(n="count(*)", s="sum(v)").named("sums")))


if __name__ == "__main__":
    raise SystemExit(main())
