"""The demo's job: two sources, two programs, four sinks."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import headrace as hr
from headrace.demo.events import FLIGHTS, WEATHER
from headrace.demo.programs import DelayChain, HourOfWeather

END = datetime(2014, 1, 1, 5, tzinfo=UTC)  # midnight of New Year's Eve in New York
FORTNIGHT = 14  # event files, a day each


def delays(events: Path, results: Path) -> hr.Job:
    """Returns the job that writes each flight of `events` with its weather, and what became of its delay, to `results` as Parquet."""
    flights = hr.read.files(str(events / "flights"), format="json", schema=FLIGHTS, files_per_epoch=FORTNIGHT).watermark("at", "10 minutes")
    weather = hr.read.files(str(events / "weather"), format="json", schema=WEATHER, files_per_epoch=FORTNIGHT).watermark(
        "hour", "10 minutes"
    )

    seen = weather.key_by("origin").process(HourOfWeather, flight=flights.key_by("origin"), time="at").named("flights_in_weather")
    flown = seen.filter("dep_delay IS NOT NULL")  # a cancelled flight passes on no delay
    turns = flown.key_by("tailnum").process(DelayChain(END), time="at").named("turns")

    return hr.job(
        "delays",
        seen.write.files(str(results / "flights"), format="parquet"),
        turns.write.files(str(results / "turns"), format="parquet"),
        turns.output(DelayChain.chains).write.files(str(results / "chains"), format="parquet"),
        turns.output(DelayChain.vanished).write.files(str(results / "vanished"), format="parquet"),
    )
