"""Sessions, against a plain model: random rows out of order that come and go, random cuts, restarts anywhere, with and without a watermark."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import headrace as hr
from headrace.plan import Plan
from headrace.testing import Collected, Harness
from headrace.testing.collected import in_order
from tests.models.spans import MILLI, Row, Sessions, Span, around, merged
from tests.models.windows import Input, Kind, Watermark
from tests.scale import FULL
from tests.spark.queries.changing import Changes, Table, batch
from tests.spark.sql.same import both_signs
from tests.unit.errors import check_error

NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
SECOND = dt.timedelta(seconds=1)
GAP = 10 * SECOND
SCHEMA = "card string, ts timestamp, amount int"
EACH = "CASE WHEN amount = 1 THEN '3 seconds' WHEN amount = 2 THEN '25 seconds' WHEN amount = 3 THEN '-1 seconds' ELSE '10 seconds' END"
LENGTHS = {1: 3 * SECOND, 2: 25 * SECOND, 3: None}
SEEDS = range(1, 25) if FULL else (1, 2)


def alike(row: Row) -> Span | None:
    return None if row[1] is None else (row[1], row[1] + GAP)


def of_each(row: Row) -> Span | None:
    length = LENGTHS.get(row[2], GAP)
    return None if row[1] is None or length is None else (row[1], row[1] + length)


def a_row(rng: random.Random, now: int) -> Row:
    time = None if rng.random() < 0.04 else NOON + SECOND * max(now - rng.choice([0, 0, 1, 4, 9, 10, 15, 40]), 0)
    return rng.choice([None, "a", "a", "b"]), time, rng.choice([None, 1, 2, 3, 4])


def counted(rows: Iterable[Row], key: Callable[[Row], Any]) -> list[Row]:
    return in_order([(*one, n) for one, n in Counter(key(row) for row in rows).items()])


def keys(h: Harness) -> int:
    return sum(query.state_keys() for query in h._queries())


def same(out: Collected, expected: Iterable[Row], at: str, commit: int) -> None:
    assert out.rows() == in_order(list(expected)), at
    assert not both_signs(out.changes(), commit), at


def net(out: Collected) -> dict[Row, int]:
    """How often each row was added; less than 0 if it was taken away more often."""
    counts: Counter[Row] = Counter()
    for _, sign, row in out.changes():
        counts[row] += 1 if sign == "+" else -1
    return {row: n for row, n in counts.items() if n}


SPARK = (
    "SELECT card, session_window.start, session_window.end, count(*) AS n, sum(amount) FROM charges GROUP BY card, session_window(ts, {})"
)


@pytest.mark.parametrize("seed", SEEDS[-1:] if not FULL else SEEDS)
def test_the_answer_is_that_of_batch(spark: SparkSession, seed: int) -> None:
    """Rows come and go, twice at times, with nulls; there is no watermark, so nothing closes."""
    rng = random.Random(seed)
    table = Table(SCHEMA, lambda rng: a_row(rng, rng.randrange(150)))
    with Harness(partitions=seed % 3 + 1) as h:
        charges = h.source("charges", SCHEMA, changes=True)
        per = {"card": lambda row: row[0], "card, amount": lambda row: (row[0], row[2]), "": lambda row: ()}
        cases = {
            name: (Sessions(key, alike, GAP), hr.sessions("ts", GAP, per=name.split(", ") if name else ())) for name, key in per.items()
        }
        outs = {name: (h.collect(charges.window(one)), model) for name, (model, one) in cases.items()}
        queries = {gap: SPARK.format(gap) for gap in ("'10 seconds'", EACH)}
        queries["the whole"] = (
            f"SELECT session_window, count(DISTINCT card) FROM charges WHERE amount > 1 GROUP BY session_window(ts, {EACH})"
        )
        answers = {name: h.collect(hr.sql(query, charges=charges)) for name, query in queries.items()}
        for commit in range(1, 7):
            changes = table.change(rng, 16)
            h.commit({"charges": changes})
            for name, (out, model) in outs.items():
                model.take(changes, None)
                same(out, model.rows(), f"commit {commit}, per {name}", commit)
            if rng.random() < 0.3:
                h.restart()
        for name, out in answers.items():
            answer = batch(spark, queries[name], {"charges": table})
            assert out.rows() == [tuple(map(in_utc, row)) for row in answer], name
        h.commit({"charges": [("-", row) for row in table.rows]})
        assert not any(out.rows() for out, _ in outs.values())
        assert keys(h) == 0


def in_utc(value: object) -> object:
    """Spark gives times without their zone."""
    if isinstance(value, tuple):
        return tuple(map(in_utc, value))
    return value.astimezone(dt.UTC) if isinstance(value, dt.datetime) else value


def on_the_way(rng: random.Random, now: int, live: list[Row]) -> Changes:
    """Rows around a time, some of them late, some twice; others go, and one that never came."""
    changes: Changes = []
    for _ in range(rng.randrange(14)):
        if live and rng.random() < 0.25:
            changes.append(("-", live.pop(rng.randrange(len(live)))))
        else:
            changes += [("+", a_row(rng, now))] * rng.choice([1, 1, 1, 2])
    live += [row for sign, row in changes if sign == "+"]
    return changes if rng.random() < 0.9 else [*changes, ("-", ("c", NOON + SECOND * now, 5))]


@pytest.mark.parametrize("seed", SEEDS)
def test_sessions_close(spark: SparkSession, seed: int) -> None:
    """Late rows are told of and change nothing; what has closed is final; behind sessions groups close as well; nothing is left."""
    rng, lateness = random.Random(seed), 7 * (seed % 2)
    with Harness(partitions=seed % 3 + 1) as h:
        charges = h.source("charges", SCHEMA, watermark=("ts", "5 seconds"), changes=True, trusted=True)
        window, late_by = hr.sessions("ts", GAP, per="card"), f"{lateness} seconds"
        model = Sessions(lambda row: row[0], alike, GAP, lateness * SECOND)
        each = Sessions(lambda row: row[0], of_each, dt.timedelta(0))
        streams = {emit: charges.window(window, emit=emit, lateness=late_by) for emit in ("changes", "close")}
        outs = {emit: h.collect(stream) for emit, stream in streams.items()}
        late = {emit: h.collect(stream.output("late")) for emit, stream in streams.items()}
        groups: dict[str, Callable[[Row], Row]] = {
            "card, window_start, window_end": lambda row: (row[0], *row[3:5]),
            "window_end": lambda row: row[4:5],
        }
        behind = {
            (emit, names): h.collect(stream.group_by(*names.split(", ")).agg(n="count(*)"))
            for emit, stream in streams.items()
            for names in groups
        }
        query = f"SELECT card, session_window, count(*) FROM charges GROUP BY card, session_window(ts, {EACH})"
        differ = {
            emit: h.collect(hr.sql(query + how, charges=charges)) for emit, how in (("changes", ""), ("close", " EMIT ON WINDOW CLOSE"))
        }
        mark, now = Watermark({"charges": 5}), 0
        live: list[Row] = []
        for commit in range(1, 11):
            changes = on_the_way(rng, now, live)
            now += rng.choice([0, 2, 5, 20])
            h.commit({"charges": changes})
            for one in (model, each):
                one.take(changes, mark.at)
            if times := [row[1] for _, row in changes if row[1]]:
                mark.see("charges", times)
                mark.move()
            for one in (model, each):
                one.close(mark.at)
            expected = {"changes": model.rows(), "close": list(model.closed.elements())}
            others = {"changes": each.rows(), "close": list(each.closed.elements())}
            for emit in expected:
                at = f"commit {commit}, {emit}"
                same(outs[emit], expected[emit], at, commit)
                assert net(late[emit]) == {row: n for row, n in model.late.items() if n}, at
                for names, key in groups.items():
                    same(behind[emit, names], counted(expected[emit], key), f"{at}, by {names}", commit)
                same(differ[emit], counted(others[emit], lambda row: (row[0], row[3:5])), f"{at}, of spans that differ", commit)
            if rng.random() < 0.3:
                h.restart()
        assert FULL or (model.late and model.closed)
        h.finish()
        model.finish()
        for emit, out in outs.items():
            assert out.rows() == in_order(list(model.closed.elements())), emit
            assert behind[emit, "window_end"].rows() == counted(model.closed.elements(), groups["window_end"]), emit
        assert {sign for _, sign, _ in outs["close"].changes()} == {"+"}
        assert keys(h) == 0
        counts = [one["input"] for one in h.metrics()["inputs"].values()]
        assert all(one["in"] == one["handled"] + one["late"] for one in counts)
        assert sorted(one["late"] for one in counts if one["late"]) == sorted(2 * [n for n in (model.judged_late, each.judged_late) if n])


@pytest.mark.full
def test_sessions_of_windows(spark: SparkSession) -> None:
    """What an operator made comes in time, also when it is taken back in the epoch in which its window closes."""
    rng = random.Random(2)
    with Harness(partitions=2) as h:
        charges = h.source("charges", SCHEMA, watermark=("ts", "5 seconds"))
        counts = charges.window(hr.tumble("ts", "4 seconds")).group_by("card", "window_end").agg(n="count(*)").rename({"window_end": "e"})
        visits = {emit: counts.window(hr.sessions("e", "8 seconds", per="card"), emit=emit) for emit in ("changes", "close")}
        outs = {emit: h.collect(stream) for emit, stream in visits.items()}
        ends = {emit: h.collect(stream.group_by("window_time").agg(n="count(*)", s="sum(n)")) for emit, stream in visits.items()}
        again = visits["close"].select("card", "n", at="window_end").window(hr.sessions("at", "20 seconds", per="card"), emit="close")
        twice = h.collect(again.select("card", "n", "at", "window_start"))
        rows, mark, now = Input(Kind("tumble", 4, 4)), Watermark({"charges": 5}), 0
        for commit in range(10):
            arrivals = [(rng.choice("ab"), NOON + SECOND * max(now - rng.choice([0, 1, 6, 12]), 0), 1) for _ in range(rng.randrange(6))]
            rows.take(arrivals, mark)
            h.commit({"charges": [("+", row) for row in arrivals]})
            if arrivals:
                mark.see("charges", [row[1] for row in arrivals])
            mark.move()
            now += rng.choice([0, 3, 10, 30])
            for emit, out in outs.items():
                expected = whole(rows.on_time, emit == "close", mark)
                assert out.rows() == in_order(expected), f"commit {commit}, {emit}"
                sums = [
                    (time, len(of), sum(of))
                    for time in {row[5] for row in expected}
                    for of in [[row[2] for row in expected if row[5] == time]]
                ]
                assert ends[emit].rows() == in_order(sums), f"commit {commit}, {emit}"
            if rng.random() < 0.3:
                h.restart()
        h.finish()
        expected = whole(rows.on_time, False, mark)
        for out in outs.values():
            assert out.rows() == in_order(expected)
        behind = Sessions(lambda row: row[0], lambda row: (row[2], row[2] + 20 * SECOND), 20 * SECOND, None)
        behind.take([("+", (row[0], row[2], row[4])) for row in expected], None)
        assert twice.rows() == in_order([row[:4] for row in behind.rows()])
        assert rows.late and keys(h) == 0


def whole(rows: list[Any], closed: bool, mark: Watermark) -> list[Row]:
    """The windows of rows in sessions of 8 seconds behind the end of each; only those that have closed, if that is asked."""
    model = Sessions(lambda row: row[0], lambda row: (row[1], row[1] + 8 * SECOND), 8 * SECOND, None)
    windows = Counter((row[0], row[4]) for row in rows)
    model.take([("+", (*window, n)) for window, n in windows.items()], None)
    return [row for row in model.rows() if not closed or mark.passed(row[4])]


def test_a_heavy_key(spark: SparkSession) -> None:
    """Thousands of rows in one session, which take pages: one more in the middle is all that is sent, until the bounds change."""
    times = [NOON + SECOND * 3 * i for i in range(3000)]
    rows = [("a", time, i % 5) for i, time in enumerate(times)]
    with Harness(partitions=1) as h:
        charges = h.source("charges", SCHEMA, watermark=("ts", "1 day"), changes=True, trusted=True)
        model = Sessions(lambda row: row[0], alike, GAP, dt.timedelta(0))
        outs = {emit: h.collect(charges.window(hr.sessions("ts", GAP, per="card"), emit=emit)) for emit in ("changes", "close")}
        cuts: list[Changes] = [
            [("+", row) for row in [*rows[::2], rows[-1]]],
            [("+", row) for row in rows[1:-1:2]],
            [("+", ("a", times[1500] + SECOND, 7))],
            [("-", row) for row in [*rows[2000:2004], ("a", times[1500] + SECOND, 7)]],
            [("+", ("a", times[2000] + SECOND, 7))],
        ]
        sent = []
        for commit, changes in enumerate(cuts, 1):
            h.commit({"charges": changes})
            model.take(changes, None)
            sent.append(sum(one[0] == commit for one in outs["changes"].changes()))
            h.restart()
        assert sent[1:] == [1499, 1, 5 + 2 * 2996, 1 + 2 * 2000] and not outs["close"].rows()
        assert outs["changes"].rows() == in_order(in_sessions(model))
        h.finish()
        assert outs["close"].rows() == outs["changes"].rows()
        assert keys(h) == 0


def in_sessions(model: Sessions) -> list[Row]:
    """As `model.rows()`, where there are many."""
    sessions = merged(span for row in model.kept if (span := model.span(row)))
    return [(*row, *one, one[1] - MILLI) for row in model.kept for one in [around(sessions, row[1])]]


def test_forms_of_one_plan(spark: SparkSession) -> None:
    """SESSION in FROM is the verb; session_window of SQL and of a DataFrame group by what it gives."""
    charges = hr.read.memory([], SCHEMA, name="charges").watermark("ts", "5 seconds")

    def fingerprint(stream: hr.Stream) -> str:
        return Plan.of("job", [stream.write.memory(name="out")._use()]).fingerprint

    verb = charges.window(hr.sessions("ts", GAP, per="card"))
    for text in (
        "SESSION(TABLE charges PARTITION BY card, DESCRIPTOR(ts), INTERVAL '10' SECOND)",
        "TABLE(SESSION(DATA => TABLE charges PARTITION BY (card), TIMECOL => DESCRIPTOR(ts), GAP => '10 seconds')) s",
        "SESSION(TABLE (SELECT * FROM charges) PARTITION BY card, DESCRIPTOR(ts), INTERVAL '10' SECOND)",
    ):
        assert fingerprint(hr.sql(f"SELECT * FROM {text}", charges=charges)) == fingerprint(verb), text
    whole = charges.window(hr.sessions("ts", GAP, per=()), emit="close")
    from_sql = hr.sql("SELECT * FROM SESSION(TABLE charges, DESCRIPTOR(ts), '10 seconds') EMIT ON WINDOW CLOSE", charges=charges)
    assert fingerprint(from_sql) == fingerprint(whole)
    two = charges.window(hr.sessions("ts", GAP, per=["card", "amount"]))
    from_sql = hr.sql("SELECT * FROM SESSION(TABLE charges PARTITION BY (card, amount), DESCRIPTOR(ts), '10 seconds')", charges=charges)
    assert fingerprint(from_sql) == fingerprint(two)
    query = "SELECT card, session_window, count(1) AS count FROM charges GROUP BY card, session_window(ts, '10 seconds')"
    frame = charges.as_dataframe().groupBy("card", F.session_window("ts", "10 seconds")).count()
    assert fingerprint(hr.from_dataframe(frame)) == fingerprint(hr.sql(query, charges=charges))


def test_a_time_is_a_timestamp(spark: SparkSession) -> None:
    days = hr.read.memory([], "card string, day date", name="days")
    visits = days.window(hr.sessions("day", "1 hour", per="card")).named("visits")
    check_error(
        """
        WRONG_TYPE: visits: the time of sessions is DATE, not a timestamp, in `day`
          at test_sessions.py:*: visits = days.window(hr.sessions("day", "1 hour", per="card")).named("visits")
          hint: cast it: CAST(... AS timestamp)
          more: headrace error WRONG_TYPE
        """,
        visits.explain,
    )


def test_a_row_without_a_span_and_one_of_which_none_can_be_told(spark: SparkSession) -> None:
    """No time, or one that fails, is no session but a dead letter, which is taken back with its row."""
    with Harness() as h:
        charges = h.source("charges", "card string, day string", changes=True)
        out = h.collect(charges.window(hr.sessions("CAST(day AS timestamp_ntz)", "1 hour", per="card")).select("card", "day", "window_end"))
        dead = h.collect(charges.output("dead_letter").select("reason", "raw"))
        h.commit({"charges": [("+", ("a", "2026-01-01 12:00:00")), ("+", ("a", None)), ("+", ("a", "never"))]})
        assert out.rows() == [("a", "2026-01-01 12:00:00", dt.datetime(2026, 1, 1, 13))]
        without = ("NULL_TIME: the event time is null", '{"card":"a","day":null}')
        assert [reason.split(" ")[0] for reason, _ in dead.rows()] == ["NULL_TIME:", "[CAST_INVALID_INPUT]"]
        h.commit({"charges": [("-", ("a", "never"))]})
        assert dead.rows() == [without]
        h.restart()
        h.commit({"charges": [("-", ("a", None))]})
        assert dead.rows() == []


def test_a_row_beside_a_forgotten_session(spark: SparkSession) -> None:
    """A row is late where a session may have been sent and forgotten, also if it would join one that is kept: the two could be one."""

    def at(second: int) -> dt.datetime:
        return NOON + SECOND * second

    with Harness(partitions=1) as h:
        charges = h.source("charges", SCHEMA, watermark=("ts", "0 seconds"))
        for_25 = charges.window(hr.sessions("ts", "25 seconds", per="card"), emit="close")
        model = Sessions(lambda row: row[0], lambda row: (row[1], row[1] + 25 * SECOND), 25 * SECOND)
        out, late = h.collect(for_25), h.collect(for_25.output("late"))
        mark = Watermark({"charges": 0})
        # `d` had a session up to 157, as `c` might have had; that of `e` ends at 200 and touches what comes then.
        first = [[("d", 132), ("e", 175)], [("b", 183)], [("c", 170), ("d", 170)]]
        for rows in (*first, [("c", 151), ("d", 151)], [("c", 159)], [("b", 201)], [("e", 200)]):
            changes = [("+", (card, at(second), 1)) for card, second in rows]
            h.commit({"charges": changes})
            model.take(changes, mark.at)
            mark.see("charges", [row[1] for _, row in changes])
            mark.move()
            model.close(mark.at)
            assert out.rows() == in_order(list(model.closed.elements()))
            assert net(late) == {row: n for row, n in model.late.items() if n}
        h.finish()
        assert [row[:2] for row in late.rows()] == [("c", at(151)), ("d", at(151)), ("e", at(200))]
