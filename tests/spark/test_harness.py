"""The harness: what it promises in API.md."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.errors import HeadraceError
from headrace.testing import Harness
from tests.models.fraud import SCHEMA, SmallThenLarge
from tests.spark.engine.jobs import Count, minute

pytestmark = pytest.mark.usefixtures("spark")

UTC = dt.UTC


def at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=UTC)


class Copy(hr.Program):
    def on_event(self, e: Any) -> None:
        hr.emit(k=self.key.k, v=e.v, ts=e.ts)


class Beat(hr.Program):
    """Emits a mark a minute of processing time after the last row of a key."""

    wake = hr.Timer(clock="processing")

    def on_event(self, e: Any) -> None:
        self.wake.set(hr.expr("current_timestamp()") + hr.minutes(1))

    def on_wake(self, at: Any) -> None:
        hr.emit(k=self.key.k)


def test_the_first_example() -> None:
    with Harness() as h:
        charges = h.source("charges", SCHEMA, watermark=("ts", "5 seconds"))
        out = h.collect(charges.key_by("card").process(SmallThenLarge))
        assert h.commit({"charges": [("+", ("a", "0.50", minute(0))), ("+", {"card": "b", "amount": 1, "ts": minute(0)})]}) == 1
        assert out.rows() == out.changes() == []
        h.commit({"charges": [("+", ("a", Decimal("600.00"), at(minute(0, 30))))]})
        h.commit({"charges": [("+", ("b", "7.00", minute(2)))]})
        assert out.rows() == [("a", Decimal("600.00"), at(minute(0, 30)))]
        assert out.changes() == [(3, "+", ("a", Decimal("600.00"), at(minute(0, 30))))]
        counts = h.metrics()
        assert counts["inputs"] == {
            "charges.SmallThenLarge": {"event": {"filtered": 0, "in": 4, "handled": 3, "late": 0, "dead": 0, "held": 1}}
        }
        assert counts["sources"] == {"charges": {"read": 4, "malformed": 0, "skipped": 0, "tombstones": 0, "broken": 0, "rows": 4}}
        h.restart()
        assert h.finish() == 4
        assert h.metrics()["inputs"]["charges.SmallThenLarge"]["event"]["held"] == 0
        with pytest.raises(HeadraceError, match="the harness is finished"):
            h.commit({})


def test_rows_are_sorted_and_changes_counted_by_commit() -> None:
    with Harness(partitions=3) as h:
        t = h.source("t", "k string, v int, ts timestamp")
        out = h.collect(t.key_by("k").process(Copy, order="arrival").select("k", "v"))
        everything = h.collect(t)
        h.commit({"t": [("+", ("b", 1, None)), ("+", ("a", None, None)), ("+", ("a", 2, None)), ("+", ("a", 2, None))]})
        h.commit({})
        h.commit({"t": [("+", (None, 9, None)), ("+", ("a", 1, None))]})
        assert out.rows() == [("a", None), ("a", 1), ("a", 2), ("a", 2), ("b", 1)]
        assert out.changes() == [(1, "+", row) for row in [("a", None), ("a", 2), ("a", 2), ("b", 1)]] + [(3, "+", ("a", 1))]
        assert len(everything.rows()) == 6
        assert h.metrics()["inputs"]["t.Copy"]["event"] == {"filtered": 0, "in": 6, "handled": 5, "late": 0, "dead": 1, "held": 0}
        assert h.metrics()["dead_letters"] == 1


def test_rows_that_filters_leave_out_are_shown() -> None:
    with Harness() as h:
        t = h.source("t", "k string, v int, ts timestamp")
        first = t.filter("v > 1").key_by("k").process(Copy, order="arrival").named("first")
        second = first.filter("v < 4").filter("v <> 2").key_by("k").process(Copy, order="arrival").named("second")
        out = h.collect(second.select("v"))
        h.commit({"t": [("+", ("a", v, None)) for v in (1, 2, 3, 4, 5)]})
        inputs = h.metrics()["inputs"]
        assert [(inputs[name]["event"]["filtered"], inputs[name]["event"]["in"]) for name in ("first", "second")] == [(1, 4), (3, 1)]
        assert out.rows() == [(3,)]


def test_the_time_zone_is_that_of_texts_and_results() -> None:
    with Harness(timezone="Europe/Stockholm") as h:
        t = h.source("t", "ts timestamp")
        out = h.collect(t.with_columns(hour="hour(ts)"))
        h.commit({"t": [("+", ("2026-07-01 12:00:00",)), ("+", (at("2026-07-01 12:00:00"),))]})
        assert out.rows() == [(at("2026-07-01 10:00:00"), 12), (at("2026-07-01 12:00:00"), 14)]
        assert str(out.rows()[0][0]) == "2026-07-01 12:00:00+02:00"


def test_values_of_all_kinds_come_back() -> None:
    schema = "a array<int>, m map<string, bigint>, s struct<x: int, y: string>, b binary, d date, f double, n decimal(20,3), t boolean"
    row = ([1, None], {"k": 2}, (1, "y"), b"\x00\xff", dt.date(2026, 1, 1), 1.5, Decimal("12345678901234567.125"), True)
    with Harness() as h:
        out = h.collect(h.source("t", schema))
        h.commit({"t": [("+", row), ("+", (None,) * 8), ("+", (None,) * 7 + (False,))]})
        assert out.rows() == [(None,) * 8, (None,) * 7 + (False,), row]


def test_late_rows_go_to_their_output() -> None:
    with Harness() as h:
        t = h.source("t", "k string, v int, ts timestamp", watermark=("ts", "10 seconds"))
        copied = t.key_by("k").process(Copy).named("copied")
        out, late = h.collect(copied.select("v")), h.collect(copied.output("late").select("v"))
        h.commit({"t": [("+", ("a", 1, minute(5)))]})
        h.commit({"t": [("+", ("a", 2, minute(1))), ("+", ("a", 3, minute(5, 1)))]})
        assert late.rows() == [(2,)]
        h.finish()
        assert out.rows() == [(1,), (3,)]
        assert h.metrics()["inputs"]["copied"]["event"] == {"filtered": 0, "in": 3, "handled": 2, "late": 1, "dead": 0, "held": 0}


def test_two_sources_keep_their_watermarks_over_a_restart() -> None:
    class Both(hr.Program):
        def on_event(self, e: Any) -> None:
            hr.emit(who="event", v=e.v)

        def on_other(self, r: Any) -> None:
            hr.emit(who="other", v=r.v)

    with Harness() as h:
        t = h.source("t", "k string, v int, ts timestamp", watermark=("ts", "1 second"))
        u = h.source("u", "k string, v int, ts timestamp", watermark=("ts", "1 second"))
        out = h.collect(t.key_by("k").process(Both, other=u.key_by("k")))
        h.commit({"t": [("+", ("a", 1, minute(1)))], "u": [("+", ("a", 2, minute(1)))]})
        h.commit({"t": [("+", ("a", 3, minute(9)))]})
        # u stands at one minute and holds back the rest
        assert out.rows() == []
        h.restart()
        h.commit({"u": [("+", ("a", 4, minute(5)))]})
        # after the restart t still stands at nine
        assert out.rows() == [("event", 1), ("other", 2)]
        h.restart()
        h.commit({"u": [("+", ("a", 5, minute(9)))]})
        assert out.rows() == [("event", 1), ("other", 2), ("other", 4)]
        h.finish()
        assert out.rows() == [("event", 1), ("event", 3), ("other", 2), ("other", 4), ("other", 5)]


def test_processing_time_stands_still_until_it_is_moved() -> None:
    with Harness() as h:
        t = h.source("t", "k string")
        out = h.collect(t.key_by("k").process(Beat, order="arrival"))
        h.commit({"t": [("+", ("a",))]})
        h.advance("30 seconds")
        assert out.rows() == []
        h.advance("10 minutes")
        assert out.rows() == [("a",)]


def test_several_queries_in_one_harness() -> None:
    with Harness() as h:
        t, u = h.source("t", "k string, v int, ts timestamp"), h.source("u", "k string")
        a = h.collect(t.filter("v > 1").select("v"))
        b = h.collect(u)
        h.commit({"t": [("+", ("a", 1, None)), ("+", ("a", 2, None))], "u": [("+", ("x",))]})
        h.commit({"u": [("+", ("y",))]})
        assert (a.rows(), b.changes()) == ([(2,)], [(1, "+", ("x",)), (2, "+", ("y",))])


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.full) for seed in (1, 2))])
def test_restarts_at_random_epochs_change_nothing(seed: int) -> None:
    chance = random.Random(seed)
    rows = [(chance.choice("abc"), chance.choice(["0.50", "600.00", "20.00"]), minute(0, 10 * n % 60) if n < 6 else minute(n // 6, 10 * n % 60)) for n in range(40)]  # fmt: skip

    def result(restart: bool) -> list[Any]:
        with Harness() as h:
            charges = h.source("charges", SCHEMA, watermark=("ts", "20 seconds"))
            alerts = charges.key_by("card").process(SmallThenLarge, time="at").named("alerts")
            out = h.collect(alerts)
            counts = h.collect(alerts.key_by("card").process(Count).named("counts"))
            place = 0
            cuts = random.Random(seed + 100)
            while place < len(rows):
                size = cuts.randint(1, 12) if restart else 40
                h.commit({"charges": [("+", row) for row in rows[place : place + size]]})
                place += size
                if restart and cuts.random() < 0.7:
                    h.restart()
            h.finish()
            return [out.rows(), counts.rows()]

    assert result(True) == result(False)


def test_a_commit_that_is_refused_adds_nothing() -> None:
    with Harness() as h:
        t, u = h.source("t", "v int"), h.source("u", "v int")
        a, b = h.collect(t), h.collect(u)
        with pytest.raises(HeadraceError, match="BAD_VALUE"):
            h.commit({"t": [("+", (1,))], "u": [("+", ("one",))]})
        with pytest.raises(HeadraceError, match="HARNESS_USE"):
            h.commit({"t": [("+", (2,))], "v": [("+", (1,))]})
        assert h.commit({"t": [("+", (3,))], "u": [("+", (4,))]}) == 1
        assert (a.changes(), b.changes()) == ([(1, "+", (3,))], [(1, "+", (4,))])


def test_a_failing_sink_is_reported_and_the_folder_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    from headrace.testing.collected import CollectingSink

    with Harness() as h:
        h.collect(h.source("t", "k string"))
        folder: Path = h._folder
        monkeypatch.setattr(CollectingSink, "commit", lambda self, epoch, staged: 1 / 0)
        with pytest.raises(HeadraceError, match="SINK_FAILED: collected 1 could not be written: ZeroDivisionError: division by zero"):
            h.commit({"t": [("+", ("a",))]})
    assert not folder.exists()


def test_a_row_that_fails_in_a_shared_step_is_one_dead_letter() -> None:
    with Harness() as h:
        t = h.source("t", "k string, v int, ts timestamp")
        shared = t.filter("1 / v > 0")
        streams = [shared, shared.select("k"), shared.key_by("k").process(Copy, order="arrival").select("k")]
        outs = [h.collect(stream) for stream in streams]
        dead = h.collect(t.output("dead_letter"))
        h.commit({"t": [("+", ("a", 0, None)), ("+", ("b", 1, None))]})
        assert [len(out.rows()) for out in outs] == [1, 1, 1]
        assert [(row[0], row[4]) for row in dead.rows()] == [("t.filter", '{"k":"a","v":0,"ts":null}')]
