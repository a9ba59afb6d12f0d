"""`make bench-state`: how fast keyed state is, against Spark's own, measured in turns and printed as a table.

python -m bench.state [--rounds N] [--only count,epoch,programs,cold] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import headrace as hr
from bench.state import cold, count, epoch, programs
from bench.state.measure import Result, machine, median, told

ALL = {"count": (count, 3), "epoch": (epoch, 30), "programs": (programs, 30), "cold": (cold, 3)}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.state", description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--only", default=",".join(ALL), help=f"which of them: {','.join(ALL)}")
    parser.add_argument("--rounds", type=int, help="rounds that count, instead of each one's own number")
    parser.add_argument("--json", type=Path, default=Path("bench/results/state.json"), help="where the numbers go (default: %(default)s)")
    asked = parser.parse_args()

    # Spark's Python operator finds the interpreter that has its dependencies.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    spark = hr.session(
        master="local[2]",
        conf={
            "spark.driver.memory": "3g",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.streaming.stateStore.providerClass": provider,
        },
    )
    on, results = machine(), list[Result]()
    folder = Path(tempfile.mkdtemp(prefix="headrace-bench-"))
    try:
        for name in asked.only.split(","):
            module, rounds = ALL[name]
            told(f"— {name}")
            results.append(module.measure(spark, folder / name, asked.rounds or rounds, told))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    show(on, results)
    asked.json.parent.mkdir(parents=True, exist_ok=True)
    asked.json.write_text(json.dumps({"machine": on, "results": [result.to_json() for result in results]}, indent=2) + "\n")
    told(f"the numbers lie in {asked.json}")
    spark.stop()
    return 0 if all(goal.reached for result in results for goal in result.goals) else 1


def show(on: dict[str, object], results: list[Result]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, width=None if sys.stdout.isatty() else 110)
    console.print(
        f"{on['cores']} cores, {on['memory_gib']} GiB, {on['processor']}, Spark {on['spark']}, Python {on['python']}, load {on['load']}"
    )
    for result in results:
        table = Table(title=result.title, title_justify="left", title_style="bold")
        for column in ("", f"median {result.unit}", "least", "most", "rounds"):
            table.add_column(column, justify="left" if not column else "right")
        for name, values in result.samples.items():
            table.add_row(
                name,
                *(f"{value:,.2f}" if result.unit == "s" else f"{value:,.0f}" for value in (median(values), min(values), max(values))),
                str(len(values)),
            )
        console.print(table)
        for goal in result.goals:
            wanted = f"{'at least' if goal.at_least else 'at most'} {goal.limit:g} {goal.unit}"
            console.print(f"  {goal.value:,.2f} {goal.unit} {goal.name} ({wanted}): {'reached' if goal.reached else '[bold]missed[/]'}")
        for remark in result.remarks:
            console.print(f"  [dim]{remark}[/]")
        console.print()


if __name__ == "__main__":
    raise SystemExit(main())
