"""Rules for all keys: each row sees them as they were at its time, in every partition, in whatever epochs, also across a restart."""

from __future__ import annotations

import datetime as dt
import json
import random
from typing import TYPE_CHECKING, Any

import pytest

import headrace as hr
from headrace.testing import Harness
from tests.spark.kernel.trial import SECOND, Tried, epoch, row, traced, trial

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


SPAN = 15


class Ruled(hr.Program):
    """Each row and each timer with all rules that hold at its time. A rule of null takes one away, 0 all; one of -1 counts on itself."""

    rules = hr.Broadcast("string", "int")
    brief = hr.Broadcast("string", "int", expires="15 seconds")
    later = hr.Timer()

    def on_rules(self, r):
        for rules in (self.rules, self.brief):
            self.change(rules, r)

    def change(self, rules, r):
        with hr.when(r.v == 0):
            rules.clear()
        with hr.elsewhen(r.v == -1):
            rules.set(r.name, hr.f.coalesce(rules.get(r.name), 0) + 1000)
        with hr.elsewhen(r.v == 13):
            rules.set("a", 1)
            with hr.when(self.rules.get("a") == self.brief.get("a")):
                hr.reject("thirteen")
        with hr.otherwise():
            rules.set(r.name, r.v)

    def on_event(self, e):
        self.later.set(e.ts + hr.seconds(7))
        self.tell(e.ts)

    def on_later(self, at):
        self.tell(at)

    def tell(self, at):
        hr.emit(k=self.key.k, at=at, rules=self.summary(self.rules), brief=self.summary(self.brief))

    def summary(self, rules):
        all = hr.let(hr.lit(""), "string")
        with hr.each(rules, reverse=True) as it:
            all.set(hr.f.concat(all.get(), it.key, it.value.cast("string"), hr.lit(" ")))
        return hr.f.to_json(hr.struct(all=all.get(), n=rules.size(), a=rules.get("a"), first=rules.first().key, any=rules.exists()))


OUT = "k string, at timestamp, rules string, brief string"
Rule = tuple[int, str, int | None]


def model(rows: list[tuple[int, str]], rules: list[Rule]) -> list[Any]:
    """Seconds; rules of one time are in the order of their columns; a key's row comes before rules of its time, a timer after them."""
    steps: list[tuple[int, int, Any, Any]] = [(time, 1, (name, v is not None, v or 0), v) for time, name, v in rules]
    steps += [(time, 0, (k,), None) for time, k in rows]
    for k in {k for _, k in rows}:
        times = sorted(time for time, of in rows if of == k)
        for time, following in zip(times, [*times[1:], None], strict=True):
            if following is None or following > time + 7:
                steps.append((time + 7, 2, (k,), None))
    rules_of: tuple[dict[str, int], dict[str, int]] = ({}, {})
    gone: dict[str, int] = {}
    emitted = []
    for time, side, what, v in sorted(steps, key=lambda step: step[:3]):
        for name in [name for name, end in gone.items() if end < time]:
            rules_of[1].pop(name, None)
        if side == 1:
            for held in rules_of:
                if v == 0:
                    held.clear()
                elif v == -1:
                    held[what[0]] = held.get(what[0], 0) + 1000
                elif v is None:
                    held.pop(what[0], None)
                elif v != 13:
                    held[what[0]] = v
            if v != 13:
                gone[what[0]] = time + SPAN
        else:
            emitted.append((what[0], START + dt.timedelta(seconds=time), *(summary(held) for held in rules_of)))
    return emitted


def summary(held: dict[str, int]) -> str:
    listed = "".join(f"{name}{held[name]} " for name in sorted(held, reverse=True))
    what = {"all": listed, "n": len(held), "a": held.get("a"), "first": min(held, default=None), "any": bool(held)}
    return json.dumps({name: value for name, value in what.items() if value is not None}, separators=(",", ":"))


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
            inputs = [row((1000 + time) * SECOND, k) for time, k in rows if begin <= time < end]
            inputs += [row((1000 + time) * SECOND, None, "rules", name=name, v=v) for time, name, v in rules if begin <= time < end]
            rng.shuffle(inputs)
            epochs += [epoch(*inputs, watermark=(1000 + begin) * SECOND - 1), epoch(watermark=(1000 + end) * SECOND - 1)]
        tried = trial(spark, p, *epochs, epoch(watermark=2000 * SECOND))
        emitted = [one for part in tried.values() for one in part]
        start = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=1000)
        wanted = [(k, start + (at - START), *rest) for k, at, *rest in model(rows, rules)]
        assert sorted((k, dt.datetime.fromisoformat(at), *rest) for k, at, *rest in emitted) == sorted(wanted)
        assert len(tried.dead()) == sum(v == 13 for _, _, v in rules)


