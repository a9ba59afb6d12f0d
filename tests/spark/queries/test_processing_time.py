"""The processing time of rows, and windows by it, against a plain model of the clock: random rows, random cuts, a restart anywhere."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import headrace as hr
from headrace.testing import Harness
from headrace.testing.collected import Collected
from tests.models.windows import SECOND, Kind
from tests.scale import FULL
from tests.spark.verbs.test_window import grouped, keys
from tests.unit.errors import check_error

SCHEMA = "card string, amount int"
KINDS = {
    "tumble": (hr.tumble("at", "10 seconds"), Kind("tumble", 10, 10)),
    "hop": (hr.hop("at", "12 seconds", "5 seconds"), Kind("hop", 12, 5)),
}
SEEDS = range(12 if FULL else 1)
Row = tuple[str, int]
AHEAD = "1 hour"
"""The clock of a harness stands still, and a restart sets it to that of the machine where that is later: here it never is."""
QUERY = "SELECT card, window_end, count(*) AS n, sum(amount) AS s FROM TUMBLE(TABLE b, DESCRIPTOR(at), INTERVAL '10' SECOND) GROUP BY card, window_end"


class Table:
    """The rows with the time at which they were read, in the windows of a kind."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.rows: list[tuple[str, int, dt.datetime]] = []

    def totals(self, closed_by: dt.datetime | None = None) -> Counter[Any]:
        windowed = [(card, end, amount) for card, amount, at in self.rows for _, end in self.kind.of(at)]
        totals = [(*key, len(of), sum(row[2] for row in of)) for key, of in grouped(windowed, lambda row: row[:2])]
        return Counter(row for row in totals if closed_by is None or row[1] <= closed_by)


def test_all_rows_of_an_epoch_have_its_time(spark: SparkSession) -> None:
    """In each form, on each way and behind each operator the same, and another one in the next epoch."""
    with Harness(partitions=3) as h:
        charges = h.source("charges", SCHEMA)
        forms = {
            "a verb": charges.select("card", at="current_timestamp()"),
            "a column": charges.with_columns(at=hr.f.now()).select("card", "at"),
            "SQL": hr.sql("SELECT card, current_timestamp() AS at FROM charges", charges=charges),
            "SQL of others": hr.sql("SELECT card, PROCTIME() AS at FROM charges", charges=charges),
            "a CTE read twice": hr.sql(
                "WITH t AS (SELECT card, now() AS at FROM charges) SELECT a.card, a.at FROM t a JOIN t b ON a.card = b.card AND a.at = b.at",
                charges=charges,
            ),
            "a DataFrame": hr.from_dataframe(charges.as_dataframe().select("card", F.current_timestamp().alias("at"))),
            "another type": charges.select("card", at="timestampadd(MICROSECOND, 0L, cast(localtimestamp() AS timestamp))"),
            "an operator": charges.with_columns(at="current_timestamp()").distinct().select("card", "at"),
            "behind an operator": charges.select("card").distinct().select("card", at="current_timestamp()"),
            "a program": charges.key_by("card").process(Stamped),
        }
        outs = {name: h.collect(stream) for name, stream in forms.items()}
        day = h.collect(charges.select(day="current_date()", same="unix_timestamp() = unix_seconds(now())"))
        h.advance(AHEAD)
        seen: list[dt.datetime] = []
        for epoch in range(3):
            h.commit({"charges": [("+", (f"{epoch}{card}", 1)) for card in "abcdefgh"]})
            times = {at for out in outs.values() for _, at in rows_of(out, epoch)}
            assert len(times) == 1, times
            seen += times
            if epoch == 1:
                h.restart()
            h.advance("1 minute")
        assert seen[1] - seen[0] == seen[2] - seen[1] == dt.timedelta(minutes=1)
        assert set(day.rows()) <= {(time.date(), True) for time in seen}
        assert all(len(out.rows()) == 24 for out in outs.values())


class Stamped(hr.Program):
    """Says when it sees a charge."""

    def on_event(self, e: hr.Row) -> None:
        hr.emit(card=self.key.card, at=hr.expr("current_timestamp()"))


def rows_of(out: Collected, epoch: int) -> list[Any]:
    return [row for row in out.rows() if row[0].startswith(str(epoch))]


