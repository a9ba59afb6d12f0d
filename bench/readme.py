"""The tables of speed in the README and in docs/compare, from the numbers in bench/results.

python -m bench.readme
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from bench.nexmark import page
from bench.nexmark.queries import FILES, QUERIES
from bench.state import contenders as who
from bench.state.show import text

ROOT = Path(__file__).parents[1]
README, RESULTS = ROOT / "README.md", ROOT / "bench" / "results"
BEGIN, END = "<!-- python -m bench.readme -->\n", "<!-- end -->\n"
HEADS = {
    who.HEADRACE: 'headrace, `order="arrival"`',
    who.IN_TIME: 'headrace, `order="time"`',
    who.SCALA: "Scala by hand",
    who.ROW: "PySpark, rows",
    who.PANDAS: "PySpark, pandas",
    who.BYTEWAX: "Bytewax",
}
"""The contenders of the table, in its order."""
RATE, SPEED = "events/s", "×"
MANY = 8
"""From this number on, contenders are steps of a series: only its ends are shown."""
SHOWN = {
    "first result of a small job from a cold start, the kernel's jar being there": "first result of a small job from a cold start, "
    "with the kernel's jar in the cache",
    "one-row epoch of aggregates one over the other (trigger time)": "one-row epoch of nested aggregates (trigger time)",
    "one-row epoch of one program (trigger time)": "one-row epoch of the running count and sum (trigger time), by "
    "[checkpoint file manager](../concepts/faults.md#points)",
    "headrace's file manager": "headrace's",
    "Spark's file manager": "Spark's",
    "one-row epoch of 100 different programs in one job (trigger time)": "one-row epoch of a job with one program, and with 100 different "
    "ones, that count and sum above a limit (trigger time)",
    "answers kept": 'with `cache="1 hour"`',
    "each epoch asks": "without `cache`",
    "each epoch asks, one request at once": "without `cache`, one request at a time",
    "a table of files": "lookup in files, loaded as a whole",
    "Spark's join of streams": "Spark's stream-stream join",
    "the same, state format 4": "Spark's stream-stream join with state format version 4",
    "the same without epochs in headers": "headrace with `epoch_headers=False`",
}
"""Titles and contenders with another name in the pages than in the results."""
ONE_ROW, PERCENT, BATCH = "epoch of one row", "epoch of 1 % of the rows", "Spark batch, 22 queries anew"
_TPCH = re.compile(r"TPC-H, scale factor ([\d.]+), ([\d,]+) rows, 22 views in one job")


def main() -> None:
    README.write_text(with_table(README.read_text(encoding="utf-8")), encoding="utf-8")
    for name, blocks in {"nexmark": measured(), **compared()}.items():
        file = compare(name)
        file.write_text(page.filled(file.read_text(encoding="utf-8"), blocks), encoding="utf-8")


def compare(name: str) -> Path:
    """Return a page of docs/compare."""
    return ROOT / "docs" / "compare" / f"{name}.md"


def measured() -> dict[str, str]:
    """Return the page's block of measurements: one row per query of Nexmark."""
    stored = _read("nexmark")
    on, how, results = stored["machine"], stored["how"], stored["results"]
    names = ("headrace", "Flink SQL")
    titles = {name: f"{name}, {query.title}" for name, query in QUERIES.items()}
    seconds = [[f"{one['contenders'][name]['median']:.1f}" if name in one["contenders"] else "—" for name in names] for one in results]
    rows = [
        [
            titles[short(one)],
            *spent,
            "—" if one["ratio"] is None else f"{one['ratio']:.2f}",
            "—" if one["rows"] is None else f"{one['rows']:,}",
        ]
        for one, spent in zip(results, seconds, strict=True)
    ]
    lines = [
        f"Seconds (medians) for {how['events']:,} events on {on['cores']} cores ({on['processor']}), with Spark {on['spark']}, Flink "
        f"{on['flink']} and heaps of {how['heap'].removesuffix('g')} GiB. {conditions(how)} The column × is Flink's time divided by "
        f"headrace's; its geometric mean is {stored['geometric_mean']:.2f}.",
        "",
        *cells(["", *names, "×", "rows of the result"], ["---", *["--:"] * 4], *rows),
        "",
        *(f"* {name} refuses {short(one)}: `{why}`" for one in results for name, why in one["absent"].items()),
        *(f"* The number of rows of {short(one)} depends on the clock." for one in results if one["rows"] is None),
    ]
    return {"measured": "\n".join(lines) + "\n"}


def conditions(how: Mapping[str, Any]) -> str:
    """Return how headrace and Flink run the queries of Nexmark."""
    return (
        "A time runs from the text of the query to the end of the job: it includes planning and compilation, but not the start of the JVMs "
        f"and of Flink's mini-cluster, which are warm. Both run {how['cores']} tasks in parallel and discard the result, except that of "
        f"{FILES}, which they write to CSV files. headrace runs {how['epochs']} epochs, with state in RocksDB, a checkpoint in each epoch "
        "and no watermarks: it updates event-time windows in every epoch and keeps their state. Flink runs without checkpoints, with "
        "mini-batches, state on the heap and a watermark of four seconds: it emits a window once, when it closes, and drops its state. In "
        "queries over windows the two therefore do different work."
    )


