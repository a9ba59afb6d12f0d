"""The demo's programs against plain Python: by hand, on days of the real year, and (marked `full`) on all of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.demo import events, findings, pipeline
from headrace.demo.programs import DelayChain, HourOfWeather
from headrace.testing import Harness
from tests.models import demo as model

FLIGHT = "at timestamp, tailnum string, carrier string, origin string, dest string, dep_delay int, arr_delay int"
Event = dict[str, Any]


@pytest.fixture
def harness() -> Iterator[Harness]:
    with Harness() as h:
        yield h


def moment(text: str) -> datetime:
    return datetime.fromisoformat(f"2013-{text}+00:00")


def flight(at: str, tail: str, late: int | None = 0, arrives: int | None = 0, dest: str = "ORD") -> tuple[str, tuple[Any, ...]]:
    return ("+", (f"2013-{at}", tail, "B6", "JFK", dest, late, arrives))


def test_a_flight_gets_the_report_of_its_own_hour(harness: Harness) -> None:
    flights = harness.source("flights", "at timestamp, origin string", watermark=("at", "1 minute"))
    weather = harness.source(
        "weather",
        "hour timestamp, origin string, temp double, wind_speed double, precip double, visib double",
        watermark=("hour", "1 minute"),
    )
    joined = weather.key_by("origin").process(HourOfWeather, flight=flights.key_by("origin"), time="at")
    out = harness.collect(joined.select("at", "origin", "temp"))
    report = lambda hour, origin, temp: ("+", (f"2013-01-01 {hour}:00:00", origin, temp, 0.0, 0.0, 10.0))  # noqa: E731
    harness.commit(
        {
            "flights": [
                ("+", (f"2013-01-01 {at}", origin)) for at, origin in (("09:59:00", "JFK"), ("10:00:00", "JFK"), ("10:59:00", "JFK"))
            ],
            "weather": [report("10", "JFK", 50.0), report("10", "LGA", 51.0), report("12", "JFK", 52.0)],
        }
    )
    # the report of eleven is missing at JFK; that of LGA comes with a later file, and is as good as one that came early
    harness.commit(
        {
            "flights": [
                ("+", ("2013-01-01 11:30:00", "LGA")),
                ("+", ("2013-01-01 11:30:00", "JFK")),
                ("+", ("2013-01-01 12:30:00", "JFK")),
            ],
            "weather": [report("11", "LGA", 53.0)],
        }
    )
    harness.finish()
    at = lambda hour, minute: datetime(2013, 1, 1, hour, minute, tzinfo=UTC)  # noqa: E731
    assert out.rows() == [
        (at(9, 59), "JFK", None),
        (at(10, 0), "JFK", 50.0),
        (at(10, 59), "JFK", 50.0),
        (at(11, 30), "JFK", None),
        (at(11, 30), "LGA", 53.0),
        (at(12, 30), "JFK", 52.0),
    ]


DAY = [
    flight("03-01 10:00:00", "N1", 5, 60),
    flight("03-01 10:00:00", "N2", 0, 15),
    flight("03-01 10:00:00", "N3", 0, 90),
    flight("03-01 15:00:00", "N1", 40, 70),  # 60 minutes brought, 40 handed on, 20 recovered
    flight("03-01 20:00:00", "N1", 80, None),  # 70 brought and handed on; it was diverted, so nobody knows how late it arrived
    flight("03-01 20:00:00", "N2", 15, 0),  # exactly ten hours later, exactly late
    flight("03-01 20:00:01", "N3", 90, 0),  # a second too late to count
    flight("03-01 23:00:00", "N1", 90, 0),  # nothing that is known was brought: the chain of three has ended
]


@pytest.mark.parametrize("cut", [1, 3, len(DAY)])
def test_a_delay_is_handed_on_until_a_flight_leaves_on_time(harness: Harness, cut: int) -> None:
    flights = harness.source("flights", FLIGHT, watermark=("at", "1 minute"))
    turns = flights.key_by("tailnum").process(DelayChain(pipeline.END), time="at")
    handed = harness.collect(turns.select("at", "tailnum", "arrived_late", "dep_delay", "inherited", "recovered"))
    chains = harness.collect(turns.output(DelayChain.chains))
    for start in range(0, len(DAY), cut):
        harness.commit({"flights": DAY[start : start + cut]})
    harness.finish()
    at = lambda text: moment(f"03-01T{text}")  # noqa: E731
    assert handed.rows() == [
        (at("15:00:00"), "N1", 60, 40, 40, 20),
        (at("20:00:00"), "N1", 70, 80, 70, 0),
        (at("20:00:00"), "N2", 15, 15, 15, 0),
        (at("23:00:00"), "N1", None, 90, 0, 0),
    ]
    assert chains.rows() == [
        ("N1", at("10:00:00"), at("20:00:00"), 3, 110, 20),
        ("N2", at("10:00:00"), at("20:00:00"), 2, 15, 0),
    ]


def test_an_aircraft_is_missed_after_thirty_days_of_the_year(harness: Harness) -> None:
    flights = harness.source("flights", FLIGHT, watermark=("at", "1 minute"))
    turns = flights.key_by("tailnum").process(DelayChain(pipeline.END), time="at")
    vanished = harness.collect(turns.output(DelayChain.vanished))
    harness.collect(turns)
    harness.commit(
        {
            "flights": [
                flight("03-01 10:00:00", "BACK", dest="ATL"),
                flight("04-02 10:00:00", "BACK"),  # after 32 days
                flight("12-02 05:00:00", "LATE", dest="MIA"),  # thirty days before the year is over, to the second
                flight("12-02 05:00:01", "WHO KNOWS"),
            ]
        }
    )
    harness.finish()
    assert vanished.rows() == [
        ("BACK", moment("03-01T10:00:00"), "ATL", moment("03-31T10:00:00")),
        ("BACK", moment("04-02T10:00:00"), "ORD", moment("05-02T10:00:00")),
        ("LATE", moment("12-02T05:00:00"), "MIA", datetime(2014, 1, 1, 5, tzinfo=UTC)),
    ]


@pytest.fixture(scope="module")
def year(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The events of the whole year, laid out once."""
    folder = tmp_path_factory.mktemp("year") / "events"
    events.lay_out(folder)
    return folder