@pytest.mark.full
@pytest.mark.parametrize("seed", SEEDS)
def test_windows_close_by_the_clock(spark: SparkSession, seed: int) -> None:
    rng = random.Random(f"processing {seed}")
    with Harness(partitions=rng.randrange(1, 4)) as h:
        charges = h.source("charges", SCHEMA)
        timed = charges.with_columns(at="current_timestamp()")
        clock = h.collect(timed.select("at"))
        tables = {name: Table(kind) for name, (_, kind) in KINDS.items()}
        outs: dict[tuple[str, str], Collected] = {}
        for name, (window, _) in KINDS.items():
            for emit in ("changes", "close"):
                counted = timed.window(window, emit=emit).group_by("card", "window_end").agg(n="count(*)", s="sum(amount)")
                outs[name, emit] = h.collect(counted)
                outs[f"first of {name}", emit] = h.collect(counted.top(1, by=["n desc", "card"], per="window_end"))
        b = hr.sql("SELECT *, current_timestamp() AS at FROM charges", charges=charges)
        outs["tumble", "SQL"] = h.collect(hr.sql(QUERY, b=b))
        outs["tumble", "SQL, closed"] = h.collect(hr.sql(f"{QUERY} EMIT ON WINDOW CLOSE", b=b))
        h.advance(AHEAD)
        now: dt.datetime | None = None
        for step in range(12):
            rows: list[Row] = [(rng.choice("abc"), rng.randrange(5)) for _ in range(rng.randrange(1, 5))]
            h.commit({"charges": [("+", row) for row in rows]})
            times = {at for (at,) in clock.rows()} - {at for table in tables.values() for _, _, at in table.rows}
            now = times.pop() if times else now
            assert now is not None
            assert not times, "all rows of an epoch have one time"
            for table in tables.values():
                table.rows += [(card, amount, now) for card, amount in rows]
            if rng.random() < 0.3:
                h.restart()
            if rng.random() < 0.7:
                passed = rng.choice([1, 3, 8, 25])
                h.advance(f"{passed} seconds")
                now += passed * SECOND
            for (name, emit), out in outs.items():
                totals = tables[name.removeprefix("first of ")].totals(now if "close" in emit else None)
                wanted = first(totals) if name.startswith("first") else totals
                assert Counter(out.rows()) == wanted, (name, emit, step)
        h.advance("1 hour")
        assert keys(h) == 0, "the state of windows that closed is gone"
        for (name, emit), out in outs.items():
            totals = tables[name.removeprefix("first of ")].totals()
            assert Counter(out.rows()) == (first(totals) if name.startswith("first") else totals), (name, emit)
            assert "close" not in emit or {sign for _, sign, _ in out.changes()} == {"+"}
        counts = [one["input"] for one in h.metrics()["inputs"].values() if "input" in one]
        assert all(one["late"] == 0 for one in counts)


def first(totals: Counter[Any]) -> Counter[Any]:
    return Counter(min(of, key=lambda row: (-row[2], row[0])) for _, of in grouped(totals.elements(), lambda row: row[1]))


def test_early_results_by_the_clock(spark: SparkSession) -> None:
    with Harness() as h:
        timed = h.source("charges", SCHEMA).with_columns(at="current_timestamp()")
        windows = timed.window(hr.tumble("at", "1 day"), emit="close", early="1 minute")
        out = h.collect(windows.group_by("window_end").agg(n="count(*)").select("n"))
        h.commit({"charges": [("+", ("a", 1))]})
        h.commit({"charges": [("+", ("a", 1))]})
        assert out.rows() == []
        h.advance("1 minute")
        assert out.changes() == [(2, "+", (2,))]


