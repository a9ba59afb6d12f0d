"""Windows over event time, against a plain model of the watermark: random rows out of order, random cuts, a restart anywhere."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import headrace as hr
from headrace.testing import Harness
from headrace.testing.collected import in_order
from tests.models.windows import Input, Kind, Row, Watermark, Windowed, commits

SCHEMA = "card string, ts timestamp, amount int"
KINDS = {
    "tumble": (hr.tumble("ts", "10 seconds", offset="3 seconds"), Kind("tumble", 10, 10, 3)),
    "hop": (hr.hop("ts", "12 seconds", "5 seconds"), Kind("hop", 12, 5)),
    "cumulate": (hr.cumulate("ts", "12 seconds", "4 seconds"), Kind("cumulate", 12, 4)),
}
Answer = Callable[[list[Windowed]], list[tuple[Any, ...]]]
Query = tuple[hr.Stream, Answer]


def grouped(rows: Iterable[Any], key: Callable[[Any], Any]) -> list[tuple[Any, list[Any]]]:
    return [(name, list(group)) for name, group in groupby(sorted(rows, key=key), key)]


def queries(rows: hr.Stream) -> dict[str, Query]:
    """Streams over windowed rows with what they are of the rows that were in time; the first is one whose late rows are looked at."""
    counted = rows.group_by("card", "window_end").agg(n="count(*)", s="sum(amount)")
    place = hr.f.rank().over(per="window_end", by="n desc")

    def totals(windowed: list[Windowed]) -> list[tuple[Any, ...]]:
        return [(*key, len(of), sum(r[2] for r in of)) for key, of in grouped(windowed, lambda r: (r[0], r[4]))]

    def best(windowed: list[Windowed]) -> list[tuple[Any, ...]]:
        windows = grouped(totals(windowed), lambda r: r[1])
        return [row for _, of in windows for row in sorted(of, key=lambda r: (-r[2], r[0], r[3]))[:2]]

    def places(windowed: list[Windowed]) -> list[tuple[Any, ...]]:
        windows = grouped(totals(windowed), lambda r: r[1])
        return [(*row, 1 + sum(other[2] > row[2] for other in of)) for _, of in windows for row in of]

    return {
        "invertible": (counted, totals),
        "recomputed": (
            rows.group_by("window_start", "window_end", "window_time").agg(d="count(DISTINCT card)", m="max(amount)"),
            lambda windowed: [(*key, len({r[0] for r in of}), max(r[2] for r in of)) for key, of in grouped(windowed, lambda r: r[3:6])],
        ),
        "distinct": (
            rows.select("card", "window_end").distinct(),
            lambda windowed: [key for key, _ in grouped(windowed, lambda r: (r[0], r[4]))],
        ),
        "the first of groups": (counted.top(2, by="n desc", per="window_end"), best),
        "places of groups": (counted.with_columns(place=place), places),
        "the first of rows": (
            rows.select("window_end", "amount", "card", "ts").top(2, by="amount desc", per="window_end"),
            lambda windowed: [
                (end, r[2], r[0], r[1])
                for end, of in grouped(windowed, lambda r: r[4])
                for r in sorted(of, key=lambda r: (-r[2], r[0], r[1]))[:2]
            ],
        ),
        "places of rows": (
            rows.select("window_end", "amount", n=hr.f.count().over(per="window_end")),
            lambda windowed: [(end, r[2], len(of)) for end, of in grouped(windowed, lambda r: r[4]) for r in of],
        ),
        "one row for each card": (
            rows.select("card", "window_end", "ts", "amount").dedupe(on=["card", "window_end"], keep="last", by=["ts", "amount"]),
            lambda windowed: [(*key, *max((r[1], r[2]) for r in of)) for key, of in grouped(windowed, lambda r: (r[0], r[4]))],
        ),
    }


def keys(h: Harness) -> int:
    return sum(query.state_keys() for query in h._queries())


def run(h: Harness, cut: list[list[Row]], inputs: list[Input], restart: int, check: Callable[[str, Watermark], None]) -> None:
    mark = Watermark({"charges": 5})
    for number, rows in enumerate(cut):
        for one in inputs:
            one.take(rows, mark)
        h.commit({"charges": [("+", row) for row in rows]})
        if rows:
            mark.see("charges", [time for _, time, _ in rows])
        mark.move()
        check(f"commit {number}", mark)
        if number == restart:
            h.restart()
    h.finish()


@pytest.mark.parametrize(
    ("kind", "lateness"),
    [
        pytest.param(kind, lateness, marks=() if number % 2 == bool(lateness) else pytest.mark.full)
        for number, kind in enumerate(KINDS)
        for lateness in (0, 7)
    ],
)
def test_groups_of_windows(spark: SparkSession, kind: str, lateness: int) -> None:
    rng = random.Random(f"{kind} {lateness}")
    window, model = KINDS[kind]
    cut = commits(rng, 12)
    with Harness(partitions=rng.randrange(1, 4)) as h:
        charges = h.source("charges", SCHEMA, watermark=("ts", "5 seconds"))
        late_by = f"{lateness} seconds"
        sent = {
            emit: {
                name: (stream, h.collect(stream), answer)
                for name, (stream, answer) in queries(charges.window(window, emit=emit, lateness=late_by)).items()
            }
            for emit in ("changes", "close")
        }
        late = {emit: h.collect(by_name["invertible"][0].output("late")) for emit, by_name in sent.items()}
        rows = Input(model, lateness)

        def check(at: str, mark: Watermark) -> None:
            for name, (_, out, answer) in sent["changes"].items():
                assert out.rows() == in_order(answer(rows.on_time)), f"{name}, {at}"
            for name, (_, out, answer) in sent["close"].items():
                assert out.rows() == in_order(answer(rows.closed(mark))), f"{name}, when closed, {at}"
            for emit, out in late.items():
                assert out.rows() == in_order(rows.late), f"late rows, {emit}, {at}"

        run(h, cut, [rows], rng.randrange(len(cut)), check)
        for by_name in sent.values():
            for name, (_, out, answer) in by_name.items():
                assert out.rows() == in_order(answer(rows.on_time)), name
        assert rows.late, "some rows were late"
        for _, out, _ in sent["close"].values():
            assert {sign for _, sign, _ in out.changes()} == {"+"}
        assert keys(h) == 0
        counts = [one["input"] for one in h.metrics()["inputs"].values()]
        assert all(one["in"] == one["handled"] + one["late"] for one in counts)
        straight = [(one["handled"], one["late"]) for one in counts if one["late"]]
        assert set(straight) == {(len(rows.on_time), len(rows.late))}


HOWS: dict[str, Callable[[list[Any], list[Any]], list[tuple[Any, ...]]]] = {
    "inner": lambda pairs, alone: pairs,
    "left": lambda pairs, alone: [*pairs, *((*row[:3], None, None, None) for side, row in alone if side == "left")],
    "full": lambda pairs, alone: [
        *pairs,
        *((*row, None, None, None) if side == "left" else (None, None, None, *row) for side, row in alone),
    ],
}


def met(left: list[Windowed], right: list[Windowed], how: str) -> list[tuple[Any, ...]]:
    """Rows of two windowed streams that are of one card and window."""
    mine, theirs = ([(r[0], r[4], r[2]) for r in rows] for rows in (left, right))
    pairs = [(*m, *r) for m in mine for r in theirs if m[:2] == r[:2]]
    alone = [("left", m) for m in mine if not any(m[:2] == r[:2] for r in theirs)]
    alone += [("right", r) for r in theirs if not any(m[:2] == r[:2] for m in mine)]
    return HOWS[how](pairs, alone)


@pytest.mark.parametrize("emit", ["changes", "close"])
def test_joins_of_windows(spark: SparkSession, emit: str) -> None:
    rng = random.Random(emit)
    cut = {"charges": commits(rng, 10), "refunds": commits(rng, 10)}
    window, model = KINDS["hop"]
    with Harness(partitions=rng.randrange(1, 4)) as h:
        sides = []
        for name in cut:
            windowed = h.source(name, SCHEMA, watermark=("ts", "5 seconds")).window(window, emit=emit)
            sides.append(windowed.select("card", "window_end", "amount"))
        left, right = sides[0], sides[1].rename({"card": "c", "window_end": "e", "amount": "a"})
        joined = {how: left.join(right, on="card = c AND window_end = e", how=how) for how in HOWS}
        outs = {how: h.collect(stream) for how, stream in joined.items()}
        late = [h.collect(joined["full"].output(name)) for name in ("late", "late_right")]
        mark = Watermark(dict.fromkeys(cut, 5))
        rows = {name: Input(model) for name in cut}
        restart = rng.randrange(10)
        for number in range(10):
            for name, one in rows.items():
                one.take(cut[name][number], mark)
            h.commit({name: [("+", row) for row in parts[number]] for name, parts in cut.items()})
            for name, parts in cut.items():
                if parts[number]:
                    mark.see(name, [time for _, time, _ in parts[number]])
            mark.move()
            there = [one.on_time if emit == "changes" else one.closed(mark) for one in rows.values()]
            for how, out in outs.items():
                assert out.rows() == in_order(met(there[0], there[1], how)), f"{how}, commit {number}"
            for out, one in zip(late, rows.values(), strict=True):
                assert out.rows() == in_order([(r[0], r[4], r[2]) for r in one.late])
            if number == restart:
                h.restart()
        h.finish()
        for how, out in outs.items():
            assert out.rows() == in_order(met(rows["charges"].on_time, rows["refunds"].on_time, how)), how
            assert emit == "changes" or {sign for _, sign, _ in out.changes()} == {"+"}
        assert keys(h) == 0


SQL = {
    "tumble": "FROM TUMBLE(TABLE charges, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '3' SECOND) GROUP BY card, window_end",
    "hop": "FROM TABLE(HOP(DATA => TABLE charges, TIMECOL => DESCRIPTOR(ts), SIZE => '12 seconds', SLIDE => '5 seconds')) w GROUP BY card, w.window_end",
    "cumulate": "FROM CUMULATE(TABLE (SELECT * FROM charges), DESCRIPTOR(ts), INTERVAL 4 SECONDS, INTERVAL 12 SECONDS) GROUP BY card, window_end",
}
SPARK = {
    "tumble": "window(ts, '10 seconds', '10 seconds', '3 seconds')",
    "hop": "window(ts, '12 seconds', '5 seconds')",
}


def test_windows_of_sql(spark: SparkSession) -> None:
    """Windows in FROM and Spark's own close as those of verbs do; in time, the answer is that of Spark batch."""
    rng = random.Random(3)
    cut = commits(rng, 8)
    with Harness() as h:
        charges = h.source("charges", SCHEMA, watermark=("ts", "5 seconds"))
        frame = charges.as_dataframe()
        outs = {}
        for emit in ("", " EMIT ON WINDOW CLOSE"):
            for kind, text in SQL.items():
                outs[f"{kind} in FROM{emit}"] = h.collect(
                    hr.sql(f"SELECT card, window_end, count(*), sum(amount) {text}{emit}", charges=charges)
                )
            for kind, text in SPARK.items():
                query = f"SELECT card, window.end, count(*), sum(amount) FROM charges GROUP BY card, {text}{emit}"
                outs[f"{kind} of Spark{emit}"] = h.collect(hr.sql(query, charges=charges))
        counted = frame.groupBy("card", F.window("ts", "12 seconds", "5 seconds").alias("w")).agg(
            F.count("*").alias("n"), F.sum("amount").alias("s")
        )
        outs["hop of a DataFrame"] = h.collect(hr.from_dataframe(counted.select("card", "w.end", "n", "s")))
        again = (
            f"WITH c AS (SELECT window, count(*) AS n FROM charges GROUP BY {SPARK['tumble']}) SELECT window_time(window) AS at, n FROM c"
        )
        twice = h.collect(
            hr.sql(
                f"SELECT window.end, sum(n) FROM ({again}) GROUP BY window(at, '20 seconds', '20 seconds', '3 seconds')", charges=charges
            )
        )
        rows = {kind: Input(model) for kind, (_, model) in KINDS.items()}
        answer = queries(charges.window(KINDS["hop"][0]))["invertible"][1]

        def check(at: str, mark: Watermark) -> None:
            for name, out in outs.items():
                source = rows[name.split()[0]]
                assert out.rows() == in_order(answer(source.closed(mark) if "EMIT" in name else source.on_time)), f"{name}, {at}"

        run(h, cut, list(rows.values()), 4, check)
        assert sum(n for _, n in twice.rows()) == len(rows["tumble"].on_time)
        assert keys(h) == 0


