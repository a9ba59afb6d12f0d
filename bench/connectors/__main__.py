"""`make bench-connectors`: the cost of exactly-once writes to servers, against Spark's own writers.

python -m bench.connectors [NAME ...] [--rounds N] [--scale SHARE] [--json FILE]
"""

from __future__ import annotations

import argparse
import datetime as dt
import importlib
import pkgutil
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import bench.connectors
import headrace as hr
from bench.state.measure import Result, machine, progress
from bench.state.show import ended, keep, show

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A module has `measure(spark, folder, rounds, scale, report) -> list[Result]`, and starts the server that it needs.
ALL = tuple(sorted(module.name for module in pkgutil.iter_modules(bench.connectors.__path__) if not module.name.startswith("_")))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.connectors", description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"what is measured, of {', '.join(ALL)} (default: all)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds that count (default: %(default)s)")
    parser.add_argument("--scale", type=float, default=1.0, help="the share of the rows (default: all)")
    parser.add_argument(
        "--json", type=Path, default=Path("bench/results/connectors.json"), help="where the numbers go (default: %(default)s)"
    )
    options = parser.parse_args()
    if unknown := set(options.names) - set(ALL):
        parser.error(f"{', '.join(sorted(unknown))}: there are {', '.join(ALL)}")
    spark = session()
    on, results = {"date": dt.date.today().isoformat(), **machine()}, list[Result]()
    folder = Path(tempfile.mkdtemp(prefix="headrace-connectors-"))
    try:
        for name in options.names or ALL:
            progress(f"— {name}")
            (folder / name).mkdir()
            module = importlib.import_module(f"bench.connectors.{name}")
            results += module.measure(spark, folder / name, options.rounds, options.scale, progress)
    finally:
        show(on, results)
        keep(options.json, on, results)
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return ended(results)


def session() -> SparkSession:
    conf = {"spark.driver.memory": "3g", "spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": "2"}
    return hr.session(master="local[2]", conf=conf)


if __name__ == "__main__":
    raise SystemExit(main())