def short(result: Mapping[str, Any]) -> str:
    """Return the query of a result, such as q4."""
    return str(result["title"]).partition(",")[0]


def compared() -> dict[str, dict[str, str]]:
    """Return the blocks of measurements in docs/compare: all of them, and those against another system on its page."""
    state = _read("state")
    return {
        "figures": {
            "programs": table(state) + large(_read("large")["results"]),
            "queries": queries(),
            "sinks and lookups": sinks(),
            "nexmark": nexmark(_read("nexmark"), "nexmark.md").lstrip(),
        },
        "flink": {"measured": nexmark(_read("nexmark"), "nexmark.md").lstrip()},
        "spark": {
            "programs": f"{rates(state, tuple(name for name in HEADS if name != who.BYTEWAX))}\n{in_time(state, who.SCALA)} {epochs()}\n",
            "queries and sinks": against_spark(),
        },
        "bytewax": {
            "measured": f"{rates(state, (who.HEADRACE, who.IN_TIME, who.BYTEWAX))}\n{in_time(state, who.BYTEWAX)}\n",
        },
    }


def against_spark() -> str:
    """Return TPC-H as a table, and queries and sinks that have a contender of Spark's as a list."""
    of = [_read(name) for name in ("queries", "connectors")]
    results = [result for one in of for result in one["results"] if result["goals"]]
    spark = [result for result in results if any(mark in name for name in result["contenders"] for mark in ("Spark", "df."))]
    return f"{tpch()}\nQueries and sinks, on {machines(of)}. In brackets: the time divided by the first one.\n\n{items(spark)}"


def with_table(readme: str) -> str:
    """Return the README with its table of figures between the two marks; docs/compare/figures.md has all figures."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError("the README has no place for the table")
    return f"{before}{begin}{rates(_read('state'), tuple(HEADS))}{end}{after}"


def _read(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def table(stored: Mapping[str, Any]) -> str:
    return f"{rates(stored, tuple(HEADS))}\n{items(result for result in stored['results'] if result['unit'] not in (RATE, SPEED))}"


def rates(stored: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return the state programs by these contenders, as a table."""
    on, results = stored["machine"], stored["results"]
    medians = [{name: one["median"] for name, one in result["contenders"].items()} for result in results if result["unit"] == RATE]
    first = who.TITLES[names[0]]
    means = {
        title: multiple(geometric_mean(one[first] / one[title] for one in medians if title in one))
        for title in map(who.TITLES.__getitem__, names[1:])
    }
    lines = [
        f"Thousands of events per second on {on['cores']} cores ({on['processor']}) with {on['memory_gib']:.0f} GiB, Spark {on['spark']} "
        f"and Python {on['python']}. In brackets: how many times as fast the first column is.",
        "",
        *cells(["", *(HEADS[name] for name in names)], ["---", *["--:"] * len(names)]),
        *cells(
            *(
                [result["title"], *(rate(result["contenders"].get(who.TITLES[name])) for name in names)]
                for result in results
                if result["unit"] == RATE
            )
        ),
        *cells(["geometric mean", *(means.get(who.TITLES[name], "") for name in names)]),
    ]
    return "\n".join(lines) + "\n"


def in_time(stored: Mapping[str, Any], name: str) -> str:
    """Return how headrace in the order of time compares with a contender that handles rows as they arrive."""
    mine, other = who.TITLES[who.IN_TIME], who.TITLES[name]
    results = [result["contenders"] for result in stored["results"] if result["unit"] == RATE and other in result["contenders"]]
    shares = [one[mine]["median"] / one[other]["median"] for one in results]
    return (
        f'With `order="time"` the rate of headrace is {min(shares):.2f} to {max(shares):.2f} times that of {HEADS[name]}, '
        f"{geometric_mean(shares):.2f} times in the geometric mean."
    )


def epochs() -> str:
    """Return the rates of a large input in one epoch and in several."""
    (rates,) = (result["contenders"] for result in _read("large")["results"] if result["unit"] == RATE)
    _, (title, one), (longer, several) = rates.items()
    return (
        f"Many epochs lower the rate: with {title}, headrace counts {one['median'] / 1000:,.0f} thousand events a second in one epoch and "
        f"{several['median'] / 1000:,.0f} thousand in {longer.removeprefix(f'{title}, ')}. The other contenders were not measured in "
        "several epochs."
    )


def rate(one: Mapping[str, Any] | None) -> str:
    if one is None:
        return "—"
    thousands = f"{one['median'] / 1000:,.0f}"
    return thousands if one["ratio"] == 1 else f"{thousands} ({multiple(one['ratio'])})"


def multiple(ratio: float) -> str:
    return f"{ratio:.0f}×" if ratio >= 10 else f"{ratio:.1f}×" if ratio >= 2 else f"{ratio:.2f}×"


