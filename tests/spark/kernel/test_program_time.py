"""The order in which a program meets rows and timers, what is held, what is late, and the end of bounded input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.spark.kernel.queries import Query, route, second, source
from tests.spark.kernel.queries import program as tell
from tests.spark.kernel.trial import SECOND, Json, clear, emit, epoch, on, program, put, read, row, timer, trial, when

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HELD = 0
"""The bag of held rows."""

TWO = {"event": "v int, ts timestamp", "other": "w int, ts timestamp"}


def log(text: str) -> Json:
    return emit(what=text)


def logging(*handlers: Json, **more: Any) -> Json:
    return program(*handlers, outputs={"main": "what string"} | more.pop("outputs", {}), **more)


def s(seconds: float) -> int:
    return int(seconds * SECOND)


def test_rows_are_held_until_the_watermark_has_passed(spark: SparkSession) -> None:
    p = program(on("event", emit(v="e.v")))
    tried = trial(
        spark,
        p,
        epoch(row(s(5), v=5), row(s(3), v=3), row(s(9), v=9)),
        epoch(row(s(7), v=7), watermark=s(4)),
        epoch(watermark=s(7)),
        epoch(flush=s(9)),
    )
    assert tried.values() == [[], [3], [5, 7], [9]]
    assert tried.times() == [[], [s(3)], [s(5), s(7)], [s(9)]]
    assert tried.counts == [
        {"event.held": 3},
        {"event.handled": 1},  # one put, one taken
        {"event.handled": 2, "event.held": -2},
        {"event.handled": 1, "event.held": -1},
    ]
    assert tried.state == []


def test_the_alarm_is_the_first_due_time(spark: SparkSession) -> None:
    p = program(on("event", put("t", "e.ts + INTERVAL '2' SECOND")), timer("t"), timers=("t",))
    first = trial(spark, p, epoch(row(s(5), v=5), row(s(9), v=9)))
    assert [k["alarm"] for k in first.state] == [5000]
    second = trial(spark, p, epoch(watermark=s(5)), state=first.state)
    assert [k["alarm"] for k in second.state] == [7000]
    third = trial(spark, p, epoch(watermark=s(8)), state=second.state)
    assert [(k["alarm"], [bag for bag, *_ in k["pages"]]) for k in third.state] == [(9000, [HELD])]


def test_an_alarm_that_is_put_off_rings_once_and_is_set_anew(spark: SparkSession) -> None:
    p = program(on("event", put("t", "e.ts + INTERVAL '10' SECOND")), timer("t", emit(v="1")), timers=("t",), order="arrival")
    alarms, state = [], None
    for n in range(1, 12):
        tried = trial(spark, p, epoch(row(s(n), v=n), watermark=s(n - 1)), state=state)
        assert tried.values() == [[]]
        state = tried.state
        alarms.append(state[0]["alarm"])
    # set by the first row for 11 s and by the last for 21 s
    assert alarms == [11_000] * 11
    rung = trial(spark, p, epoch(watermark=s(11)), state=state)
    assert (rung.values(), [k["alarm"] for k in rung.state]) == ([[]], [21_000])
    assert trial(spark, p, epoch(watermark=s(20)), epoch(watermark=s(21)), state=rung.state).values() == [[], [1]]
    # with a row of its own in that epoch the key needs no ringing
    (with_row,) = trial(spark, p, epoch(row(s(12), v=12), watermark=s(11)), state=state).state
    assert with_row["alarm"] == 22_000


def test_an_alarm_is_set_earlier_at_once_and_goes_with_its_timer(spark: SparkSession) -> None:
    p = program(
        on("event", when(("e.v = 0", [clear("t")]), (None, [put("t", "e.ts + make_dt_interval(0, 0, 0, e.v)")]))),
        timer("t", emit(v="CAST(unix_seconds(at) AS int)")),
        timers=("t",),
        order="arrival",
    )
    first = trial(spark, p, epoch(row(s(1), v=30)), epoch(row(s(2), v=3), watermark=s(1)))
    assert [k["alarm"] for k in first.state] == [5000]
    assert trial(spark, p, epoch(watermark=s(5)), state=first.state).values() == [[5]]
    assert trial(spark, p, epoch(row(s(3), v=0), watermark=s(2)), state=first.state).state == []


def test_many_rows_are_held_in_pages(spark: SparkSession) -> None:
    p = program(on("event", emit(v="e.v")))
    times = [(n * 7919) % 3000 for n in range(3000)]
    held = trial(spark, p, *(epoch(*(row(s(1 + t), v=t) for t in times[n : n + 600])) for n in range(0, 3000, 600)))
    (kept,) = held.state
    assert len(kept["pages"]) > 20
    assert {bag for bag, *_ in kept["pages"]} == {HELD}
    some = trial(spark, p, epoch(row(s(1001), v=-1), watermark=s(1000)), epoch(watermark=s(1500)), state=held.state)
    assert some.values() == [[*range(1000)], [-1, *range(1000, 1500)]]
    rest = trial(spark, p, epoch(flush=s(3000)), state=some.state)
    assert rest.values() == [[*range(1500, 3000)]]
    assert rest.state == []


def test_held_rows_that_are_equal_or_only_of_equal_order(spark: SparkSession) -> None:
    p = program(
        on("event", emit(v="CAST(e.v AS string)")),
        inputs={"event": "v string collate UTF8_LCASE, ts timestamp"},
        outputs={"main": "v string"},
    )
    rows = [row(s(1), v=v) for v in ("a", "A", "b", "A", "a", "b", "A")]
    for epochs in ([epoch(*rows)], [epoch(one) for one in rows]):
        tried = trial(spark, p, *epochs, epoch(watermark=s(2)))
        emitted = tried.values()[-1]
        assert sorted(emitted[:5]) == ["A", "A", "A", "a", "a"]
        assert emitted[5:] == ["b", "b"]
        assert tried.state == []


def test_order_at_equal_times(spark: SparkSession) -> None:
    p = logging(
        on("event", log("concat('event ', e.v)"), put("b", "e.ts"), put("a", "e.ts")),
        on("other", log("concat('other ', e.w)")),
        timer("a", log("'timer a'")),
        timer("b", log("'timer b'")),
        inputs=TWO,
        timers=("b", "a"),
    )
    rows = [row(s(5), "a", "other", w=1), row(s(5), v=3), row(s(5), v=None), row(s(5), v=2), row(s(5), "a", "other", w=0)]
    expected = ["event 2", "event 3", "other 0", "other 1", "timer b", "timer a"]
    for epochs in ([epoch(*rows), epoch(watermark=s(5))], [epoch(rows[0], rows[1]), epoch(*rows[2:]), epoch(watermark=s(6))]):
        assert [x for e in trial(spark, p, *epochs).values() for x in e] == [None, *expected]


def test_timers_between_rows_of_one_epoch(spark: SparkSession) -> None:
    p = logging(
        on("event", log("concat('row ', e.v)"), put("t", "e.ts + INTERVAL '2' SECOND")),
        timer("t", log("concat('timer ', date_format(at, 'ss'))")),
        timers=("t",),
    )
    rows = [row(s(n), v=n) for n in (1, 2, 8, 12)]
    tried = trial(spark, p, epoch(*rows), epoch(watermark=s(11)), epoch(flush=s(12)))
    assert tried.values() == [[], ["row 1", "row 2", "timer 04", "row 8", "timer 10"], ["row 12", "timer 14"]]


def test_timers_that_timers_set(spark: SparkSession) -> None:
    p = logging(
        on("event", put("t", "e.ts")),
        timer("t", log("date_format(at, 'ss')"), put("t", "at + INTERVAL '1' SECOND")),
        timers=("t",),
    )
    tried = trial(spark, p, epoch(row(s(1), v=1), row(s(1), "b", v=1)), epoch(watermark=s(3)), epoch(watermark=s(4)), epoch(flush=s(6)))
    # In the flush they go on up to the last event, then stop.
    assert tried.values() == [[], ["01", "02", "03"] * 2, ["04"] * 2, ["05", "06"] * 2]
    assert [k["alarm"] for k in tried.state] == [None, None]


@pytest.mark.parametrize("cut", [s(1), s(4), s(6), s(10), None])
def test_the_flush_does_not_depend_on_what_was_pending(spark: SparkSession, cut: int | None) -> None:
    """A row's timer fires however far ahead it is; a timer's only up to the last event, also if it was set before the flush."""
    p = logging(
        on("event", put("far", "e.ts + INTERVAL '1' HOUR"), put("t", "e.ts + INTERVAL '4' SECOND")),
        timer("t", log("concat('t ', date_format(at, 'HH:mm:ss'))"), put("t", "at + INTERVAL '4' SECOND")),
        timer("far", log("concat('far ', date_format(at, 'HH:mm:ss'))"), put("t", "at + INTERVAL '1' SECOND")),
        timers=("t", "far"),
    )
    cuts = [] if cut is None else [epoch(watermark=cut)]
    tried = trial(spark, p, epoch(row(s(1), v=1), row(s(10), "b", v=1)), *cuts, epoch(flush=s(10)))
    assert sorted(x for e in tried.values() for x in e) == ["far 01:00:01", "far 01:00:10", "t 00:00:05", "t 00:00:09", "t 00:00:14"]


def test_clear_and_set_anew(spark: SparkSession) -> None:
    p = logging(
        on(
            "event",
            when(
                ("e.v = 0", [{"do": "clear", "cell": "t", "site": ""}]),
                ("e.v = 1", [put("t", "NULL")]),
                (None, [read("t__1", "t"), log("date_format(t__1, 'ss')"), put("t", "e.ts + make_dt_interval(0, 0, 0, e.v)")]),
            ),
        ),
        timer("t", read("t__1", "t"), log("concat('fired ', date_format(at, 'ss'), ' ', t__1 IS NULL)")),
        timers=("t",),
    )
    tried = trial(
        spark,
        p,
        epoch(row(s(1), v=20), row(s(2), v=30), row(s(3), "b", v=9), row(s(4), "b", v=0), row(s(3), "c", v=9), row(s(4), "c", v=1)),
        epoch(flush=s(4)),
    )
    assert tried.values() == [[], [None, "21", "fired 32 true", None, None]]


def test_late_rows(spark: SparkSession) -> None:
    p = logging(
        on("event", log("concat('row ', e.v)"), put("n", "e.v")),
        on("late", read("n__1", "n"), log("concat('late ', e.v, ' after ', coalesce(n__1, 0))"), kind="late"),
        cells={"n": "int"},
        outputs={"late": "v int, ts timestamp"},
    )
    tried = trial(spark, p, epoch(row(s(5), v=5)), epoch(row(s(9), v=9), row(s(4), v=4), row(s(3), v=3), row(s(6), v=6), watermark=s(5)))
    # Late rows come first, then what is due.
    assert tried.values() == [[], ["late 3 after 0", "late 4 after 0", "row 5"]]
    assert [v for v, _ in tried.values("late")[1]] == [3, 4]
    assert tried.counts == [{"event.held": 1}, {"event.handled": 1, "event.held": 1, "event.late": 2}]


def test_late_rows_without_a_handler_are_counted(spark: SparkSession) -> None:
    tried = trial(spark, program(on("event", emit(v="e.v"))), epoch(row(s(4), v=4), row(s(5), v=5), watermark=s(5)))
    assert (tried.values(), tried.counts, tried.state) == ([[]], [{"event.late": 2}], [])


def test_late_rows_of_another_input(spark: SparkSession) -> None:
    p = logging(
        on("late_other", log("concat('late ', e.w)"), kind="late"),
        inputs=TWO,
        outputs={"late": "v int, ts timestamp", "late_other": "w int, ts timestamp"},
    )
    tried = trial(spark, p, epoch(row(s(4), v=4), row(s(3), "a", "other", w=3), watermark=s(5)))
    assert tried.values() == [["late 3"]]
    assert [len(tried.values(n)[0]) for n in ("late", "late_other")] == [1, 1]
    assert tried.counts == [{"event.late": 1, "other.late": 1}]


def test_a_late_row_that_fails_is_dead_and_not_late(spark: SparkSession) -> None:
    p = logging(on("late", log("CAST(1 div (e.v - 4) AS string)"), kind="late"), outputs={"late": "v int, ts timestamp"})
    tried = trial(spark, p, epoch(row(s(4), v=4), row(s(4), v=5), watermark=s(5)))
    assert (tried.values(), [v for v, _ in tried.values("late")[0]]) == ([["1"]], [5])
    assert tried.counts == [{"event.late": 1, "event.dead": 1}]
    assert len(tried.dead()) == 1


def test_watermark_zero_means_none_yet(spark: SparkSession) -> None:
    p = program(on("event", emit(v="e.v"), put("t", "e.ts")), timer("t", emit(v="-1")), timers=("t",))
    tried = trial(spark, p, epoch({**row(0, v=1), "time": -5}, row(0, v=2)), epoch(watermark=s(1)))
    assert tried.values() == [[], [1, 2, -1]]
    assert tried.counts[0] == {"event.held": 2}


def test_derived_rows_are_never_late(spark: SparkSession) -> None:
    """An earlier level sends rows at or before the watermark: they are due at once, in order with what is held and the timers."""
    p = logging(
        on("event", log("concat('row ', e.v)"), put("t", "e.ts + INTERVAL '2' SECOND")),
        timer("t", log("concat('timer ', date_format(at, 'ss'))")),
        timers=("t",),
        judged={"event": False},
    )
    tried = trial(
        spark, p, epoch(row(s(4), v=4), row(s(20), v=20)), epoch(row(s(3), v=3), row(s(7), v=7), row(s(12), v=12), watermark=s(8))
    )
    assert tried.values() == [[], ["row 3", "row 4", "timer 06", "row 7"]]
    assert tried.counts == [{"event.held": 2}, {"event.handled": 3}]


def test_judged_and_derived_rows_together(spark: SparkSession) -> None:
    p = logging(
        on("event", log("concat('row ', e.v)")),
        on("other", log("concat('derived ', e.w)")),
        on("late", log("concat('late ', e.v)"), kind="late"),
        inputs=TWO,
        judged={"other": False},
    )
    tried = trial(
        spark,
        p,
        epoch(row(s(5), v=5), row(s(5), "a", "other", w=5)),
        epoch(
            row(s(3), "a", "other", w=3),
            row(s(4), v=4),
            row(s(6), "a", "other", w=6),
            row(s(9), v=9),
            row(s(9), "a", "other", w=9),
            watermark=s(6),
        ),
    )
    assert tried.values() == [[], ["late 4", "derived 3", "row 5", "derived 5", "derived 6"]]
    assert tried.counts[1] == {"event.handled": 1, "event.late": 1, "other.handled": 3}


def test_arrival_handles_rows_at_once_and_timers_at_the_end(spark: SparkSession) -> None:
    p = logging(
        on("event", log("concat('row ', e.v)"), put("t", "e.ts")),
        timer("t", log("concat('timer ', date_format(at, 'ss'))"), put("u", "at - INTERVAL '1' SECOND")),
        timer("u", log("concat('timer u ', date_format(at, 'ss'))")),
        timers=("t", "u"),
        order="arrival",
    )
    tried = trial(spark, p, epoch(row(s(9), v=9), row(s(3), v=3), watermark=s(1)), epoch(row(s(8), v=8), row(s(2), v=2), watermark=s(4)))
    # The row at 2 s is late: lateness does not depend on the order.
    assert tried.values() == [["row 9", "row 3"], ["row 8"]]
    again = trial(spark, p, epoch(row(s(3), v=3), watermark=s(1)), epoch(watermark=s(4)))
    assert again.values() == [["row 3"], ["timer 03", "timer u 02"]]


def test_processing_time(spark: SparkSession) -> None:
    p = logging(
        on("event", put("t", "timestamp_micros(e.v * 1000000L)"), log("'row'")),
        timer("t", log("concat('timer ', date_format(at, 'ss'))")),
        timers=("t",),
        order="arrival",
        clock="processing",
        judged={"event": False},
    )
    tried = trial(spark, p, epoch(row(None, v=5), now=s(1)), epoch(now=s(4)), epoch(now=s(6)))
    assert tried.values() == [["row"], [], ["timer 05"]]
    assert tried.times() == [[None], [], [None]]


def test_timers_that_never_let_time_go_on(spark: SparkSession) -> None:
    p = program(on("event", put("t", "e.ts")), timer("t", put("t", "at")), timers=("t",), order="arrival")
    with pytest.raises(Exception, match="without time advancing"):
        trial(spark, p, epoch(row(s(1), v=1), watermark=s(0.5)), epoch(watermark=s(5)))


def test_a_timer_for_the_past_emits_at_the_moment_it_fires(spark: SparkSession) -> None:
    p = logging(
        on("event", log("concat('row ', e.v)"), put("t", "e.ts - INTERVAL '50' SECOND"), put("u", "e.ts + INTERVAL '10' SECOND")),
        timer("t", log("concat('timer ', date_format(at, 'mm:ss'))"), put("b", "at - INTERVAL '1' SECOND")),
        timer("u", log("concat('later ', date_format(at, 'mm:ss'))")),
        timer("b", log("concat('before ', date_format(at, 'mm:ss'))")),
        timers=("t", "u", "b"),
    )
    tried = trial(spark, p, epoch(row(s(100), v=1)), epoch(row(s(120), v=2), watermark=s(105)), epoch(watermark=s(125)))
    assert tried.values() == [
        [],
        ["row 1", "timer 00:50", "before 00:49"],
        ["later 01:50", "row 2", "timer 01:10", "before 01:09"],
    ]
    assert tried.times() == [[], [s(100)] * 3, [s(110), s(120), s(120), s(120)]]


def test_a_timer_that_a_late_row_sets_comes_as_late(spark: SparkSession) -> None:
    p = logging(
        on("event", log("'row'")),
        on("late", log("'late'"), put("t", "e.ts + INTERVAL '1' SECOND"), kind="late"),
        timer("t", log("'timer'")),
        timers=("t",),
    )
    tried = trial(spark, p, epoch(row(s(9), v=1)), epoch(row(s(5), v=2), watermark=s(20)))
    assert (tried.values(), tried.times()) == ([[], ["late", "timer", "row"]], [[], [s(5), s(6), s(9)]])


def test_a_dead_timer_for_the_past_is_dead_at_the_moment_it_fires(spark: SparkSession) -> None:
    p = program(on("event", put("t", "e.ts - INTERVAL '5' SECOND")), timer("t", emit(v="CAST(1 div 0 AS int)")), timers=("t",))
    tried = trial(spark, p, epoch(row(s(9), v=1)), epoch(watermark=s(20)))
    assert tried.times() == [[], [s(9)]]
    assert json.loads(tried.dead()[0][1])["at"] == "1970-01-01T00:00:04.000000Z"


@pytest.mark.full
def test_rows_that_each_set_a_timer_for_one_time_are_no_loop(spark: SparkSession, tmp_path: Path) -> None:
    """More rows than timers may fire at one time without one: time goes on for the rows in between."""
    schema = "k string, n int, ts timestamp"
    p = tell(
        1, 1, "k string", {"event": schema}, {"event": [{"do": "set", "cell": "hour", "value": "date_trunc('hour', e.ts)"}], "hour": []},
        cells={"hour": "timer"}, outputs={"main": ("k string", None, [])}, judged=False,
    )  # fmt: skip
    many = {"generate": "explode(sequence(1, n))", "names": ["m"], "outer": False}
    back = {"project": [["k", "k"], ["n", "m"], ["ts", "ts"]]}
    r = route(1, schema, many, back, key="k", key_schema="k string", time="ts")
    q = Query(spark, tmp_path, [source("t", schema, {**r, "order": "time"})], [[p]], {2: "k string"})
    q.commit(t=[("b", 1, second(100))])
    q.commit(t=[("a", 1_000_010, second(99))])
    assert q.out.counts["", 1, 0, "handled"] == 1_000_011
    q.stop()


def test_numbers_drawn_start_anew_in_each_task(spark: SparkSession) -> None:
    """An instance serves one partition in one epoch and another in the next: a replayed epoch draws what it drew."""
    p = program(on("event", emit(v="CAST(rand(7) * 1000000 AS int)")), order="arrival")
    (first,), (second,) = trial(spark, p, epoch(row(s(1), v=1)), epoch(row(s(2), v=1))).values()
    assert first == second


def test_nothing_to_do_changes_nothing(spark: SparkSession) -> None:
    p = program(on("event", emit(v="e.v")), cells={"n": "int"}, timers=("t",))
    held = trial(spark, p, epoch(row(s(5), v=5))).state
    assert trial(spark, p, epoch(watermark=s(4)), state=held).state == held


def test_a_held_row_that_fails_is_taken(spark: SparkSession) -> None:
    p = program(on("event", emit(v="CAST(1 div e.v AS int)")))
    tried = trial(spark, p, epoch(row(s(5), v=0), row(s(5), v=1)), epoch(watermark=s(5)))
    assert tried.values() == [[], [1]]
    assert tried.counts == [{"event.held": 2}, {"event.handled": 1, "event.dead": 1, "event.held": -2}]
    assert tried.state == []
