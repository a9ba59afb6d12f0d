"""The order in which a program meets rows and timers, what is held, what is late, and the end of bounded input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.spark.kernel.trial import SECOND, Json, emit, epoch, on, program, put, read, row, timer, trial, when

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
    assert [k["alarm"] for k in first.state] == [s(5)]
    second = trial(spark, p, epoch(watermark=s(5)), state=first.state)
    assert [k["alarm"] for k in second.state] == [s(7)]
    third = trial(spark, p, epoch(watermark=s(8)), state=second.state)
    assert [(k["alarm"], [part is not None for part in k["parts"]]) for k in third.state] == [(s(9), [False, True])]


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
    with pytest.raises(Exception, match="without time going on"):
        trial(spark, p, epoch(row(s(1), v=1), watermark=s(0.5)), epoch(watermark=s(5)))


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