def items(results: Iterable[Mapping[str, Any]]) -> str:
    """Return other measurements as a list. Each value has its ratio to the first one."""
    return "".join(f"* {item(result)}\n" for result in results)


def item(result: Mapping[str, Any]) -> str:
    unit = result["unit"]
    title = SHOWN.get(result["title"], result["title"])
    medians = [(SHOWN.get(name, name), float(one["median"])) for name, one in result["contenders"].items()]
    values = [f"{name}: {text(value, unit)} {unit}" for name, value in medians]
    if len(values) == 1:
        return f"{title}: {values[0].partition(': ')[2]}"
    others = [f"{shown} ({multiple(value / medians[0][1])})" for shown, (_, value) in zip(values[1:], medians[1:], strict=True)]
    return f"{title}: {'; '.join([values[0], *(others if len(medians) < MANY else others[-1:])])}"


def large(results: Iterable[Mapping[str, Any]]) -> str:
    """Many keys: the rates beside those with few, and the heap at the ends of the epochs; the first third is warm-up."""
    lines = []
    for result in results:
        values = {name: one["median"] for name, one in result["contenders"].items()}
        if result["unit"] == RATE:
            shown = "; ".join(f"{name}: {value / 1000:,.0f} thousand events/s" for name, value in values.items())
        else:
            settled = list(values.values())[len(values) // 3 :]
            shown = f"{min(settled):,.0f} to {max(settled):,.0f} {result['unit']} from epoch {len(values) - len(settled) + 1} on"
        lines.append(f"* {result['title']}: {shown}\n")
    return "".join(lines)


def queries() -> str:
    """Return TPC-H as a table, and other queries kept up to date as a list."""
    stored = _read("queries")
    others = f"Other queries, on {machines([stored])}. In brackets: the value divided by the first one."
    return f"{tpch()}\n{others}\n\n{items(stored['results'])}"


def sinks() -> str:
    """Return the measurements of sinks and lookups as a list."""
    stored = _read("connectors")
    return f"On {machines([stored])}. In brackets: the time divided by the first one.\n\n{items(stored['results'])}"


def tpch() -> str:
    """Return epochs over the views of TPC-H, and Spark batch, by the scale of the data."""
    stored = _read("tpch")
    rows = []
    for result in stored["results"]:
        if size := _TPCH.fullmatch(result["title"]):
            times = [float(result["contenders"][name]["median"]) for name in (ONE_ROW, PERCENT, BATCH)]
            rows.append([size[1], size[2], *(f"{time:,.0f}" for time in times), multiple(times[2] / times[1])])
    lines = [
        f"TPC-H, 22 views in one job: milliseconds on {machines([stored])}. The column × is the time of Spark batch divided by that of an "
        "epoch that changes 1 % of the rows.",
        "",
        *cells(["scale factor", "rows", ONE_ROW, PERCENT, "Spark batch, 22 queries", "×"], ["--:"] * 6, *rows),
    ]
    return "\n".join(lines) + "\n"


def machines(stored: Iterable[Mapping[str, Any]]) -> str:
    of = [one["machine"] for one in stored]
    shown = (f"{on['cores']} cores ({on['processor']}) with {on['memory_gib']:.0f} GiB, Spark {on['spark']}" for on in of)
    return " and ".join(dict.fromkeys(shown))


def nexmark(stored: Mapping[str, Any], plans: str) -> str:
    """Return each query of Nexmark against Flink SQL: both times, and the ratio of headrace's speed. `plans` is the page with the plans."""
    on, how = stored["machine"], stored["how"]
    both = [one for one in stored["results"] if one["ratio"] is not None]
    best = max(both, key=lambda one: float(one["ratio"]))
    others = geometric_mean(one["ratio"] for one in both if one is not best)
    lines = [
        f"\nNexmark (`make bench-nexmark`): seconds for {how['events']:,} events on {on['cores']} cores ({on['processor']}), with Spark "
        f"{on['spark']} and Flink {on['flink']}. {conditions(how)}\n\n"
        "The row × is Flink's time divided by headrace's: above 1 headrace is faster, below 1 Flink. In the geometric mean of the "
        f"{len(both)} queries that both run it is {multiple(stored['geometric_mean'])}; without {short(best)}, headrace's best query, "
        f"{multiple(others)}. "
        f"[Nexmark]({plans}) has each query's plan.\n\n",
    ]
    heads = ["", *map(short, both)]
    values = [[name, *(f"{one['contenders'][name]['median']:.1f}" for one in both)] for name in ("headrace", "Flink SQL")]
    rows = [heads, ["---", *["--:"] * len(both)], *values, ["×", *(f"{one['ratio']:.2f}" for one in both)]]
    return "".join(f"{line}\n" for line in [*lines, *cells(*rows)]).replace("\n\n\n", "\n\n")


def cells(*rows: Iterable[str]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in rows]


if __name__ == "__main__":
    main()
