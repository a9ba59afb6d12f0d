"""Early and late results of windows, change by change, against a plain model of the watermark: random rows, random cuts, a restart anywhere."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.testing import Harness
from headrace.testing.collected import Collected, in_order
from tests.models.windows import SECOND, Input, Watermark, Windowed, commits
from tests.scale import FULL
from tests.spark.verbs.test_window import KINDS, SCHEMA, Answer, grouped, keys, queries

EVERY = 4
SEEDS = range(20 if FULL else 1)
GROUPS: dict[str, Callable[[Windowed], Any]] = {
    "invertible": lambda r: (r[0], r[4]),
    "recomputed": lambda r: r[3:6],
    "distinct": lambda r: (r[0], r[4]),
    "the first of rows": lambda r: r[4],
    "places of rows": lambda r: r[4],
    "one row for each card": lambda r: (r[0], r[4]),
}
Row = tuple[Any, ...]


@dataclass
class EarlyResults:
    """What an operator has emitted for each group: the net of what changed, when the watermark passes a multiple of `EVERY` or the end."""

    rows: Input
    group: Callable[[Windowed], Any]
    answer: Answer
    emitted: dict[Any, Counter[Row]] = field(default_factory=dict)
    due: dict[Any, dt.datetime] = field(default_factory=dict)

    def epoch(self, mark: Watermark) -> None:
        for group, rows in grouped(self.rows.on_time, self.group):
            there = Counter(self.answer(rows))
            if there == self.emitted.get(group, Counter()):
                self.due.pop(group, None)
                continue
            due = self.due.setdefault(group, after(mark))
            if mark.passed(due) or mark.passed(rows[0][4]):
                self.emitted[group] = there
                del self.due[group]

    @property
    def shown(self) -> Counter[Row]:
        return sum(self.emitted.values(), Counter())


def after(mark: Watermark) -> dt.datetime:
    """The first multiple of `EVERY` behind the watermark."""
    begin = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    return begin + ((mark.at or begin) - begin) // (EVERY * SECOND) * EVERY * SECOND + EVERY * SECOND


def changes(before: Counter[Row], now: Counter[Row]) -> list[tuple[str, Row]]:
    gone, come = before - now, now - before
    return [*(("-", row) for row in in_order([*gone.elements()])), *(("+", row) for row in in_order([*come.elements()]))]


@pytest.mark.parametrize("seed", SEEDS)
def test_each_change_is_sent_when_it_is_due(spark: SparkSession, seed: int) -> None:
    rng = random.Random(f"early {seed}")
    cut = commits(rng, 14)
    with Harness(partitions=rng.randrange(1, 4)) as h:
        charges = h.source("charges", SCHEMA, watermark=("ts", "5 seconds"))
        inputs, models, outs, behind = [], {}, {}, {}
        for kind, lateness in (("tumble", 0), ("hop", 7)):
            window, model = KINDS[kind]
            inputs.append(Input(model, lateness))
            early = charges.window(window, emit="close", early=f"{EVERY} seconds", lateness=f"{lateness} seconds")
            for name, (stream, answer) in queries(early).items():
                if name in GROUPS:
                    models[kind, name] = EarlyResults(inputs[-1], GROUPS[name], answer)
                    outs[kind, name] = h.collect(stream)
                elif name == "the first of groups":
                    behind[kind] = h.collect(stream)
        restart = rng.randrange(len(cut))
        mark = Watermark({"charges": 5})

        def epoch() -> None:
            for one in models.values():
                one.epoch(mark)

        for number, rows in enumerate(cut, 1):
            was = {name: one.shown for name, one in models.items()}
            for one in inputs:
                one.take(rows, mark)
            h.commit({"charges": [("+", row) for row in rows]})
            epoch()
            if rows:
                mark.see("charges", [time for _, time, _ in rows])
            mark.move()
            epoch()  # of no rows, by the watermark that these moved
            for name, one in models.items():
                assert sent(outs[name], number) == changes(was[name], one.shown), (name, number)
            for kind, out in behind.items():
                both = (best(shown) for shown in (was[kind, "invertible"], models[kind, "invertible"].shown))
                assert sent(out, number) == changes(*both), (kind, number)
            if number == restart:
                h.restart()
        h.finish()
        for name, one in models.items():
            assert outs[name].rows() == in_order(one.answer(one.rows.on_time)), name
        assert keys(h) == 0
        every = [change for out in outs.values() for change in out.changes()]
        assert any(sign == "-" for _, sign, _ in every), "some results were early"
        assert any(one.late for one in inputs), "some rows were late"


def best(counts: Counter[Row]) -> Counter[Row]:
    windows = grouped(counts.elements(), lambda row: row[1])
    return Counter(row for _, of in windows for row in sorted(of, key=lambda row: (-row[2], row[0], row[3]))[:2])


def sent(out: Collected, commit: int) -> list[tuple[str, Row]]:
    return [(sign, row) for number, sign, row in out.changes() if number == commit]


DELAY = "EMIT WITH DELAY INTERVAL '4' SECOND BEFORE WATERMARK"


def test_what_waits_goes_with_what_takes_it_back(spark: SparkSession) -> None:
    """Of a result that came and went between two times nothing is said; of one that was said, that it went."""
    with Harness(partitions=1) as h:
        charges = h.source("charges", SCHEMA, watermark=("ts", "0 seconds"), changes=True, trusted=True)
        query = "SELECT card, sum(amount) AS s FROM TUMBLE(TABLE charges, DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY card, window_end"
        verbs = charges.window(hr.tumble("ts", "10 seconds"), emit="close", early="4 seconds")
        outs = [
            h.collect(hr.sql(f"{query} {DELAY}, WITHOUT DELAY AFTER WATERMARK", charges=charges)),
            h.collect(hr.sql(f"{query} {DELAY}", charges=charges)),
            h.collect(verbs.group_by("card", "window_end").agg(s="sum(amount)").select("card", "s")),
        ]
        a, b, tick = (
            ("a", "2026-01-01 12:00:01", 3),
            ("b", "2026-01-01 12:00:01", 5),
            [("t", f"2026-01-01 12:00:{second:02}", 0) for second in (3, 5, 9, 30)],
        )
        h.commit({"charges": [("+", ("t", "2026-01-01 12:00:00", 0)), ("+", a)]})  # the first watermark passes a time
        h.commit({"charges": [("+", b), ("-", a), ("+", tick[0])]})
        h.restart()
        h.commit({"charges": [("-", b), ("+", tick[1])]})
        h.commit({"charges": [("+", b), ("+", a)]})
        h.commit({"charges": [("-", b), ("-", a), ("+", tick[2])]})
        h.commit({"charges": [("+", tick[3])]})
        for out in outs:
            assert [change for change in out.changes() if change[2][0] != "t"] == [(1, "+", ("a", 3)), (3, "-", ("a", 3))]
        h.finish()
        assert keys(h) == 0
