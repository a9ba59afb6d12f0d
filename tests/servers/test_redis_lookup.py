"""Lookups in a real Redis."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import threading
from collections import Counter
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.errors import HeadraceError
from headrace.ops.tables import Table
from headrace.testing import Harness
from tests.servers.problems import problem
from tests.servers.redis import PASSWORD, VARIABLE, Redis

ODD = "ä'\"\\:\n\t\x00\x7f𝄞"


def table(redis: Redis, schema: str, **options: Any) -> Table:
    return hr.lookup.redis(redis.url, schema, **{"key": "id", "prefix": "c:", "value": "hash", "password": hr.secret(VARIABLE), **options})


def test_hashes(spark: SparkSession, redis: Redis) -> None:
    """Fields of all types as texts; one that is missing is null, a hash without any of them is there, one that is not is missed."""
    full = {
        "name": ODD,
        "amount": "12345678901234567890.12",
        "day": "1969-12-31",
        "at": "1969-12-31 23:59:59.000001",
        "ok": "true",
        "x": "-0.5",
    }
    redis.load(
        [["HSET", "c:1", *(part for item in full.items() for part in item)], ["HSET", "c:2", "name", "two"], ["HSET", "c:3", "else", "1"]]
    )
    schema = "id int, name string, amount decimal(38,2), day date, at timestamp, ok boolean, x double"
    orders = hr.read.memory([(n,) for n in (1, 2, 3, 4, None)], "id bigint", name="orders")
    looked_up = hr.collect(orders.lookup(table(redis, schema), on="id", how="inner")).rows()
    one = (1, ODD, decimal.Decimal("12345678901234567890.12"), dt.date(1969, 12, 31))
    at = dt.datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=dt.UTC)
    assert Counter(looked_up) == Counter([(*one, at, True, -0.5), (2, "two", *[None] * 5), (3, *[None] * 6)])


def test_json_and_texts(spark: SparkSession, redis: Redis) -> None:
    value = {"name": ODD, "places": [{"street": "s", "n": 1}, None], "amount": 1.5}
    redis.load([["SET", "c:a%3Ab:1", json.dumps(value)], ["SET", "c:a:2", "{}"], ["SET", "t:x", ODD]])
    orders = hr.read.memory([("a:b", 1), ("a", 2), ("b", 1)], "k string, n int", name="orders")
    schema = "n int, k string, name string, places array<struct<street: string, n: int>>, amount decimal(5,2)"
    looked_up = hr.collect(orders.lookup(table(redis, schema, key=["k", "n"], value="json"), on=["n", "k"]))
    assert sorted(looked_up.rows(), key=str) == [
        ("a", 2, None, None, None),
        ("a:b", 1, ODD, [("s", 1), None], decimal.Decimal("1.50")),
        ("b", 1, None, None, None),
    ]
    words = hr.read.memory([("x",), ("y",)], "word string", name="words")
    texts = table(redis, "id string, text string", prefix="t:", value="text", name="texts")
    assert sorted(hr.collect(words.lookup(texts, on={"word": "id"})).rows()) == [("x", "x", ODD), ("y", None, None)]


def test_what_cannot_be_read_is_a_dead_letter_of_its_own(spark: SparkSession, redis: Redis) -> None:
    redis.load([["HSET", "c:1", "n", "seven"], ["SET", "c:2", "no hash"], ["HSET", "c:3", "n", "7"]])
    with Harness() as h:
        orders = h.source("orders", "id string")
        looked_up = orders.lookup(table(redis, "id string, n int"), on="id")
        out, dead = h.collect(looked_up), h.collect(looked_up.output("dead_letter").select("reason", "raw"))
        h.commit({"orders": [("+", (k,)) for k in ("1", "2", "3", "4")]})
        assert out.rows() == [("3", 7), ("4", None)]
        reasons = {json.loads(raw)["id"]: reason for reason, raw in dead.rows()}
        assert reasons["1"].startswith("[CAST_INVALID_INPUT]") and reasons["2"].startswith("WRONGTYPE")


@problem(
    "Redis lookups",
    "the server restarts",
    "",
    "the job repeats the request up to `retry` of the lookup, and continues",
)
def test_the_server_goes_away_and_comes_back(spark: SparkSession, redis: Redis) -> None:
    """Within the time in which a request is made again nothing is seen of it; behind that the epoch fails, and nothing is lost."""
    redis.run("HSET", "c:a", "v", "1")
    with Harness() as h:
        orders = h.source("orders", "id string")
        out = h.collect(orders.lookup(table(redis, "id string, v string"), on="id", retry="2 minutes"))
        h.commit({"orders": [("+", ("a",))]})
        redis.stop()
        # The server ends with the thread that started it, so that is this one.
        asking = threading.Thread(target=h.commit, args=({"orders": [("+", ("a",)), ("+", ("b",))]},))
        asking.start()
        asking.join(1.0)
        redis.start()
        asking.join()
        assert out.rows() == [("a", "1"), ("a", "1"), ("b", None)]
    with Harness() as h:
        orders = h.source("orders", "id string")
        out = h.collect(orders.lookup(table(redis, "id string, v string"), on="id", retry="0 seconds"))
        h.commit({"orders": [("+", ("a",))]})
        redis.stop()
        with pytest.raises(HeadraceError, match=r"orders.lookup_c: the lookup failed: Jedis"):
            h.commit({"orders": [("+", ("a",))]})
        redis.start()
        h.restart()
        h.commit({"orders": [("+", ("b",))]})
        assert out.rows() == [("a", "1"), ("a", "1"), ("b", None)]


def test_secrets_are_in_no_plan(redis: Redis) -> None:
    orders = hr.read.memory([("a",)], "id string", name="orders")
    job = hr.job("j", orders.lookup(table(redis, "id string, v string"), on="id").write.console())
    assert PASSWORD not in json.dumps(job.plan.to_json(), ensure_ascii=False) and VARIABLE in json.dumps(job.plan.to_json())
