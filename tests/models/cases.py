"""Random input for the models: rows with times that often meet, cut into epochs at random, on time or not."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

from tests.models import alarm, best, bills, census, delays, fraud, measures, once, orders, quotes, rate, sessions, shops, totals, weather
from tests.models.machine import Model, Row, Times, times

START = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
DELAY = dt.timedelta(minutes=5)
GRID = dt.timedelta(seconds=30)

Epochs = list[dict[str, list[Row]]]
Maker = Callable[[random.Random, str, dt.datetime], Row]
Arrivals = list[tuple[dt.datetime, str, Row]]
"""When, for which input, what: in the order of time."""


def a_time(rng: random.Random, span: int) -> dt.datetime:
    """A time of a coarse grid, so that rows and timers meet; now and then a little beside it."""
    beside = rng.choice((-1, 1)) * rng.choice((dt.timedelta(milliseconds=1), dt.timedelta(microseconds=1)))
    return START + rng.randrange(span) * GRID + (beside if rng.random() < 0.1 else dt.timedelta())


def chosen(*kinds: Iterable[Any]) -> Maker:
    """Rows with a value of each kind between the key and the time."""
    choices = [list(kind) for kind in kinds]
    return lambda rng, key, ts: (key, *(rng.choice(one) for one in choices), ts)


@dataclass(frozen=True)
class Subject:
    """A program, its model and how its rows are made."""

    name: str
    program: type
    model: type[Model]
    schemas: Mapping[str, str]
    makers: Mapping[str, Maker]
    outputs: Mapping[str, str]
    """Schemas; of dead letters, the reason alone."""
    span: int = 200
    """The length of its input in steps of the grid."""
    arrival: bool = False
    """Does its result not depend on the order of arrival, as long as nothing is late? Then it is run so, too."""

    @property
    def keyed(self) -> bool:
        return self.model.inputs["event"][0] is not None

    def times(self, epochs: Epochs) -> Times:
        """The watermarks of a query with nothing else in it."""
        return times([{name: self.times_of(name, epoch) for name in self.makers} for epoch in epochs], DELAY)

    def times_of(self, name: str, epoch: Mapping[str, Sequence[Row]]) -> list[dt.datetime]:
        return [row[self.model.inputs[name][1]] for row in epoch[name]]


def subject(name: str, program: type, model: type[Model], schema: str, maker: Maker, *, outputs: Mapping[str, str], **more: Any) -> Subject:
    """One whose program has a single input."""
    return Subject(name, program, model, {"event": schema}, {"event": maker}, {**outputs, "late": schema}, **more)


AMOUNTS = [None, *(Decimal(text) for text in ("0.50", "0.99", "1.00", "500.01", "700.00"))]
SPENT = [None, *(Decimal(text) for text in ("0.75", "2.25", "9.99", "-1.50", "-10.00"))]
REASON = "reason string"

SUBJECTS = (
    subject(
        "fraud",
        fraud.SmallThenLarge,
        fraud.FraudModel,
        fraud.SCHEMA,
        chosen(AMOUNTS),
        outputs={"main": "card string, amount decimal(10,2), at timestamp"},
        span=60,
    ),
    subject(
        "delays",
        delays.DelayChain,
        delays.DelayModel,
        delays.SCHEMA,
        chosen(range(3), [None, 0, 16, 20, 40], [None, -5, 15, 16, 30, 60]),
        outputs={
            "main": "tail string, length int, inherited bigint, recovered bigint, at timestamp",
            "vanished": "tail string, n int, at timestamp",
        },
    ),
    Subject(
        "weather",
        weather.HourOfWeather,
        weather.WeatherModel,
        {"event": weather.FLIGHTS, "weather": weather.REPORTS},
        {"event": chosen(range(4)), "weather": chosen([None, 1.5, -2.0], [None, 3, 4])},
        {
            "main": "origin string, flight int, ts timestamp, temp double, wind int, how string",
            "late": weather.FLIGHTS,
            "late_weather": weather.REPORTS,
        },
        span=400,
    ),
    subject(
        "running",
        totals.Running,
        totals.RunningModel,
        totals.SCHEMA,
        chosen([None, 0, 5, 7, -3]),
        outputs={"main": "card string, n bigint, total bigint, changed boolean, at timestamp"},
    ),
    subject(
        "windows",
        totals.Windows,
        totals.WindowsModel,
        totals.SCHEMA,
        chosen([None, 1, 2, 3, 40]),
        outputs={"main": "card string, start timestamp, end timestamp, n bigint, most int"},
        arrival=True,
    ),
    subject(
        "whole",
        totals.Whole,
        totals.WholeModel,
        totals.SCHEMA,
        chosen([None, *range(-3, 9)]),
        outputs={
            "main": "card string, middle double, least int, first timestamp, kinds bigint",
            "each": "card string, rank bigint, amount int, n bigint",
        },
        arrival=True,
    ),
    subject(
        "sessions",
        sessions.Sessions,
        sessions.SessionsModel,
        sessions.SCHEMA,
        chosen(["a", "b", "c", "d", "logout"]),
        outputs={"main": "visitor string, began timestamp, latest timestamp, visits int, ended timestamp"},
    ),
    subject(
        "once",
        once.OnceInTenMinutes,
        once.OnceModel,
        once.SCHEMA,
        chosen(range(6)),
        outputs={
            "main": "sensor string, id int, ts timestamp, repeated int, known bigint",
            "again": "sensor string, id int, first timestamp, oldest timestamp, known int",
        },
    ),
    subject(
        "ever",
        once.OnceForEver,
        once.EverModel,
        once.SCHEMA,
        chosen(range(40)),
        outputs={"main": "sensor string, id int"},
        arrival=True,
    ),
    subject(
        "best",
        best.BestThree,
        best.BestModel,
        best.SCHEMA,
        chosen(range(0, 100, 10), range(3)),
        outputs={
            "main": "player string, rank bigint, score int, game int, at timestamp",
            "out": "player string, score int, game int, since timestamp, by int",
        },
    ),
    subject(
        "last",
        best.LastFour,
        best.LastModel,
        best.SCHEMA,
        chosen([None, *range(12)], [1]),
        outputs={"main": "player string, scores array<int>, n bigint, total bigint, rise int, at timestamp"},
    ),
    subject(
        "shops",
        shops.Shops,
        shops.ShopsModel,
        shops.SCHEMA,
        chosen([*"abcdef" * 3, "sale", "end"], SPENT),
        outputs={
            "main": "card string, n bigint, first string, least decimal(12,2), last string, most decimal(12,2), at timestamp",
            "gone": "card string, shop string, at timestamp",
        },
    ),
    subject(
        "bills",
        bills.Bills,
        bills.BillsModel,
        bills.SCHEMA,
        chosen(["bill"] * 6 + ["paid"] * 3 + ["moved", "long due"], range(5)),
        outputs={
            "main": "customer string, what string, bill int, n int, at timestamp",
            "ledger": "customer string, bill int, due timestamp, reminder timestamp, at timestamp",
        },
    ),
    subject(
        "alarm",
        alarm.Alarm,
        alarm.AlarmModel,
        alarm.SCHEMA,
        chosen([None, 0, 3, 8, 9]),
        outputs={
            "main": "machine string, n int, load int, next timestamp, at timestamp",
            "checks": "machine string, load int, alarms int, at timestamp",
            "dead_letter": REASON,
        },
    ),
    subject(
        "rate",
        rate.RateLimit,
        rate.RateModel,
        rate.SCHEMA,
        chosen([0, 2, 5, 9, 12]),
        outputs={"main": "client string, calls array<int>, weight bigint, at timestamp", "dead_letter": REASON},
    ),
    Subject(
        "quotes",
        quotes.AsOf,
        quotes.AsOfModel,
        {"event": quotes.TRADES, "quotes": quotes.QUOTES},
        {"event": chosen([1, 10]), "quotes": chosen([None, *range(20, 25)])},
        {
            "main": "symbol string, price int, seen int, cost int, ts timestamp",
            "swept": "symbol string, of timestamp, left bigint",
            "late": quotes.TRADES,
            "late_quotes": quotes.QUOTES,
        },
    ),
    subject(
        "orders",
        orders.Order,
        orders.OrderModel,
        orders.SCHEMA,
        chosen(["placed", "paid", "sent"]),
        outputs={"main": "number string, steps string, since timestamp, at timestamp", "dead_letter": REASON},
    ),
    subject(
        "measures",
        measures.Measures,
        measures.MeasuresModel,
        measures.SCHEMA,
        chosen([None, 0, 1, 2, 3, 7]),
        outputs={
            "main": "place string, all array<int>, middle double, recent bigint, any boolean, latest int, zeros bigint, at timestamp",
            "dead_letter": REASON,
        },
    ),
    subject(
        "census",
        census.Census,
        census.CensusModel,
        census.SCHEMA,
        chosen([None, *range(10, 16)]),
        outputs={
            "main": "town string, people int, before string, at timestamp",
            "spread": "town string, people int, total bigint, at timestamp",
        },
    ),
)


def arrivals(subject: Subject, rng: random.Random, *, keys: int, rows: int, span: int, late: float) -> Arrivals:
    """Rows of each input in the order of their arrival.

    A row arrives less than the delay after its time, so it keeps the watermark's promise wherever the cuts are; the share `late` of them
    comes up to six times later and may break it.
    """
    arrived: Arrivals = []
    for name, make in subject.makers.items():
        for _ in range(rows):
            ts = a_time(rng, span)
            wait = DELAY * rng.uniform(0, 0.99)
            if rng.random() < late:
                wait *= 6
            arrived.append((ts + wait, name, make(rng, f"k{rng.randrange(keys)}", ts)))
    return sorted(arrived, key=lambda arrival: arrival[0])


def parted(subject: Subject, rng: random.Random, arrivals: Arrivals) -> dict[str, list[Row]]:
    """An epoch of arrivals, of each input in any order."""
    epoch: dict[str, list[Row]] = {name: [] for name in subject.makers}
    for _, name, row in arrivals:
        epoch[name].append(row)
    for part in epoch.values():
        rng.shuffle(part)
    return epoch


def epochs(subject: Subject, rng: random.Random, *, keys: int, rows: int, cuts: int, late: float = 0.0) -> Epochs:
    """Rows of each input, cut into epochs at random places."""
    arrived = arrivals(subject, rng, keys=keys, rows=rows, span=subject.span, late=late)
    at = sorted(rng.randrange(len(arrived) + 1) for _ in range(cuts))
    return [parted(subject, rng, arrived[begin:end]) for begin, end in zip([0, *at], [*at, len(arrived)], strict=True)]


def side_by_side(
    subjects: Sequence[Subject], rng: random.Random, *, keys: int, rows: int, span: int, cuts: int, late: float
) -> dict[str, Epochs]:
    """The epochs of several subjects, cut at the same moments: they can share sources and a watermark."""
    came = {one.name: arrivals(one, rng, keys=keys, rows=rows, span=span, late=late) for one in subjects}
    moments = [START, *sorted(START + rng.uniform(0, span) * GRID for _ in range(cuts)), START + 2 * (span + 60) * GRID]
    return {
        one.name: [
            parted(one, rng, [arrival for arrival in came[one.name] if begin <= max(arrival[0], START) < end])
            for begin, end in pairwise(moments)
        ]
        for one in subjects
    }
