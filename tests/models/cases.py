"""Random input for the models: rows with times that often meet, cut into epochs at random, on time or not."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from tests.models import delays, fraud, weather
from tests.models.machine import Model, Row

START = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
DELAY = dt.timedelta(minutes=5)
GRID = dt.timedelta(seconds=30)

Epochs = list[dict[str, list[Row]]]


def a_time(rng: random.Random, span: int) -> dt.datetime:
    """A time of a coarse grid, so that rows and timers meet; now and then a little beside it."""
    beside = rng.choice((-1, 1)) * rng.choice((dt.timedelta(milliseconds=1), dt.timedelta(microseconds=1)))
    return START + rng.randrange(span) * GRID + (beside if rng.random() < 0.1 else dt.timedelta())


def a_charge(rng: random.Random, key: str, ts: dt.datetime) -> Row:
    return key, rng.choice((None, Decimal("0.50"), Decimal("0.99"), Decimal("1.00"), Decimal("500.01"), Decimal("700.00"))), ts


def a_flight(rng: random.Random, key: str, ts: dt.datetime) -> Row:
    return key, rng.randrange(3), rng.choice((None, 0, 16, 20, 40)), rng.choice((None, -5, 15, 16, 30, 60)), ts


def a_departure(rng: random.Random, key: str, ts: dt.datetime) -> Row:
    return key, rng.randrange(4), ts


def a_report(rng: random.Random, key: str, ts: dt.datetime) -> Row:
    return key, rng.choice((None, 1.5, -2.0)), rng.choice((None, 3, 4)), ts


@dataclass(frozen=True)
class Subject:
    """A program, its model and how its rows are made. `span` is the length of its input in steps of the grid."""

    name: str
    program: type
    model: type[Model]
    schemas: Mapping[str, str]
    makers: Mapping[str, Callable[[random.Random, str, dt.datetime], Row]]
    span: int
    schema: Mapping[str, str]
    """Of each output."""

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(self.schema)


SUBJECTS = (
    Subject(
        "fraud",
        fraud.SmallThenLarge,
        fraud.FraudModel,
        {"event": fraud.SCHEMA},
        {"event": a_charge},
        60,
        {"main": "card string, amount decimal(10,2), at timestamp", "late": fraud.SCHEMA},
    ),
    Subject(
        "delays",
        delays.DelayChain,
        delays.DelayModel,
        {"event": delays.SCHEMA},
        {"event": a_flight},
        200,
        {
            "main": "tail string, length int, inherited bigint, recovered bigint, at timestamp",
            "vanished": "tail string, n int, at timestamp",
            "late": delays.SCHEMA,
        },
    ),
    Subject(
        "weather",
        weather.HourOfWeather,
        weather.WeatherModel,
        {"event": weather.FLIGHTS, "weather": weather.REPORTS},
        {"event": a_departure, "weather": a_report},
        400,
        {
            "main": "origin string, flight int, ts timestamp, temp double, wind int, how string",
            "late": weather.FLIGHTS,
            "late_weather": weather.REPORTS,
        },
    ),
)


def epochs(subject: Subject, rng: random.Random, *, keys: int, rows: int, cuts: int, late: float = 0.0) -> Epochs:
    """Rows of each input in the order of their arrival, cut into epochs.

    A row arrives less than the delay after its time, so it keeps the watermark's promise wherever the cuts are; the share `late` of them
    comes up to six times later and may break it.
    """
    arrivals: list[tuple[dt.datetime, str, Row]] = []
    for name, make in subject.makers.items():
        for _ in range(rows):
            ts = a_time(rng, subject.span)
            wait = DELAY * rng.uniform(0, 0.99)
            if rng.random() < late:
                wait *= 6
            arrivals.append((ts + wait, name, make(rng, f"k{rng.randrange(keys)}", ts)))
    arrivals.sort(key=lambda arrival: arrival[0])
    at = sorted(rng.randrange(len(arrivals) + 1) for _ in range(cuts))
    found: Epochs = []
    for begin, end in zip([0, *at], [*at, len(arrivals)], strict=True):
        epoch: dict[str, list[Row]] = {name: [] for name in subject.makers}
        for _, name, row in arrivals[begin:end]:
            epoch[name].append(row)
        for part in epoch.values():
            rng.shuffle(part)
        found.append(epoch)
    return found