def some_days(year: Path, folder: Path, days: list[str]) -> Path:
    for name in ("flights", "weather"):
        (folder / name).mkdir(parents=True)
        for day in days:
            (folder / name / f"{day}.json").symlink_to(year / name / f"{day}.json")
    return folder


def read(folder: Path, *times: str) -> list[Event]:
    events = []
    for file in sorted(folder.iterdir()):
        for line in file.read_text().splitlines():
            row = json.loads(line)
            events.append({**row, **{name: datetime.fromisoformat(row[name]) for name in times}})
    return events


def compare(year: Path, folder: Path) -> hr.Summary:
    """Run the job and compare each of its results with the model's; gives the run's summary."""
    job = pipeline.delays(year, folder / "results")
    summary = job.run(checkpoint=str(folder / "checkpoint"), progress=False)
    flights = model.enriched(read(year / "flights", "at"), read(year / "weather", "hour"))
    expected = dict(zip(findings.RESULTS, (flights, *model.followed(flights, pipeline.END)), strict=True))
    spark = hr.session()
    for name in findings.RESULTS:
        rows = [row.asDict() for row in spark.read.parquet(str(folder / "results" / name)).collect()]
        assert comparable(rows) == comparable(expected[name]), name
    return summary


def comparable(rows: list[Event]) -> list[str]:
    """Rows as texts in an order of their own; Spark's Python times are local and naive."""
    plain = []
    for row in rows:
        cells = {name: value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value for name, value in row.items()}
        plain.append(json.dumps(cells, sort_keys=True))
    return sorted(plain)


def test_nine_days_of_february(year: Path, tmp_path: Path) -> None:
    """From the fifth to the thirteenth: the snow storm of the eighth and what it did to the days after it."""
    days = some_days(year, tmp_path / "events", [f"2013-02-{day:02}" for day in range(5, 14)])
    summary = compare(days, tmp_path)
    counts = {(one.program, one.input): one for one in summary.inputs}
    flights = counts["flights_in_weather", "flight"]
    assert flights.rows_in == flights.handled == len(read(days / "flights"))
    assert sum(one.late + one.dead + one.held for one in summary.inputs) == 0


@pytest.mark.full
def test_the_whole_year(year: Path, tmp_path: Path) -> None:
    summary = compare(year, tmp_path)
    assert summary.rows == 336_776 + 26_115
    numbers = findings.find(hr.session(), tmp_path / "results")
    # what docs/start/demo.md says
    assert (numbers.handed["inherited"], numbers.handed["recovered"]) == (440_193, 405_741)
    assert (round(numbers.handed["late_after_late"], 2), round(numbers.handed["late_after_punctual"], 2)) == (0.58, 0.20)
    assert (numbers.handed["chains"], numbers.handed["longest"], numbers.away["alarms"]) == (7598, 7, 5947)
    assert (numbers.year["with_weather"], numbers.year["flights"]) == (335_184, 336_776)
    assert sum(row[1] for row in numbers.by_hour) == sum(row[1] for row in numbers.by_day) == numbers.handed["inherited"]
