"""The Redis sink, against a real server that is read by its own client."""

from __future__ import annotations

import datetime as dt
import json
import random
import time
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import headrace as hr
from headrace import points
from headrace.connectors.redis import sink as module
from headrace.testing import Harness
from tests.servers.problems import letters, problem
from tests.servers.redis import VARIABLE, Redis
from tests.servers.tables import into
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark", "here")


def write(redis: Redis, stream: Any, **options: Any) -> Any:
    return stream.write.redis(redis.url, **{"prefix": "t:", "key": "k", "password": hr.secret(VARIABLE), "name": "out", **options})


def stored(redis: Redis) -> dict[str, Any]:
    """The keys of the prefix with the JSON under them."""
    keys = [key for key in redis.run("KEYS", "t:*").split("\n") if key]
    return {key: json.loads(redis.run("GET", key)) for key in keys}


@pytest.mark.full
def test_random_changes(redis: Redis) -> None:
    chance = random.Random(5)
    there: list[tuple[str, int]] = []
    with Harness() as h:
        source = h.source("s", "k string, n int", changes=True)
        into(h, write(redis, source.group_by("k").agg(rows="count(*)", total="sum(n)")))
        for number in range(10):
            changes = []
            for _ in range(chance.randrange(25)):
                if there and chance.random() < 0.45:
                    changes.append(("-", there.pop(chance.randrange(len(there)))))
                else:
                    there.append((f"k{chance.randrange(9)} é", chance.randrange(50)))
                    changes.append(("+", there[-1]))
            h.commit({"s": changes})
            totals: dict[str, list[int]] = {}
            for key, value in there:
                totals.setdefault(key, []).append(value)
            expected = {f"t:{key}": {"k": key, "rows": len(values), "total": sum(values)} for key, values in totals.items()}
            assert stored(redis) == expected, number
            if number in (3, 7):
                h.restart()


def test_a_group_of_nulls(redis: Redis) -> None:
    """It has no key, and that of the text None is another's."""
    rows = hr.read.memory([(None, 1), ("None", 2), ("a", 3)], "k string, n int", name="rows")
    hr.job("nulls", write(redis, rows.group_by("k").agg(n="sum(n)"))).run(checkpoint="ck", progress=False)
    assert stored(redis) == {"t:None": {"k": "None", "n": 2}, "t:a": {"k": "a", "n": 3}}
    assert [(letter[1], letter[4]) for letter in letters(Path("ck"))] == [("NULL_KEY: a key column is null", '{"k": null, "n": 1}')]


TYPES = (
    "k string, b boolean, l bigint, d double, c decimal(38,18), y binary, day date, at timestamp, a array<int>, o struct<x: date>, n string"
)
TYPED = (
    *("é:%", True, -(2**63), 0.5, Decimal("12345678901234567890.000000000000000001"), b"\0\xff", dt.date(1900, 1, 1)),
    *(dt.datetime(1969, 12, 31, 23, 59, 59, 999999, dt.UTC), [1, None], (dt.date(2026, 1, 1),), None),
)


def test_types_as_json(redis: Redis) -> None:
    hr.job("types", write(redis, hr.read.memory([TYPED], TYPES, name="s"))).run(progress=False)
    assert stored(redis) == {
        "t:é:%": {
            "k": "é:%",
            "b": True,
            "l": -(2**63),
            "d": 0.5,
            "c": "12345678901234567890.000000000000000001",
            "y": "AP8=",
            "day": "1900-01-01",
            "at": "1969-12-31T23:59:59.999999+00:00",
            "a": [1, None],
            "o": {"x": "2026-01-01"},
            "n": None,
        }
    }


def test_types_as_a_hash(redis: Redis) -> None:
    hr.job("types", write(redis, hr.read.memory([TYPED], TYPES, name="s"), value="hash", key=["k", "l"])).run(progress=False)
    flat = redis.run("HGETALL", f"t:é%3A%25:{-(2**63)}").split("\n")
    assert dict(zip(flat[::2], flat[1::2], strict=True)) == {
        "k": "é:%",
        "b": "true",
        "l": str(-(2**63)),
        "d": "0.5",
        "c": "12345678901234567890.000000000000000001",
        "y": "AP8=",
        "day": "1900-01-01",
        "at": "1969-12-31T23:59:59.999999+00:00",
        "a": "[1, null]",
        "o": '{"x": "2026-01-01"}',
    }


def test_a_hash_has_no_fields_of_the_row_before(redis: Redis) -> None:
    with Harness() as h:
        source = h.source("s", "k string, a int, b int")
        into(h, write(redis, source, value="hash"))
        h.commit({"s": [("+", ("x", 1, 2))]})
        h.commit({"s": [("+", ("x", None, 3))]})
        assert redis.run("HGETALL", "t:x").split("\n") == ["k", "x", "b", "3"]


