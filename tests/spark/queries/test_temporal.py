"""Conditions on the current time: rows come and go as time passes, with nothing new coming in."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import headrace as hr
from headrace.errors import HeadraceError
from headrace.ops import kind_of
from headrace.testing import Harness

STEP = timedelta(minutes=4)
"""Times lie in the middle between two moments at which is looked, so that it does not matter how long the start takes."""


def moment(number: int) -> datetime:
    return datetime.now(UTC).replace(microsecond=0) + number * STEP + STEP / 2


def hours(count: int) -> str:
    return f"INTERVAL '{count * STEP.seconds}' SECONDS"


LAST = f"SELECT k, ts FROM t WHERE ts > current_timestamp() - {hours(5)}"
QUERIES = {
    "last": LAST,
    "turned": f"SELECT k, ts FROM t WHERE now() - {hours(5)} <= ts",
    "ahead": f"SELECT k, ts FROM t WHERE ts - {hours(1)} <= now() + {hours(2)}",
    "span": f"SELECT k, ts FROM t WHERE ts <= current_timestamp() AND ts + {hours(3)} >= current_timestamp() AND k <> 'c'",
    "counted": f"SELECT k, count(*) AS n, max(ts) AS newest FROM ({LAST}) GROUP BY k",
    "met": f"SELECT a.k, a.ts, b.ts AS other FROM t a JOIN u b ON a.k = b.k WHERE a.ts > now() - {hours(5)} AND b.ts > now() - {hours(2)}",
    "never": "SELECT k, ts FROM t WHERE ts > now() AND ts < now()",
}


def model(t: Counter[Any], u: Counter[Any], now: datetime) -> dict[str, list[Any]]:
    rows = [row for row in t.elements() if row[1] is not None]
    last = [row for row in rows if row[1] > now - 5 * STEP]
    groups = {k: [ts for one, ts in last if one == k] for k, _ in last}
    return {
        "last": last,
        "turned": last,
        "ahead": [row for row in rows if row[1] - STEP <= now + 2 * STEP],
        "span": [row for row in rows if row[1] <= now <= row[1] + 3 * STEP and row[0] != "c"],
        "counted": [(k, len(times), max(times)) for k, times in groups.items()],
        "met": [
            (k, ts, other) for k, ts in last for one, other in u.elements() if one == k and other is not None and other > now - 2 * STEP
        ],
        "never": [],
    }


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.full)])
def test_rows_of_now_against_a_model(spark: SparkSession, seed: int) -> None:
    rng = random.Random(seed)
    there: dict[str, Counter[Any]] = {"t": Counter(), "u": Counter()}
    begin = datetime.now(UTC)
    passed = timedelta()

    def random_epoch() -> dict[str, list[Any]]:
        epoch: dict[str, list[Any]] = {}
        for name, rows in there.items():
            gone = [row for row in rng.sample(sorted(rows, key=repr), min(3, len(rows))) if rng.random() < 0.5]
            come = [(rng.choice("abc"), rng.choice([None, *times])) for _ in range(rng.randrange(6))]
            epoch[name] = [*(("-", row) for row in gone), *(("+", row) for row in come)]
            rows.subtract(gone)
            rows.update(come)
            there[name] = +rows
        return epoch

    times = [moment(number) for number in range(-8, 12)]
    with Harness(partitions=1 + seed % 2) as h:
        t, u = (h.source(name, "k string, ts timestamp", changes=True) for name in ("t", "u"))
        streams = {"t": t, "u": u}
        outs = {
            name: h.collect(hr.sql(text, **{one: streams[one] for one in "tu" if f" {one} " in text})) for name, text in QUERIES.items()
        }
        for step in range(8):
            h.commit(random_epoch())
            if step in (2, 5):
                h.restart()
            if rng.random() < 0.7:
                h.advance(STEP)
                passed += STEP
            for name, rows in model(there["t"], there["u"], begin + passed).items():
                assert Counter(outs[name].rows()) == Counter(rows), (name, step)
        assert not any(sign == "-" for _, sign, _ in outs["never"].changes())
        h.advance(40 * STEP)
        assert [name for name, out in outs.items() if out.rows()] == ["ahead"]


def test_the_same_of_a_dataframe(spark: SparkSession) -> None:
    with Harness() as h:
        t = h.source("t", "k string, ts timestamp")
        frame = t.as_dataframe().where(F.col("ts") > F.current_timestamp() - F.expr(hours(5)))
        out = h.collect(hr.from_dataframe(frame.groupBy("k").count()))
        h.commit({"t": [("+", ("a", moment(0))), ("+", ("a", moment(-4))), ("+", ("a", moment(-9)))]})
        assert out.rows() == [("a", 2)]
        h.advance(2 * STEP)
        assert out.rows() == [("a", 1)]


def test_what_is_kept_and_whether_rows_are_taken_away(spark: SparkSession) -> None:
    t = hr.read.memory([], "k string, ts timestamp", name="t")
    due = hr.sql("SELECT k FROM t WHERE ts <= now()", t=t).named("due")
    assert kind_of(due._node) == "append"
    text = str(hr.job("j", due.write.memory(), hr.sql(LAST, t=t).named("last").write.memory()).explain(verbose=True))
    assert "released when a row's time has come: each row that waits for it" in text
    assert "released when a row's time has passed: each current or future row" in text


def test_its_state_is_shown(spark: SparkSession, tmp_path: Path) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    rows = [("a", now), ("a", now), ("b", now - timedelta(hours=2)), ("c", now + timedelta(hours=2))]
    t = hr.read.memory(rows, "k string, ts timestamp", name="t")
    fresh = hr.sql("SELECT k, ts FROM t WHERE ts > now() - INTERVAL 1 HOUR AND ts < now() + INTERVAL 1 HOUR", t=t).named("fresh")
    hr.job("j", kept := fresh.write.memory()).run(checkpoint=tmp_path / "c", progress=False)
    assert [row[0] for row in kept.rows()] == ["a", "a"]
    assert hr.state(tmp_path / "c").query("SELECT k, count FROM fresh ORDER BY k").rows() == [("a", 2), ("c", 1)]


@pytest.mark.parametrize(
    "condition",
    [
        "ts > now() - INTERVAL 1 MONTH",
        "ts = current_timestamp()",
        "ts > now() OR k = 'a'",
        "date(ts) = current_date()",
        "ts > current_timestamp() - make_dt_interval(length(k))",
    ],
)
def test_what_says_no_span_is_refused(spark: SparkSession, condition: str) -> None:
    t = hr.read.memory([], "k string, ts timestamp", name="t")
    with pytest.raises(HeadraceError, match="reads the current time, cannot be kept up to date") as refused:
        hr.sql(f"SELECT k FROM t WHERE {condition}", t=t)
    assert "WHERE ts > current_timestamp() - INTERVAL 1 HOUR" in str(refused.value)
