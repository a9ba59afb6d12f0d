"""`make bench-tpch`: one job keeps the 22 queries of TPC-H up to date, against Spark batch, which answers them anew.

python -m bench.tpch [--scales 0.01,0.1,0.5] [--rounds N] [--memory 4g] [--json FILE]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import headrace as hr
from bench.state.measure import Result, machine, progress
from bench.state.show import ended, keep, show
from bench.tpch.measure import growth, measure


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.tpch", description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--scales", default="0.01,0.1,0.5", help="scale factors, with commas between (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds that count (default: %(default)s)")
    parser.add_argument("--memory", default="4g", help="heap of the JVM (default: %(default)s)")
    parser.add_argument("--json", type=Path, default=Path("bench/results/tpch.json"), help="where the numbers go (default: %(default)s)")
    options = parser.parse_args()
    spark = hr.session(
        master="local[2]",
        conf={"spark.driver.memory": options.memory, "spark.sql.shuffle.partitions": "2", "spark.sql.session.timeZone": "UTC"},
    )
    on, results, by_scale = machine(), list[Result](), dict[float, Result]()
    try:
        for scale in sorted(float(text) for text in options.scales.split(",")):
            progress(f"— scale factor {scale:g}")
            measured = measure(spark, scale, options.rounds, progress)
            results += measured
            by_scale[scale] = measured[-1]
        if grown := growth(by_scale):
            results.append(grown)
    finally:
        show(on, results)
        keep(options.json, on, results)
        spark.stop()
    return ended(results)


if __name__ == "__main__":
    raise SystemExit(main())
