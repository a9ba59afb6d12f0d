"""The demo's picture and table in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headrace.demo.findings import REGULAR, Findings

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from headrace.spark.run.summary import Summary

INHERITED, RECOVERED = "#e0703a", "#3f9a94"
EIGHTHS = " ▏▎▍▌▋▊▉█"


def show(console: Console, results: Findings) -> None:
    """Print the picture of the day and the largest chains."""
    console.print()
    console.print(day(results, max(10, min(34, (console.width - 30) // 2))))
    console.print()
    console.print(chains(results))
    console.print()


def day(results: Findings, width: int) -> RenderableType:
    """Draw the inherited and recovered minutes of late arrivals, by the local hour of the aircraft's next departure."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    hours = [row for row in results.by_hour if row[0] >= 5] + [row for row in results.by_hour if row[0] < 5]
    top = max(max(inherited, recovered) for _, inherited, recovered in hours)
    grid = Table.grid(padding=(0, 1))
    for justify in ("right", "right", "right", "left", "left"):
        grid.add_column(justify=justify, no_wrap=True)
    grid.add_row("", Text("recovered", style=f"bold {RECOVERED}"), "", Text("inherited", style=f"bold {INHERITED}"), "", style="")
    for hour, inherited, recovered in hours:
        grid.add_row(
            Text(f"{recovered:,}", style="dim"),
            Text(bar_left(recovered / top * width), style=RECOVERED),
            Text(f"{hour:2}h", style="bold"),
            Text(bar_right(inherited / top * width), style=INHERITED),
            Text(f"{inherited:,}", style="dim"),
        )
    title = Text("Minutes that aircraft brought late, by the hour of their next departure", style="bold")
    return Group(title, Text("all of 2013, local time: the night recovers, the evening hands on\n", style="dim"), grid)


def bar_right(length: float) -> str:
    """Return a bar that grows to the right, drawn in eighths.

    >>> bar_right(2.5), bar_right(0)
    ('██▌', '')
    """
    whole, part = divmod(round(length * 8), 8)
    return "█" * whole + (EIGHTHS[part] if part else "")


def bar_left(length: float) -> str:
    """Return a bar that grows to the left, drawn in halves: there are no characters for eighths.

    >>> bar_left(2.5)
    '▐██'
    """
    whole, half = divmod(round(length * 2), 2)
    return "▐" * half + "█" * whole


def chains(results: Findings) -> RenderableType:
    """Return a table of the chains that handed on the most minutes."""
    from rich.table import Table

    table = Table(title="The chains that handed on the most", title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
    for name in ("aircraft", "from", "to"):
        table.add_column(name)
    for name in ("flights", "minutes inherited", "recovered"):
        table.add_column(name, justify="right")
    for tail, began, ended, *numbers in results.largest[:6]:
        table.add_row(tail, f"{began:%b %d, %H:%M}", f"{ended:%b %d, %H:%M}", *(f"{n:,}" for n in numbers))
    return table


def sentences(results: Findings) -> list[str]:
    """Return the findings in sentences."""
    year, handed, away = results.year, results.handed, results.away
    return [
        f"After a late arrival of its aircraft {handed['late_after_late']:.0%} of the flights left late; "
        f"after a punctual one {handed['late_after_punctual']:.0%}.",
        f"{handed['inherited'] / 60:,.0f} hours of delay were handed from flight to flight in {handed['chains']:,} chains, "
        f"the longest of {handed['longest']} flights; {handed['recovered'] / 60:,.0f} hours were recovered on the way.",
        f"{away['alarms']:,} times an aircraft stayed away for 30 days; {len(results.regulars):,} of the regulars "
        f"(at least {REGULAR} flights) never came back in 2013.",
        f"{year['with_weather'] / year['flights']:.1%} of the flights found the weather of their hour. "
        f"{year['cancelled']:,} were cancelled, among them all {year['without_tail']:,} without a tail number; those hand nothing on.",
    ]


def accounted(summary: Summary) -> str:
    """Return a sentence with the outcomes of all input rows."""
    rows_in, handled, late, dead, held = (
        sum(getattr(one, count) for one in summary.inputs) for count in ("rows_in", "handled", "late", "dead", "held")
    )
    return f"The programs got {rows_in:,} rows: {handled:,} were handled, {late:,} late, {dead:,} dead, and {held:,} are held."


def next_files(page: Path, results: Path) -> list[tuple[str, Path]]:
    """Return the files to open next, with descriptions."""
    return [
        ("the page with all plots", page),
        ("each flight with its weather", results / "flights"),
        ("each departure after another, and what it inherited", results / "turns"),
        ("the chains", results / "chains"),
        ("aircraft that stayed away", results / "vanished"),
    ]