def test_in_time_it_is_the_answer_of_batch(spark: SparkSession) -> None:
    cut = commits(random.Random(8), 6)
    with Harness(timezone="America/New_York") as h:
        charges = h.source("charges", SCHEMA.replace("ts timestamp", "ts timestamp, nt timestamp_ntz"), watermark=("ts", "1 hour"))
        windowed = "SELECT window, card, count(*) AS n FROM charges GROUP BY window({}, '7 seconds', '3 seconds', '1 second'), card"
        outs = {time: h.collect(hr.sql(windowed.format(time), charges=charges)) for time in ("ts", "nt")}
        verbs = h.collect(
            charges.window(hr.hop("nt", "7 seconds", "3 seconds", offset="1 second")).select("window_start", "window_end", "card")
        )
        rows = [(card, time, time.replace(tzinfo=None), amount) for part in cut for card, time, amount in part]
        for part in cut:
            h.commit({"charges": [("+", (card, time, time.replace(tzinfo=None), amount)) for card, time, amount in part]})
        h.finish()
        zone = spark.conf.get("spark.sql.session.timeZone")
        spark.createDataFrame(rows, "card string, ts timestamp, nt timestamp_ntz, amount int").createOrReplaceTempView("charges")
        for time, out in outs.items():
            answer = spark.sql(windowed.format(time)).selectExpr("unix_micros(CAST(window.start AS timestamp))", "card", "n").collect()
            assert len(out.rows()) == len(answer), (time, zone)
            assert sorted((card, n) for _, card, n in out.rows()) == sorted((row[1], row[2]) for row in answer), time
        batch = spark.sql(
            "SELECT w.start, w.end, card FROM (SELECT card, window(nt, '7 seconds', '3 seconds', '1 second') AS w FROM charges)"
        )
        assert verbs.rows() == in_order([tuple(row) for row in batch.collect()])


