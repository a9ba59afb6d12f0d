"""The demo's page: one HTML file with its plots, readable offline."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from headrace.demo import events, pipeline, programs
from headrace.demo.findings import REGULAR, Findings
from headrace.demo.svg import Series, bars, calendar, columns, lines, percent
from headrace.spark.run.summary import Summary


def write(page: Path, results: Findings, summary: Summary, plan: str, tables: Path) -> None:
    """Write the page with the findings of a run."""
    names, kinds = events.carriers(tables), events.aircraft(tables)
    text = Template(Path(__file__).with_name("page.html").read_text(encoding="utf-8")).substitute(
        **headlines(results, names),
        **plots(results, names),
        **account(summary),
        largest=largest(results, kinds),
        vanished=vanished(results, names),
        programs=escape(inspect.getsource(programs).split("\n", 2)[2].strip()),
        pipeline=escape(inspect.getsource(pipeline.delays).strip()),
        plan=escape(plan),
    )
    page.write_text(text, encoding="utf-8")


def headlines(results: Findings, names: dict[str, str]) -> dict[str, str]:
    """Return the numbers in the text, and the tiles on top."""
    year, handed, away = results.year, results.handed, results.away
    tiles = (
        (
            percent(handed["late_after_late"]),
            f"of departures are late after a late arrival of the aircraft, {percent(handed['late_after_punctual'])} otherwise",
        ),
        (
            f"{handed['inherited'] / 60:,.0f} h",
            f"of delay handed from one flight to the next: {percent(handed['inherited'] / year['late_minutes'])} of all late minutes",
        ),
        (f"{handed['chains']:,}", f"chains of late flights, the longest of {handed['longest']}"),
        (f"{len(results.regulars):,}", "regular aircraft that left New York and did not come back in 2013"),
    )
    worst = listed([day_of(row[0]) for row in sorted(results.by_day, key=lambda row: -row[1])[:3]])
    storm, _, cancelled, planned = max(results.by_day, key=lambda row: row[2])
    return {
        "tiles": "".join(f'<div class="tile"><b>{figure}</b><span>{caption}</span></div>' for figure, caption in tiles),
        "flights": f"{year['flights']:,}",
        "aircraft": f"{year['aircraft']:,}",
        "cancelled": f"{year['cancelled']:,}",
        "without_tail": f"{year['without_tail']:,}",
        "late": str(programs.LATE),
        "regular": str(REGULAR),
        "after_late": percent(handed["late_after_late"]),
        "after_punctual": percent(handed["late_after_punctual"]),
        "inherited_share": percent(handed["inherited"] / handed["minutes"]),
        "chains": f"{handed['chains']:,}",
        "longest": str(handed["longest"]),
        "alarms": f"{away['alarms']:,}",
        "regulars": f"{len(results.regulars):,}",
        "together": together(results, names),
        "worst_days": f"The worst days were {worst}. On {day_of(storm)} there was little to hand on: "
        f"{cancelled:,} of {planned:,} flights were cancelled.",
    }


def plots(results: Findings, names: dict[str, str]) -> dict[str, str]:
    hours = [row for row in results.by_hour if row[0] >= 5] + [row for row in results.by_hour if row[0] < 5]
    # some flights of the last evening left in the next year, which the calendar does not show
    days = {row[0]: row for row in results.by_day if row[0].year == 2013}
    return {
        "by_gap": lines(
            [f"{row[0]} to {row[0] + 1} h" for row in results.by_gap],
            [
                Series("after a late arrival", "--inherited", [row[2] for row in results.by_gap]),
                Series("after a punctual one", "--recovered", [row[3] for row in results.by_gap]),
            ],
            "leave late",
        ),
        "by_hour": columns(
            [f"{row[0]}h" for row in hours],
            [
                Series("inherited", "--inherited", [row[1] for row in hours]),
                Series("recovered", "--recovered", [row[2] for row in hours]),
            ],
            "minutes",
            mirrored=True,
            height=340,
        ),
        "by_day": calendar(
            {day: float(row[1]) for day, row in days.items()},
            lambda day: f"{day_of(day)}: {days[day][1]:,} minutes handed on; {days[day][3]:,} flights, {days[day][2]:,} cancelled",
        ),
        "by_length": bars(
            [
                (f"{flights} flights", float(chains), f"{chains:,} chains, {minutes:,} minutes")
                for flights, chains, minutes in results.by_length
            ],
            "--inherited",
        ),
        "by_carrier": bars(
            [
                (airline(carrier, names), share, f"{percent(share)} of {after:,} late arrivals")
                for carrier, after, share, _ in results.by_carrier
            ],
            "--inherited",
        ),
        "by_visibility": columns(
            [str(row[0]) for row in results.by_visibility],
            [
                Series("leave late", "--inherited", [row[2] * 100 for row in results.by_visibility]),
                Series("are cancelled", "--neutral", [row[3] * 100 for row in results.by_visibility]),
            ],
            "% of flights",
            suffix=" %",
        ),
    }


def account(summary: Summary) -> dict[str, str]:
    """Return the counts of input rows and their outcomes, from the run's summary."""
    rows = [(f"{one.program} ← {one.input}", one.rows_in, one.handled, one.late, one.dead, one.held) for one in summary.inputs]
    return {
        "rows": f"{summary.rows:,}",
        "seconds": f"{summary.seconds:.0f}",
        "rate": f"{summary.rows_per_second:,.0f}",
        "epochs": f"{summary.epochs:,}",
        "accounts": table(("input of a program", "rows in", "handled", "late", "dead letters", "held"), rows),
    }


