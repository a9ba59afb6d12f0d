"""Results as tables and in files."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from bench.state.measure import Result, median, progress


def show(on: dict[str, object], results: list[Result]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, width=None if sys.stdout.isatty() else 110)
    console.print(
        f"{on['cores']} cores, {on['memory_gib']} GiB, {on['processor']}, Spark {on['spark']}, Python {on['python']}, load {on['load']}"
    )
    for result in results:
        table = Table(title=result.title, title_justify="left", title_style="bold")
        ratio = [f"{result.base} is"] if result.base else []
        for column in ("", f"median {result.unit}", "least", "most", "rounds", *ratio):
            table.add_column(column, justify="left" if not column else "right")
        for name, values in result.samples.items():
            table.add_row(
                name,
                *(text(value, result.unit) for value in (median(values), min(values), max(values))),
                str(len(values)),
                *([f"{result.ratio(values):,.2f} ×"] if result.base else []),
            )
        console.print(table)
        for goal in result.goals:
            wanted = f"{'at least' if goal.at_least else 'at most'} {goal.limit:g} {goal.unit}"
            console.print(f"  {goal.value:,.2f} {goal.unit} {goal.name} ({wanted}): {'reached' if goal.reached else '[bold]missed[/]'}")
        for remark in result.remarks:
            console.print(f"  [dim]{remark}[/]")
        console.print()


def text(value: float, unit: str) -> str:
    return f"{value:,.2f}" if unit in ("s", "×") else f"{value:,.0f}"


def keep(file: Path, on: dict[str, object], results: list[Result]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"machine": on, "results": [result.to_json() for result in results]}, indent=2) + "\n")
    progress(f"the numbers lie in {file}")


def ended(results: list[Result]) -> int:
    """Return the exit code: 1 if a goal was missed."""
    return 0 if all(goal.reached for result in results for goal in result.goals) else 1
