"""Rules for all keys: each row sees them as they were at its time, in every partition, in whatever epochs, also across a restart."""

from __future__ import annotations

import datetime as dt
import random
from typing import TYPE_CHECKING, Any

import pytest

import headrace as hr
from headrace.testing import Harness
from tests.spark.kernel.trial import SECOND, epoch, row, traced, trial

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


class Ruled(hr.Program):
    """Each row and each timer with all rules that hold at its time. A rule of null takes one away, 0 all; one of -1 counts on itself."""

    rules = hr.Broadcast("string", "int")
    later = hr.Timer()

    def on_rules(self, r):
        with hr.when(r.v == 0):
            self.rules.clear()
        with hr.elsewhen(r.v == -1):
            self.rules.set(r.name, hr.f.coalesce(self.rules.get(r.name), 0) + 1000)
        with hr.elsewhen(r.v == 13):
            self.rules.set("a", 1)
            hr.reject("thirteen")
        with hr.otherwise():
            self.rules.set(r.name, r.v)

    def on_event(self, e):
        self.later.set(e.ts + hr.seconds(7))
        self.tell(e.ts)

    def on_later(self, at):
        self.tell(at)

    def tell(self, at):
        all = hr.let(hr.lit(""), "string")
        with hr.each(self.rules, reverse=True) as it:
            all.set(hr.f.concat(all.get(), it.key, it.value.cast("string"), hr.lit(" ")))
        hr.emit(k=self.key.k, at=at, rules=all.get(), n=self.rules.size(), a=self.rules.get("a"), first=self.rules.first().key)


OUT = "k string, at timestamp, rules string, n bigint, a int, first string"
Rule = tuple[int, str, int | None]


def model(rows: list[tuple[int, str]], rules: list[Rule], last: int) -> list[Any]:
    """Seconds; rules of one time are in the order of their columns; a key's row comes before rules of its time, a timer after them."""
    steps: list[tuple[int, int, Any, Any]] = [(time, 1, (name, v is not None, v or 0), v) for time, name, v in rules]
    steps += [(time, 0, (k,), None) for time, k in rows]
    for k in {k for _, k in rows}:
        times = sorted(time for time, of in rows if of == k)
        for time, following in zip(times, [*times[1:], None], strict=True):
            if following is None or following > time + 7:
                steps.append((time + 7, 2, (k,), None))
    held: dict[str, int] = {}
    found = []
    for time, side, what, v in sorted(steps, key=lambda step: step[:3]):
        if side == 1:
            if v == 0:
                held = {}
            elif v == -1:
                held[what[0]] = held.get(what[0], 0) + 1000
            elif v is None:
                held.pop(what[0], None)
            elif v != 13:
                held[what[0]] = v
        else:
            told = "".join(f"{name}{held[name]} " for name in sorted(held, reverse=True))
            at = START + dt.timedelta(seconds=time)
            found.append((what[0], at, told, len(held), held.get("a"), min(held, default=None)))
    return found


def case(seed: int) -> tuple[list[tuple[int, str]], list[Rule]]:
    rng = random.Random(seed)
    rows = sorted({(rng.randrange(120), rng.choice("pqrstuvw")) for _ in range(80)})
    rules: set[Rule] = {(rng.randrange(120), rng.choice("abc"), rng.choice((None, 0, -1, 5, 6, 7, 13))) for _ in range(40)}
    return rows, sorted(rules, key=lambda rule: (rule[0], rule[1], rule[2] is not None, rule[2] or 0))


@pytest.mark.parametrize("seed", range(3))
def test_in_the_kernel(spark: SparkSession, seed: int) -> None:
    rows, rules = case(seed)
    p = traced(
        Ruled,
        inputs={"event": "k string, ts timestamp", "rules": "name string, v int, ts timestamp"},
        outputs={"main": OUT},
        broadcast=("rules",),
    )
    rng = random.Random(seed)
    for cuts in (1, 5, 20):
        at = sorted(rng.randrange(1, 121) for _ in range(cuts - 1))
        epochs = []
        for begin, end in zip([0, *at], [*at, 121], strict=True):
            # what comes is later than the watermark, which then goes on to just before what comes next
            made = [row((1000 + time) * SECOND, k) for time, k in rows if begin <= time < end]
            made += [row((1000 + time) * SECOND, None, "rules", name=name, v=v) for time, name, v in rules if begin <= time < end]
            rng.shuffle(made)
            epochs += [epoch(*made, watermark=(1000 + begin) * SECOND - 1), epoch(watermark=(1000 + end) * SECOND - 1)]
        tried = trial(spark, p, *epochs, epoch(watermark=2000 * SECOND))
        found = [one for part in tried.values() for one in part]
        start = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=1000)
        wanted = [(k, start + (at - START), *rest) for k, at, *rest in model(rows, rules, 0)]
        assert sorted((k, dt.datetime.fromisoformat(at), *rest) for k, at, *rest in found) == sorted(wanted)
        assert len(tried.dead()) == sum(v == 13 for _, _, v in rules)


@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_over_partitions_and_restarts(spark: SparkSession, partitions: int) -> None:
    rows, rules = case(partitions)
    with Harness(partitions=partitions) as h:
        events = h.source("events", "k string, ts timestamp", watermark=("ts", "10 seconds"))
        changes = h.source("changes", "name string, v int, ts timestamp", watermark=("ts", "10 seconds"))
        ruled = events.key_by("k").process(Ruled, rules=hr.broadcast(changes))
        told, dead = h.collect(ruled), h.collect(ruled.output("dead_letter"))
        rng = random.Random(partitions)

        def at(seconds: int) -> dt.datetime:
            return START + dt.timedelta(seconds=seconds)

        for begin in range(0, 120, 24):
            part = [row for row in rows if begin <= row[0] < begin + 24]
            changed = [rule for rule in rules if begin <= rule[0] < begin + 24]
            made = [("+", (k, at(time))) for time, k in part]
            rng.shuffle(made)
            h.commit({"events": made, "changes": [("+", (name, v, at(time))) for time, name, v in changed]})
            if begin in (24, 72):
                h.restart()
        h.finish()
        assert told.rows() == sorted(model(rows, rules, 0), key=lambda found: tuple((value is not None, value) for value in found))
        assert len(dead.rows()) == sum(v == 13 for _, _, v in rules), "each rule that fails is told once, not by every partition"


def test_in_the_order_of_arrival(spark: SparkSession) -> None:
    p = traced(
        Ruled,
        inputs={"event": "k string, ts timestamp", "rules": "name string, v int, ts timestamp"},
        outputs={"main": OUT},
        order="arrival",
        broadcast=("rules",),
    )
    tried = trial(
        spark,
        p,
        epoch(row(5, "p"), row(9, None, "rules", name="b", v=5), row(8, None, "rules", name="a", v=7)),
        epoch(row(1, "q"), row(2, None, "rules", name="b", v=None)),
        epoch(row(1, "q"), row(2, None, "rules", name="b", v=0)),
    )
    assert [[(k, rules) for k, _, rules, *_ in part] for part in tried.values()] == [[("p", "b5 a7 ")], [("q", "a7 ")], [("q", "")]]
    assert [state["key"] for state in tried.state if state["value"] and state["key"] is None] == []