@pytest.mark.parametrize("point", ["before sink commit", "in sink commit", "after sink commit"])
def test_an_epoch_that_is_run_again(redis: Redis, point: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BATCH", 2)
    with Harness() as h:
        source = h.source("s", "k string, n int", changes=True)
        into(h, write(redis, source))
        h.commit({"s": [("+", (f"k{n}", n)) for n in range(5)]})
        monkeypatch.setattr(points, "OFF", False)
        monkeypatch.setattr(points, "_armed", points.Armed(point, action="fail"))
        monkeypatch.setattr(points, "_passed", 0)
        with pytest.raises(hr.HeadraceError, match=point):
            h.commit({"s": [*(("-", (f"k{n}", n)) for n in range(5)), *(("+", (f"k{n}", 10 * n)) for n in range(3, 8))]})
        h.restart()
        h._settle()
        h.commit({"s": [("+", ("z", 1))]})
        assert {key: row["n"] for key, row in stored(redis).items()} == {
            "t:k3": 30,
            "t:k4": 40,
            "t:k5": 50,
            "t:k6": 60,
            "t:k7": 70,
            "t:z": 1,
        }


def test_a_process_that_was_replaced_writes_nothing(redis: Redis) -> None:
    with Harness() as h:
        source = h.source("s", "k string, n int")
        into(h, write(redis, source))
        h.commit({"s": [("+", ("a", 1))]})
        redis.run("HSET", "_headrace:t:", "term", "7")
        check_error(
            """
            SINK_FENCED: out: start 7 of this job has taken over redis://127.0.0.1:PORT/0, keys t:* from start 1
              hint: nothing more of this epoch was written; the process that took over continues with it
              more: headrace error SINK_FENCED
            """,
            lambda: h.commit({"s": [("+", ("b", 2))]}),
            hide={str(redis.port): "PORT"},
        )
        assert stored(redis) == {"t:a": {"k": "a", "n": 1}}


def test_the_note_is_gone(redis: Redis) -> None:
    with Harness() as h:
        source = h.source("s", "k string, n int")
        into(h, write(redis, source))
        h.commit({"s": [("+", ("a", 1))]})
        redis.run("DEL", "_headrace:t:")
        check_error(
            """
            SINK_FAILED: out: the key _headrace:t:, which stores the last epoch, is gone or belongs to another writer
              hint: start over with fresh=True; if the server evicts keys, give it more memory or another eviction policy
              more: headrace error SINK_FAILED
            """,
            lambda: h.commit({"s": [("+", ("b", 2))]}),
        )


def test_another_checkpoint_of_the_job(redis: Redis, tmp_path: Path) -> None:
    def job(key: str) -> hr.Job:
        return hr.job("same", write(redis, hr.read.memory([(key,)], "k string", name="s")))

    redis.run("SET", "tx", "not ours")
    job("a").run(checkpoint=tmp_path / "one", progress=False)
    check_error(
        """
        TABLE_OWNED: redis://127.0.0.1:PORT/0, keys t:* was written by the sink out of the job same, from another checkpoint or query
          at test_redis_sink.py:*: return stream.write.redis(redis.url, **{"prefix": "t:", "key": "k", "password": hr.secret(VARIABLE), "name": "out", **options})
          hint: write to another prefix, continue from the checkpoint that wrote it, or start with fresh=True, which empties it
          more: headrace error TABLE_OWNED
        """,
        lambda: job("b").run(checkpoint=tmp_path / "two", progress=False),
        hide={str(redis.port): "PORT"},
    )
    assert stored(redis) == {"t:a": {"k": "a"}}
    job("c").run(checkpoint=tmp_path / "two", fresh=True, progress=False)
    assert stored(redis) == {"t:c": {"k": "c"}}
    assert redis.run("GET", "tx") == "not ours"


@problem(
    "Redis sinks",
    "the server restarts in the middle of an epoch",
    "",
    "the job waits up to `retry` and continues: each key is written once",
)
def test_server_restarted_before_the_commit(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            redis.start()

    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=time.monotonic, sleep=sleep))
    with Harness() as h:
        source = h.source("s", "k string, n int")
        sink = into(h, write(redis, source))
        h.commit({"s": [("+", ("a", 1))]})
        send = sink._send

        def sending(*arguments: Any) -> None:
            if not slept:
                redis.stop()
            send(*arguments)

        sink._send = sending
        h.commit({"s": [("+", ("b", 2))]})
        assert len(slept) == 3
        assert stored(redis) == {"t:a": {"k": "a", "n": 1}, "t:b": {"k": "b", "n": 2}}


def test_nobody_listens(redis: Redis) -> None:
    redis.stop()
    job = hr.job("shut", write(redis, hr.read.memory([("a",)], "k string", name="s"), retry="10 milliseconds"))
    check_error(
        """
        DATABASE_UNREACHABLE: redis://127.0.0.1:PORT/0 cannot be reached: Error 111 connecting to 127.0.0.1:PORT. Connection refused.
          at test_redis_sink.py:*: return stream.write.redis(redis.url, **{"prefix": "t:", "key": "k", "password": hr.secret(VARIABLE), "name": "out", **options})
          hint: check that the server runs and that its port can be reached from here
          more: headrace error DATABASE_UNREACHABLE
        """,
        lambda: job.run(progress=False),
        hide={str(redis.port): "PORT"},
    )
    redis.start()