def test_rows_of_an_operator_are_never_late_and_those_of_a_source_are(spark: SparkSession) -> None:
    """A join of rows with what was computed of their window: each side is judged for itself."""
    with Harness() as h:
        charges = h.source("charges", SCHEMA, watermark=("ts", "0 seconds")).window(hr.tumble("ts", "10 seconds"), emit="close")
        most = charges.group_by("window_end").agg(most="max(amount)").rename({"window_end": "e"})
        best = charges.select("card", "amount", "window_end").join(most, on="window_end = e AND amount = most")
        out = h.collect(best.select("card", "amount"))
        late = h.collect(best.output("late").select("card"))
        h.commit({"charges": [("+", ("a", "2026-01-01 12:00:01", 3)), ("+", ("b", "2026-01-01 12:00:02", 5))]})
        assert out.rows() == []
        h.commit({"charges": [("+", ("a", "2026-01-01 12:00:10", 1))]})
        assert out.changes() == [(2, "+", ("b", 5))]
        h.commit({"charges": [("+", ("c", "2026-01-01 12:00:03", 9))]})
        assert late.rows() == [("c",)]
        h.finish()
        assert out.rows() == [("a", 1), ("b", 5)]
        assert keys(h) == 0


def test_a_source_of_changes(spark: SparkSession) -> None:
    """What is taken away in time is taken away; of a closed window nothing is, and the change is late."""
    with Harness() as h:
        charges = h.source("charges", SCHEMA, watermark=("ts", "0 seconds"), changes=True).window(
            hr.tumble("ts", "10 seconds"), emit="close"
        )
        first = charges.select("card", "window_end", "amount").top(1, by="amount desc", per="window_end")
        out = h.collect(first.select("card", "amount"))
        late = h.collect(first.output("late").select("card"))
        row = ("a", "2026-01-01 12:00:01", 3)
        h.commit({"charges": [("+", row), ("+", ("b", "2026-01-01 12:00:02", 5))]})
        h.commit({"charges": [("-", ("b", "2026-01-01 12:00:02", 5)), ("+", ("c", "2026-01-01 12:00:12", 1))]})
        assert out.changes() == [(2, "+", ("a", 3))]
        h.commit({"charges": [("-", row)]})
        assert out.rows() == [("a", 3)]
        assert late.changes() == [(3, "-", ("a",))]


