"""Which joins forget rows by their time, and when."""

from __future__ import annotations

import pytest

import headrace as hr
from headrace.ops import Interval, intervals, kind_of
from headrace.ops.facts.closing import closing
from headrace.ops.facts.forgetting import late_outputs
from headrace.ops.facts.interval import Delay
from headrace.plan import Plan, facts

pytestmark = pytest.mark.usefixtures("spark")  # Spark reads the conditions

SECOND, HOUR = 1_000_000, 3_600_000_000
plain = hr.read.memory([], "auction int, ts timestamp, price int", name="bids")
bids = plain.watermark("ts", "5 minutes")
auctions = hr.read.memory([], "id int, opened timestamp, closes timestamp", name="auctions").watermark("opened", "5 minutes")
NEAR = "auction = id AND ts BETWEEN opened AND opened + INTERVAL 1 HOUR"
STRAIGHT = Delay(0, True)


def interval_of(stream: hr.Stream) -> Interval | None:
    return intervals([stream._node]).get(stream._node)


def test_between_columns_of_event_time() -> None:
    near = interval_of(bids.join(auctions, on=NEAR))
    assert near == Interval(("ts", "opened"), 0, HOUR, (STRAIGHT, STRAIGHT))
    assert (near.kept_us, near.judged) == ((0, HOUR), (True, True))
    assert interval_of(auctions.join(bids, on=NEAR)) == Interval(("opened", "ts"), -HOUR, 0, (STRAIGHT, STRAIGHT))
    assert interval_of(
        bids.alias("b").join(auctions.alias("a"), on="b.auction = a.id AND b.ts <= a.opened AND a.opened > b.ts")
    ) == Interval(("ts", "opened"), None, -1, (STRAIGHT, STRAIGHT))
    renamed = bids.filter("price > 1").rename({"ts": "at"}).union(bids.rename({"ts": "at"}))
    assert interval_of(renamed.join(auctions, on="auction = id AND at = opened + INTERVAL 1 SECOND")) == Interval(
        ("at", "opened"), SECOND, SECOND, (STRAIGHT, STRAIGHT)
    )


def test_a_row_is_kept_until_it_can_be_taken_away_no_more() -> None:
    later = interval_of(bids.join(auctions, on="auction = id AND ts BETWEEN opened + INTERVAL 2 SECONDS AND opened + INTERVAL 3 SECONDS"))
    assert later is not None and later.kept_us == (0, 3 * SECOND)
    earlier = interval_of(bids.join(auctions, on="auction = id AND ts < opened AND ts > opened - INTERVAL 3 SECONDS"))
    assert earlier is not None and earlier.kept_us == (3 * SECOND - 1, 0)
    half = interval_of(bids.join(auctions, on="auction = id AND ts >= opened"))
    assert half is not None and half.kept_us == (0, None)


def test_windows_and_what_was_computed_of_them() -> None:
    windowed = auctions.window(hr.tumble("opened", "1 hour"), lateness="1 minute")
    counted = windowed.group_by("id", "window_start", "window_end").agg(n="count(*)")
    from_start = interval_of(bids.join(counted, on="auction = id AND ts BETWEEN window_start AND window_start + INTERVAL 1 HOUR"))
    late = Delay(HOUR + 60 * SECOND, False)
    assert from_start == Interval(("ts", "window_start"), 0, HOUR, (STRAIGHT, late))
    assert from_start.kept_us == (HOUR + 60 * SECOND, HOUR + 60 * SECOND)
    # The window's own time says less than its end.
    assert interval_of(bids.join(windowed, on="auction = id AND ts > window_time")) == Interval(
        ("ts", "window_time"), 1, None, (STRAIGHT, Delay(60 * SECOND + 1000, True))
    )


def test_joins_that_do_not() -> None:
    assert interval_of(plain.join(auctions, on=NEAR)) is None
    assert interval_of(bids.join(auctions, on="auction = id AND ts BETWEEN closes AND closes + INTERVAL 1 HOUR")) is None
    assert interval_of(bids.join(auctions, on="auction = id AND (ts <= opened OR price > 1)")) is None
    assert interval_of(bids.join(auctions, on=NEAR, expires="1 day")) is None
    assert (
        interval_of(bids.group_by("auction", "ts").agg(n="count(*)").group_by("auction").agg(ts="max(ts)").join(auctions, on=NEAR)) is None
    )
    both = [side.window(hr.tumble(time, "1 hour")) for side, time in ((bids, "ts"), (auctions.rename({"id": "auction"}), "opened"))]
    ends = (
        both[0].select("auction", "ts", "window_end").join(both[1].select("auction", "opened", "window_end"), on=["auction", "window_end"])
    )
    assert interval_of(ends) is None


def test_what_closes_behind_it() -> None:
    near = bids.join(auctions, on="auction = id AND ts BETWEEN opened - INTERVAL 2 SECONDS AND opened + INTERVAL 1 HOUR")
    closes = {name: (one.lateness_ms, one.straight) for name, one in closing([near._node])[near._node].items()}
    assert closes == {"ts": (2000, False), "opened": (3_600_000, False)}
    semi = bids.join(auctions, on=NEAR, how="semi")
    assert set(closing([semi._node])[semi._node]) == {"ts"}


def test_whether_rows_are_taken_away_and_which_are_late() -> None:
    kinds = {
        (how, emit): kind_of(bids.join(auctions, on=NEAR, how=how, emit=emit)._node) for how in hows() for emit in ("changes", "close")
    }
    assert {way for way, kind in kinds.items() if kind == "changes"} == {(how, "changes") for how in ("left", "right", "full", "anti")}
    assert late_outputs(bids.join(auctions, on=NEAR)._node) == ("late", "late_right")
    counted = auctions.window(hr.tumble("opened", "1 hour")).group_by("id", "window_end").agg(n="count(*)")
    assert late_outputs(bids.join(counted, on="auction = id AND ts >= window_end")._node) == ("late",)
    assert late_outputs(plain.join(auctions, on=NEAR)._node) == ()


def hows() -> tuple[str, ...]:
    return ("inner", "left", "right", "full", "semi", "anti")


def state_text(stream: hr.Stream) -> str:
    plan = Plan.of("job", [stream.write.memory(name="out", mode="changes")._use()])
    return list(facts(plan, "state").values())[-1].text


def test_explain_says_when_rows_are_released_or_what_is_missing() -> None:
    late = "; rows that arrive after it has passed them are late"
    assert state_text(bids.join(auctions, on=NEAR)) == (
        f"released: left rows when the watermark passes ts, right rows when it passes opened + 1 hour{late}"
    )
    assert state_text(bids.join(auctions, on="auction = id AND ts >= opened")) == (
        "grows with the right rows, as the condition does not limit when they can match: `ts <= opened + INTERVAL 1 HOUR` would; "
        f"released: left rows when the watermark passes ts{late}"
    )
    every = "grows with the rows of both sides; a later row may match any of them"
    assert state_text(plain.join(auctions, on=NEAR)) == f"{every}; a watermark on ts would bound it"
    assert state_text(plain.join(auctions.drop("opened"), on="auction = id AND ts <= closes")) == every
    assert state_text(bids.join(auctions, on="auction = id")) == (
        f"{every}; a condition such as `ts BETWEEN opened AND opened + INTERVAL 1 HOUR` would bound it"
    )
