"""`make bench-state`: the speed of keyed state against other systems, measured in turns and printed as tables.

python -m bench.state [--only count,fraud,…,epoch,programs,cold] [--contenders headrace,scala,…] [--events N] [--keys N] [--rounds N]
                      [--large] [--json FILE]
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import headrace as hr
from bench.state import cold, compare, contenders, epoch, large, programs
from bench.state.contenders.scala import jar
from bench.state.measure import Result, machine, progress
from bench.state.show import ended, keep, show
from bench.state.workloads import WORKLOADS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OTHERS = {"epoch": (epoch, 30), "programs": (programs, 30), "cold": (cold, 3)}
ALL = (*WORKLOADS, *OTHERS)


def main() -> int:
    options = arguments()
    # Python processors get times without a zone, which must be in the session's.
    os.environ["TZ"] = "UTC"
    time.tzset()
    # Spark's Python operator needs the interpreter with its dependencies.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = session(with_scala=contenders.SCALA in options.contenders)
    on, results = machine(), list[Result]()
    try:
        measure(spark, options, results)
    finally:
        show(on, results)
        keep(options.json, on, results)
        spark.stop()
    return ended(results)


def arguments() -> argparse.Namespace:
    def names(all: tuple[str, ...]) -> dict[str, object]:
        def chosen(text: str) -> list[str]:
            names = text.split(",")
            if unknown := set(names) - set(all):
                raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))}: there are {', '.join(all)}")
            return names

        return {"type": chosen, "default": list(all)}

    parser = argparse.ArgumentParser(prog="python -m bench.state", description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--only", **names(ALL), help=f"which programs and measurements: {','.join(ALL)}")
    parser.add_argument("--contenders", **names(contenders.NAMES), help=f"who runs the programs: {','.join(contenders.NAMES)}")
    parser.add_argument("--events", type=int, default=1_000_000, help="events of a program (default: %(default)s)")
    parser.add_argument("--keys", type=int, default=50_000, help="keys of a program (default: %(default)s)")
    parser.add_argument("--rounds", type=int, help="rounds that count, instead of each one's own number")
    parser.add_argument(
        "--large", action="store_true", help="instead: headrace with 10 times the events and 20 times the keys, and its heap"
    )
    parser.add_argument("--json", type=Path, help="where the numbers go (default: bench/results/state.json, or large.json)")
    options = parser.parse_args()
    options.json = options.json or Path("bench/results") / ("large.json" if options.large else "state.json")
    return options


def session(*, with_scala: bool) -> SparkSession:
    return hr.session(
        master="local[2]",
        conf={
            "spark.driver.memory": "3g",
            "spark.sql.shuffle.partitions": "2",
            # headrace's settings for its own queries, so that all write their state in the same way
            "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
            "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
            **({"spark.driver.extraClassPath": str(jar())} if with_scala else {}),
        },
    )


def measure(spark: SparkSession, options: argparse.Namespace, results: list[Result]) -> None:
    """Add results to the list one by one, so that a failure keeps those before it."""
    workloads = [WORKLOADS[name] for name in options.only if name in WORKLOADS]
    if options.large:
        for workload in workloads if len(options.only) < len(ALL) else [WORKLOADS["count"]]:
            progress(f"— {workload.name}, large")
            results.extend(large.measure(spark, workload, options.events, options.keys, options.rounds or 3, progress))
        return
    taking = contenders.contenders(spark, options.contenders, progress) if workloads else {}
    for workload in workloads:
        progress(f"— {workload.name}")
        results.append(compare.measure(spark, workload, taking, options.events, options.keys, options.rounds or 3, progress))
    if mean := compare.means(results):
        results.append(mean)
    folder = Path(tempfile.mkdtemp(prefix="headrace-bench-"))
    try:
        for name in options.only:
            if name in OTHERS:
                module, rounds = OTHERS[name]
                progress(f"— {name}")
                results.append(module.measure(spark, folder / name, options.rounds or rounds, progress))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    raise SystemExit(main())