@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_over_partitions_and_restarts(spark: SparkSession, partitions: int) -> None:
    rows, rules = case(partitions)
    with Harness(partitions=partitions) as h:
        events = h.source("events", "k string, ts timestamp", watermark=("ts", "10 seconds"))
        changes = h.source("changes", "name string, v int, ts timestamp", watermark=("ts", "10 seconds"))
        ruled = events.key_by("k").process(Ruled, rules=hr.broadcast(changes))
        emitted, dead = h.collect(ruled), h.collect(ruled.output("dead_letter"))
        rng = random.Random(partitions)

        def at(seconds: int) -> dt.datetime:
            return START + dt.timedelta(seconds=seconds)

        for begin in range(0, 120, 24):
            part = [row for row in rows if begin <= row[0] < begin + 24]
            changed = [rule for rule in rules if begin <= rule[0] < begin + 24]
            additions = [("+", (k, at(time))) for time, k in part]
            rng.shuffle(additions)
            h.commit({"events": additions, "changes": [("+", (name, v, at(time))) for time, name, v in changed]})
            if begin in (24, 72):
                h.restart()
        h.finish()
        assert emitted.rows() == sorted(model(rows, rules))
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
    emitted = [[(k, json.loads(rules)["all"]) for k, _, rules, _ in part] for part in tried.values()]
    assert emitted == [[("p", "b5 a7 ")], [("q", "a7 ")], [("q", "")]]
    assert [state["key"] for state in tried.state if state["value"] and state["key"] is None] == []


class Brief(hr.Program):
    """Each row, and each timer, with the rules that have not expired."""

    rules = hr.Broadcast("string", "int", expires="10 seconds")
    later = hr.Timer()

    def on_rules(self, r):
        self.rules.set(r.name, r.v)

    def on_event(self, e):
        self.later.set(e.ts + hr.seconds(4))
        self.tell("row", e.ts)

    def on_late(self, e):
        self.tell("late", e.ts)

    def on_later(self, at):
        self.tell("timer", at)

    def tell(self, what, at):
        hr.emit(what=what, at=hr.f.unix_seconds(at), rules=self.rules.size(), a=self.rules.get("a"))


def brief(program: Any = Brief, order: str = "time") -> Any:
    return traced(
        program,
        inputs={"event": "k string, ts timestamp", "rules": "name string, v int, ts timestamp"},
        outputs={"main": "what string, at bigint, rules bigint, a int"},
        order=order,
        broadcast=("rules",),
        judged={"event": order == "time", "rules": order == "time"},
    )


def rule(time: int, name: str, v: int | None) -> Any:
    return row(time * SECOND, None, "rules", name=name, v=v)


def at(time: int, key: str = "p") -> Any:
    return row(time * SECOND, key)


def test_a_rule_that_has_expired_is_not_seen(spark: SparkSession) -> None:
    tried = trial(
        spark,
        brief(),
        epoch(rule(100, "a", 1), rule(105, "b", 2), at(110), at(115, "q"), watermark=90 * SECOND),
        # within one epoch each row sees what has not expired by its own time
        epoch(rule(112, "a", 3), at(111), at(116, "q"), watermark=100 * SECOND),
        epoch(watermark=121 * SECOND),
        # a late row sees what the watermark has not passed, whatever its own time
        epoch(at(105), watermark=121 * SECOND),
        epoch(at(106), watermark=122 * SECOND),
        epoch(watermark=123 * SECOND),
    )
    timely = [("row", 110, 2, 1), ("row", 111, 1, None), ("timer", 115, 2, 3), ("row", 115, 2, 3), ("row", 116, 1, 3), ("timer", 120, 1, 3)]
    assert tried.values() == [[], [], timely, [("late", 105, 1, 3)], [("late", 106, 0, None)], []]
    assert tried.state == []


def test_rules_that_expire_in_the_order_of_arrival(spark: SparkSession) -> None:
    tried = trial(
        spark,
        brief(order="arrival"),
        epoch(rule(100, "a", 1), at(105), at(120)),
        epoch(rule(121, "b", 2), at(105), watermark=111 * SECOND),
        epoch(watermark=130 * SECOND),
        epoch(flush=121 * SECOND),
    )
    first = [("row", 105, 1, 1), ("row", 120, 0, None)]
    assert tried.values() == [first, [("row", 105, 1, None), ("timer", 109, 1, None)], [], []]
    assert [state["key"] for state in tried.state] == [None]


class Short(hr.Program):
    rules = hr.Broadcast("string", "int", expires="10 seconds", clock="processing")

    def on_rules(self, r):
        self.rules.set(r.name, r.v)

    def on_event(self, e):
        hr.emit(what="row", at=hr.f.unix_seconds(e.ts), rules=self.rules.size(), a=self.rules.get("a"))


def test_rules_that_expire_in_processing_time(spark: SparkSession) -> None:
    tried = trial(
        spark,
        brief(Short, "arrival") | {"clock": "processing"},
        epoch(rule(1, "a", 1), rule(2, "a", 2), at(3), now=1000 * SECOND),
        epoch(at(20), now=1010 * SECOND),
        epoch(at(40), now=1011 * SECOND),
        epoch(now=1012 * SECOND),
    )
    assert [[a for *_, a in part] for part in tried.values()] == [[2], [2], [None], []]
    assert tried.state == []


def test_a_rule_that_is_often_set_anew_leaves_nothing(spark: SparkSession) -> None:
    def epoch_at(time: int) -> Any:
        return epoch(rule(time, "a", time), rule(time, "b", None), rule(time, "b", time), watermark=(time - 2) * SECOND)

    few, many = (trial(spark, brief(), *map(epoch_at, range(100, 100 + n))) for n in (20, 60))
    assert size(many) == size(few)
    assert trial(spark, brief(), *(epoch(watermark=time * SECOND) for time in (169, 170, 171)), state=many.state).state == []


def size(tried: Tried) -> int:
    """Bytes in pages, of which the last epochs alone make some."""
    return sum(len(page) for one in tried.state for _, _, page in one["pages"])
