"""As-of joins: after every epoch what a plain list scan says of the rows that are there."""

from __future__ import annotations

import datetime as dt
import random

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.testing import Collected, Harness
from tests.models.asof import Asked
from tests.spark.queries.changing import Row, Table, batch

NOON = dt.datetime(2026, 1, 1, 12)
ORDERS = "pair string, ts timestamp, amount int"
RATES = "pair string, at timestamp, rate int, place string"
WIDTH = 4

ASKED = [
    Asked(how, direction, within)
    for direction in ("backward", "forward", "nearest")
    for within in (None, dt.timedelta(minutes=3))
    for how in ("left", "inner")
]


def a_time(rng: random.Random) -> dt.datetime | None:
    return None if rng.random() < 0.05 else NOON + dt.timedelta(minutes=rng.randrange(40))


def tables() -> dict[str, Table]:
    def order(rng: random.Random) -> Row:
        return rng.choice([None, "x", "x", "x", "y"]), a_time(rng), rng.choice([None, 1, 2])

    def rate(rng: random.Random) -> Row:
        return rng.choice([None, "x", "x", "x", "y"]), a_time(rng), rng.choice([None, 1, 2]), rng.choice([None, "p", "q"])

    return {"orders": Table(ORDERS, order), "rates": Table(RATES, rate)}


def name(asked: Asked) -> str:
    return f"{asked.how} {asked.direction} {asked.within}"


def joined(orders: hr.Stream, rates: hr.Stream, asked: Asked, **more: str) -> hr.Stream:
    return orders.join_asof(
        rates, on="pair", time=("ts", "at"), how=asked.how, direction=asked.direction, within=asked.within, **more
    )


@pytest.mark.parametrize(("partitions", "seed"), [(1, 3), (3, 4)])
def test_the_answer_is_that_of_a_list_scan(spark: SparkSession, partitions: int, seed: int) -> None:
    """Random changes of both sides, times out of order and equal, nulls, every direction, reach and kind; a restart in the middle."""
    rng, here = random.Random(seed), tables()
    with Harness(partitions=partitions) as h:
        orders, rates = (h.source(one, table.schema, changes=True) for one, table in here.items())
        outs: dict[str, tuple[Collected, Asked]] = {
            name(asked): (h.collect(joined(orders, rates, asked)), asked) for asked in ASKED
        }
        for epoch in range(8):
            # An epoch with one side alone has nothing to hide behind.
            changing = ("rates",) if epoch == 3 else ("orders",) if epoch == 5 else ("orders", "rates")
            h.commit({one: here[one].change(rng, 24) for one in changing})
            if epoch in (2, 5):
                h.restart()
            rows, versions = here["orders"].rows, here["rates"].rows
            wrong = {
                one: (out.rows(), want) for one, (out, asked) in outs.items() if out.rows() != (want := asked.answer(rows, versions, WIDTH))
            }
            assert not wrong, f"epoch {epoch}"
        for one, table in here.items():
            h.commit({one: [("-", row) for row in table.rows]})
        assert not any(out.rows() for out, _ in outs.values())
        assert h.metrics()["dead_letters"] == 0