def test_a_large_group_is_given_back_with_its_pages(spark: SparkSession) -> None:
    """Bags of many pages, those of what is not said yet among them."""
    with Harness(partitions=1) as h:
        charges = h.source("charges", SCHEMA, watermark=("ts", "0 seconds")).window(hr.tumble("ts", "1 hour"), emit="close")
        out = h.collect(charges.select("card", "window_end", n=hr.f.row_number().over(per="window_end", by="card")))
        names = [f"{n:05d} of a long name, so that there are pages" for n in range(2000)]
        for half in (names[::2], names[1::2]):
            h.commit({"charges": [("+", (name, "2026-01-01 12:00:01", 3)) for name in half]})
        h.restart()
        h.finish()
        assert [(card, n) for card, _, n in out.rows()] == [(name, n) for n, name in enumerate(names, 1)]
        assert keys(h) == 0


def test_one_row_for_each_key(spark: SparkSession) -> None:
    with Harness() as h:
        orders = h.source("orders", "id int, what string, ts timestamp", watermark=("ts", "0 seconds"))
        first, last = (
            h.collect(orders.dedupe(on="id").select("id", "what")),
            h.collect(orders.dedupe(on="id", keep="last").select("id", "what")),
        )
        once = h.collect(orders.dedupe(on="id", within="1 minute").select("id", "what"))
        h.commit({"orders": [("+", (1, "tea", "2026-01-01 12:00:10")), ("+", (1, "jam", "2026-01-01 12:00:20"))]})
        assert (first.rows(), last.rows(), once.rows()) == ([(1, "tea")], [(1, "jam")], [(1, "tea")])
        h.commit({"orders": [("+", (1, "salt", "2026-01-01 12:00:05"))]})
        assert first.rows() == [(1, "salt")]
        h.commit({"orders": [("+", (1, "rice", "2026-01-01 12:02:00"))]})
        assert (last.rows(), once.rows()) == ([(1, "rice")], [(1, "rice"), (1, "tea")])
        h.finish()
        assert once.rows() == [(1, "rice"), (1, "tea")]