def test_all_windows_close_when_the_input_ends(spark: SparkSession, tmp_path: Path) -> None:
    """Of processing time too, one level behind the other; rows of now and timers by the clock stay as they are."""
    rows = hr.read.memory([("a", 7), ("b", 2), ("a", 1)], SCHEMA, name="charges")
    timed = rows.with_columns(at="current_timestamp()")
    counted = timed.window(hr.tumble("at", "10 days"), emit="close").group_by("card", "window_end").agg(n="count(*)")
    best = counted.top(1, by="n desc", per="window_end")
    late = best.select("card", late="current_timestamp() > window_end")
    young = hr.sql("SELECT card FROM t WHERE at > now() - INTERVAL 10 DAYS", t=timed.distinct())
    woken = timed.key_by("card").process(Woken)
    sinks = [stream.write.memory(name=name) for name, stream in {"late": late, "young": young, "woken": woken}.items()]
    job = hr.job("job", *sinks)
    summary = job.run(checkpoint=tmp_path / "c", progress=False)
    assert [sorted(sink.rows()) for sink in sinks] == [[("a", False)], [("a",), ("a",), ("b",)], []]
    assert summary.sealed
    with Harness() as h:
        again = h.source("charges", SCHEMA).with_columns(at="current_timestamp()").window(hr.hop("at", "2 days", "1 day"), emit="close")
        out = h.collect(again.group_by("window_end").agg(n="count(*)").select("n"))
        h.commit({"charges": [("+", ("a", 1)), ("+", ("b", 1))]})
        h.finish()
        assert out.rows() == [(2,), (2,)]
        assert keys(h) == 0


class Woken(hr.Program):
    """Says an hour later that it saw a card."""

    wake = hr.Timer(clock="processing")

    def on_event(self, e: hr.Row) -> None:
        self.wake.set(hr.now() + hr.hours(1))

    def on_wake(self, at: hr.Row) -> None:
        hr.emit(card=self.key.card)


def test_explain_says_what_the_clock_decides(spark: SparkSession, tmp_path: Path) -> None:
    rows = hr.read.memory([("a", 7), ("b", 2)], SCHEMA, name="charges")
    counted = (
        rows.with_columns(at="current_timestamp()").window(hr.tumble("at", "1 hour"), emit="close").group_by("window_end").agg(n="count(*)")
    )
    text = str(hr.job("job", counted.write.memory(name="out")).explain(verbose=True))
    assert "time: current_timestamp(): the start time of the epoch; a second run gives other results" in text
    assert "state: released when processing time passes window_end; until then: " in text
    assert "current_timestamp() in charges.with_columns follows the wall clock" in text


def test_where_there_is_no_one_time(spark: SparkSession) -> None:
    rows = hr.read.memory([], f"{SCHEMA}, ts timestamp", name="charges").watermark("ts", "1 minute")
    spent = rows.group_by("card").agg(spent="sum(amount)").named("spent")
    check_error(
        """
        NOT_REPEATABLE: spent.with_columns: `current_timestamp()` returns another value each time, but rows are also retracted here
          at test_processing_time.py:*: lambda: hr.job("job", spent.with_columns(at="current_timestamp()").write.memory()),
          hint: make it a column of an append-only stream: .with_columns(at="current_timestamp()") before operators that retract or keep rows
          more: headrace error NOT_REPEATABLE
        """,
        lambda: hr.job("job", spent.with_columns(at="current_timestamp()").write.memory()),
    )
    check_error(
        """
        NOT_REPEATABLE: spent.select: `current_timestamp()` returns another value each time, but rows are also retracted here
          at test_processing_time.py:*: lambda: hr.job("job", hr.sql("SELECT card, now() AS at FROM spent", spent=spent).write.memory()),
          hint: make it a column of an append-only stream: .with_columns(at="current_timestamp()") before operators that retract or keep rows
          more: headrace error NOT_REPEATABLE
        """,
        lambda: hr.job("job", hr.sql("SELECT card, now() AS at FROM spent", spent=spent).write.memory()),
    )
    both = rows.with_columns(at="current_timestamp()").window(hr.tumble("at", "1 hour"))
    mixed = both.group_by("ts", "window_end").agg(n="count(*)").named("mixed")
    check_error(
        """
        CLOCKS_MIXED: the groups of mixed have columns that close by event time and by processing time
          at test_processing_time.py:*: mixed = both.group_by("ts", "window_end").agg(n="count(*)").named("mixed")
          hint: group by the columns of one of them; one Spark query has one clock
          more: headrace error CLOCKS_MIXED
        """,
        lambda: hr.job("job", mixed.write.memory()),
    )
