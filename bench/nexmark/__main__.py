"""`make bench-nexmark`: the 23 queries of Nexmark by headrace and by Flink SQL, in turns, over the same events.

python -m bench.nexmark [--queries q0,q1] [--scale 1M] [--epochs N] [--rounds N] [--disorder] [--flink-state heap|rocksdb] [--memory 4g]
    [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import headrace as hr
from bench.nexmark.events import CORES, MOST_LATE, SHARE_LATE, Events, make
from bench.nexmark.flink import SETTINGS, STATES, VERSION, Flink
from bench.nexmark.measure import FLINK, HEADRACE, Measured, mean, measure
from bench.nexmark.oracle import Oracle
from bench.nexmark.queries import QUERIES
from bench.state.measure import machine, median, progress

MOST_FOR_ORACLE = 10_000_000
"""With more events than this, DuckDB does not check the answers, because it holds all of them in memory; the two still have to agree."""


def main() -> int:
    options = arguments()
    events = make(options.scale, options.epochs)
    disordered = make(options.scale, options.epochs, late=True) if options.disorder else None
    spark = hr.session(
        master=f"local[{CORES}]",
        conf={"spark.driver.memory": options.memory, "spark.sql.shuffle.partitions": f"{CORES}", "spark.sql.session.timeZone": "UTC"},
    )
    process = int(spark._jvm.java.lang.ProcessHandle.current().pid())
    oracle = Oracle(events) if events.events <= MOST_FOR_ORACLE else None
    on, results = machine() | {"flink": VERSION}, list[Measured]()
    with ExitStack() as stack:
        stack.callback(spark.stop)
        stack.callback(lambda: (show(on, events, results), keep(options, on, results)))
        flink = started(stack, options, events)
        for name in options.queries:
            query = QUERIES[name]
            progress(f"— {query.name}, {query.title}")
            # both JVMs are cold at the first query
            warm = 1 if results else 3
            rows = oracle.rows(query) if oracle else None
            results.append(measure(query, events, disordered, rows, process, flink, options.rounds, warm, progress))
    return 0


def arguments() -> argparse.Namespace:
    def names(text: str) -> list[str]:
        chosen = text.split(",")
        if unknown := set(chosen) - set(QUERIES):
            raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))}: there are q0 to q22")
        return chosen

    def count(text: str) -> int:
        factor = {"k": 1_000, "m": 1_000_000}.get(text[-1:].lower(), 1)
        return int(float(text.rstrip("kKmM")) * factor)

    parser = argparse.ArgumentParser(prog="python -m bench.nexmark", description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--queries", type=names, default=list(QUERIES), help="which, with commas between (default: all)")
    parser.add_argument("--scale", type=count, default="1M", help="events: 1M, 10M, 50M (default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=10, help="epochs of headrace (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds that count (default: %(default)s)")
    parser.add_argument("--disorder", action="store_true", help="headrace as well with a tenth of the events up to a minute late")
    parser.add_argument("--flink-state", choices=STATES, default="heap", help="where Flink keeps state (default: %(default)s)")
    parser.add_argument("--memory", default="4g", help="heap of each JVM (default: %(default)s)")
    parser.add_argument("--json", type=Path, default=Path("bench/results/nexmark.json"), help="where the numbers go (default: %(default)s)")
    return parser.parse_args()


def started(stack: ExitStack, options: argparse.Namespace, events: Events) -> Flink | None:
    try:
        flink = stack.enter_context(Flink(options.flink_state, options.memory))
    except subprocess.CalledProcessError as problem:
        progress(f"Flink is left out, it could not be installed: {problem}")
        return None
    flink.over(events)
    return flink


def show(on: dict[str, object], events: Events, results: list[Measured]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
    console.print(
        f"{on['cores']} cores, {on['memory_gib']} GiB, {on['processor']}, Spark {on['spark']}, Flink {on['flink']}, load {on['load']}"
    )
    title = f"Nexmark, {events.events:,} events; headrace in {events.epochs} epochs"
    table = Table(title=title, title_justify="left", title_style="bold")
    heads = [f"{name}\n{what}" for name in (HEADRACE, FLINK) for what in ("min s", "median s", "MiB")]
    for column in ("", *heads, "×", "rows"):
        table.add_column(column, justify="right" if column else "left")
    for result in results:
        cells = [cell for name in (HEADRACE, FLINK) for cell in _cells(result, name)]
        ratio = "—" if result.ratio is None else f"{result.ratio:.2f}"
        table.add_row(result.query.name, *cells, ratio, "—" if result.rows is None else f"{result.rows:,}")
    console.print(table)
    if average := mean(result.ratio for result in results):
        console.print(f"  headrace is {average:.2f} times as fast as Flink SQL, geometric mean of the queries that both run")
    if average := mean(result.disorder for result in results):
        most, query = max((result.disorder, result.query.name) for result in results if result.disorder is not None)
        late = f"{SHARE_LATE:.0%} of the events up to {MOST_LATE // 1000} s late"
        console.print(f"  with {late} headrace takes {average:.2f} times as long, geometric mean; at the most {most:.2f} times ({query})")
    for result in results:
        for name, why in result.absent.items():
            console.print(f"  [dim]{result.query.name}: {name} takes no part: {why}[/]", markup=True)


def _cells(result: Measured, name: str) -> tuple[str, str, str]:
    values = result.samples.get(name)
    return (f"{min(values):.2f}", f"{median(values):.2f}", f"{result.peaks[name]:,}") if values else ("—", "—", "—")


def keep(options: argparse.Namespace, on: dict[str, object], results: list[Measured]) -> None:
    how = {
        "events": options.scale,
        "epochs": options.epochs,
        "cores": CORES,
        "heap": options.memory,
        "flink": SETTINGS | STATES[options.flink_state],
    }
    average = mean(result.ratio for result in results)
    kept = {
        "machine": on,
        "how": how,
        "geometric_mean": None if average is None else round(average, 3),
        "results": [result.to_json() for result in results],
    }
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(kept, indent=2) + "\n")
    progress(f"the numbers lie in {options.json}")


if __name__ == "__main__":
    raise SystemExit(main())