@pytest.mark.parametrize(
    ("ties", "kept"), [("rank", [("a", 2), ("b", 2)]), ("dense_rank", [("a", 2), ("b", 2)]), ("row_number", [("a", 2)])]
)
def test_first_rows_of_a_window_with_ties_close_too(spark: SparkSession, ties: str, kept: list[tuple[str, int]]) -> None:
    with Harness() as h:
        t = h.source("t", "k string, ts timestamp", watermark=("ts", "0 seconds"))
        counts = t.window(hr.tumble("ts", "1 minute")).group_by("k", "window_end").agg(n="count(*)").named("counts")
        best = counts.top(1, by="n desc", per="window_end", ties=ties).named("best")
        out = h.collect(best.select("k", "n"))
        h.commit({"t": [("+", (k, f"2026-01-01 00:00:{second:02}")) for second, k in enumerate("abbac")]})
        assert sorted(out.rows()) == kept
        h.restart()
        h.commit({"t": [("+", ("c", "2026-01-01 00:02:00"))]})
        h.commit({"t": [("+", ("c", "2026-01-01 00:00:30"))]})  # late
        assert sorted(out.rows()) == sorted([*kept, ("c", 1)])
        h.finish()
        assert sorted(out.rows()) == sorted([*kept, ("c", 1)])
        assert h.metrics()["inputs"]["counts"]["input"]["late"] == 1


def test_a_row_without_a_time_is_a_dead_letter(spark: SparkSession) -> None:
    """However the window is written; the letter goes with the row, and joins keep such rows."""
    with Harness() as h:
        t = h.source("t", "k int, ts timestamp", changes=True)
        u = h.source("u", "id int, at timestamp", changes=True)
        windowed = [t.window(one) for one in (hr.tumble("ts", "1 hour"), hr.sessions("ts", "1 hour", per="k"))]
        windowed += [
            hr.sql(query, t=t)
            for query in (
                "SELECT k FROM HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '1' MINUTE)",
                "SELECT k FROM t GROUP BY window(ts, '2 hours'), k",
                "SELECT k FROM t GROUP BY session_window(ts, '2 hours'), k",
            )
        ]
        outs = [h.collect(one.select("k")) for one in windowed]
        near = h.collect(hr.sql("SELECT k, id FROM t LEFT JOIN u ON k = id AND ts BETWEEN at - INTERVAL 1 DAY AND at", t=t, u=u))
        letters = h.collect(t.output("dead_letter").select("reason", "raw"))
        h.commit({"t": [("+", (1, None)), ("+", (1, None)), ("+", (2, "2026-01-01 00:00:00"))], "u": [("+", (1, None))]})
        one = ("NULL_TIME: the event time is null", '{"k":1,"ts":null}')
        assert letters.rows() == 2 * len(windowed) * [one]
        assert all(out.rows() == [(2,)] for out in outs)
        assert near.rows() == [(1, None), (1, None), (2, None)]
        h.restart()
        h.commit({"t": [("-", (1, None))]})
        assert letters.rows() == len(windowed) * [one]
        h.commit({"t": [("-", (1, None))]})
        assert letters.rows() == []
