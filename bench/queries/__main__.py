"""`make bench-queries`: the cost of keeping queries up to date: a join, a level, a hundred aggregates, and the heap under growing state.

python -m bench.queries [join] [levels] [heap] [--rounds N] [--scale SHARE] [--json FILE]
"""

from __future__ import annotations

import argparse
import datetime as dt
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import headrace as hr
from bench.queries import heap, join, levels
from bench.state.measure import Result, machine, progress
from bench.state.show import ended, keep, show

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The heap comes first, before the others leave anything in it.
ALL = ("heap", "join", "levels")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.queries", description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"what is measured, of {', '.join(ALL)} (default: all)")
    parser.add_argument("--rounds", type=int, help="rounds that count, instead of each one's own number")
    parser.add_argument("--scale", type=float, default=1.0, help="the share of the rows that the join and the heap get (default: all)")
    parser.add_argument("--json", type=Path, default=Path("bench/results/queries.json"), help="where the numbers go (default: %(default)s)")
    options = parser.parse_args()
    if unknown := set(options.names) - set(ALL):
        parser.error(f"{', '.join(sorted(unknown))}: there are {', '.join(ALL)}")
    spark = session()
    on, results = {"date": dt.date.today().isoformat(), **machine()}, list[Result]()
    folder = Path(tempfile.mkdtemp(prefix="headrace-queries-"))
    try:
        for name in ALL:
            if name in (options.names or ALL):
                progress(f"— {name}")
                results += measure(spark, name, folder / name, options)
    finally:
        show(on, results)
        keep(options.json, on, results)
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return ended(results)


def session() -> SparkSession:
    return hr.session(
        master="local[2]",
        conf={
            "spark.driver.memory": "3g",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": "2",
            # headrace's settings for its own queries, so that Spark's join writes its state in the same way
            "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
            "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        },
    )


def measure(spark: SparkSession, name: str, folder: Path, options: argparse.Namespace) -> list[Result]:
    folder.mkdir()
    if name == "heap":
        return [heap.measure(spark, folder, options.scale, progress)]
    if name == "join":
        return [join.measure(spark, folder, options.rounds or 3, options.scale, progress)]
    return levels.measure(spark, folder, options.rounds or 30, progress)


if __name__ == "__main__":
    raise SystemExit(main())