def largest(results: Findings, kinds: dict[str, str]) -> str:
    rows = [
        (tail, kinds.get(tail, ""), f"{moment(began)} to {moment(ended)}", flights, inherited, recovered)
        for tail, began, ended, flights, inherited, recovered in results.largest
    ]
    return table(("aircraft", "kind", "first and last departure, local time", "flights", "minutes inherited", "recovered"), rows)


def vanished(results: Findings, names: dict[str, str]) -> str:
    rows = [(tail, airline(carrier, names), day_of(seen), dest, flights) for tail, carrier, seen, dest, flights in results.regulars[:12]]
    return table(("aircraft", "airline", "last departure", "to", "flights before"), rows)


def together(results: Findings, names: dict[str, str]) -> str:
    """Return a sentence about the day on which most regulars of an airline were last seen, empty if they are fewer than three."""
    days = Counter((seen.date(), carrier) for _, carrier, seen, _, _ in results.regulars)
    (day, carrier), count = days.most_common(1)[0] if days else ((None, ""), 0)
    return f"{count} of them, all of {airline(carrier, names)}, were last seen on one day, {day_of(day)}." if day and count > 2 else ""


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return an HTML table with numbers aligned to the right."""
    numeric = [bool(rows) and isinstance(cell, int) for cell in (rows[0] if rows else head)]

    def line(tag: str, cells: Sequence[Any]) -> str:
        texts = [f"{cell:,}" if isinstance(cell, int) else escape(str(cell)) for cell in cells]
        return (
            "<tr>"
            + "".join(
                f'<{tag} class="number">{text}</{tag}>' if right else f"<{tag}>{text}</{tag}>"
                for text, right in zip(texts, numeric, strict=True)
            )
            + "</tr>"
        )

    return f"<table>{line('th', head)}{''.join(line('td', row) for row in rows)}</table>"


def airline(carrier: str, names: dict[str, str]) -> str:
    return names.get(carrier, carrier).removesuffix(" Inc.").removesuffix(" Co.").removesuffix(" Corporation")


def day_of(day: date) -> str:
    return f"{day.day} {day:%B}"


def moment(time: datetime) -> str:
    return f"{time.day} {time:%b %H:%M}"


def listed(items: Sequence[str]) -> str:
    """
    >>> listed(["8 March", "1 July", "22 July"])
    '8 March, 1 July and 22 July'
    """
    return f"{', '.join(items[:-1])} and {items[-1]}" if len(items) > 1 else "".join(items)
