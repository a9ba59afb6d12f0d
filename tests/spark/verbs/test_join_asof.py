"""As-of joins: after every epoch what a plain list scan says of the rows that are there."""

from __future__ import annotations

import datetime as dt
import random

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.errors import HeadraceError
from headrace.testing import Collected, Harness
from headrace.testing.collected import in_order
from tests.models.asof import AsOfJoin, Timed
from tests.models.machine import times
from tests.spark.queries.changing import Changes, Row, Table, batch
from tests.unit.errors import check_error

NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
ORDERS = "pair string, ts timestamp, amount int"
RATES = "pair string, at timestamp, rate int, place string"
WIDTH = 4

JOINS = [
    AsOfJoin(how, direction, within)
    for direction in ("backward", "forward", "nearest")
    for within in (None, dt.timedelta(minutes=3))
    for how in ("left", "inner")
]


BATCH = """
WITH o AS (SELECT *, row_number() OVER (ORDER BY pair, ts, amount) AS id FROM orders),
m AS (SELECT id, max(struct(at, rate, place)) AS v FROM o JOIN rates ON o.pair = rates.pair AND at <= ts GROUP BY id)
SELECT pair, ts, amount, v.at, v.rate, v.place FROM o LEFT JOIN m USING (id)
"""


def a_time(rng: random.Random) -> dt.datetime | None:
    return None if rng.random() < 0.05 else NOON + dt.timedelta(minutes=rng.randrange(40))


def in_utc(value: object) -> object:
    """Spark gives times without their zone."""
    return value.astimezone(dt.UTC) if isinstance(value, dt.datetime) else value


def tables() -> dict[str, Table]:
    def order(rng: random.Random) -> Row:
        return rng.choice([None, "x", "x", "x", "y"]), a_time(rng), rng.choice([None, 1, 2])

    def rate(rng: random.Random) -> Row:
        return rng.choice([None, "x", "x", "x", "y"]), a_time(rng), rng.choice([None, 1, 2]), rng.choice([None, "p", "q"])

    return {"orders": Table(ORDERS, order), "rates": Table(RATES, rate)}


def name(join: AsOfJoin) -> str:
    return f"{join.how} {join.direction} {join.within}"


def joined(orders: hr.Stream, rates: hr.Stream, join: AsOfJoin, **more: str) -> hr.Stream:
    how, direction, within = join.how, join.direction, join.within
    return orders.join_asof(rates, on="pair", time=("ts", "at"), how=how, direction=direction, within=within, **more)


@pytest.mark.parametrize(("partitions", "seed"), [pytest.param(1, 3, marks=pytest.mark.full), (3, 4)])
def test_the_answer_is_that_of_a_list_scan(spark: SparkSession, partitions: int, seed: int) -> None:
    """Random changes of both sides, times out of order and equal, nulls, every direction, reach and kind; a restart in the middle."""
    rng, here = random.Random(seed), tables()
    with Harness(partitions=partitions) as h:
        orders, rates = (h.source(one, table.schema, changes=True) for one, table in here.items())
        outs: dict[str, tuple[Collected, AsOfJoin]] = {name(join): (h.collect(joined(orders, rates, join)), join) for join in JOINS}
        for epoch in range(8):
            # An epoch with one side alone has nothing to hide behind.
            changing = ("rates",) if epoch == 3 else ("orders",) if epoch == 5 else ("orders", "rates")
            h.commit({one: here[one].change(rng, 24) for one in changing})
            if epoch in (2, 5):
                h.restart()
            rows, versions = here["orders"].rows, here["rates"].rows
            wrong = {
                one: (out.rows(), want) for one, (out, join) in outs.items() if out.rows() != (want := join.answer(rows, versions, WIDTH))
            }
            assert not wrong, f"epoch {epoch}"
        assert outs[name(AsOfJoin())][0].rows() == [tuple(map(in_utc, row)) for row in batch(spark, BATCH, here)]
        for one, table in here.items():
            h.commit({one: [("-", row) for row in table.rows]})
        assert not any(out.rows() for out, _ in outs.values())
        assert h.metrics()["dead_letters"] == 0


def test_a_heavy_key_and_only_what_differs_is_sent(spark: SparkSession) -> None:
    """Hundreds of versions among thousands of rows of one key, which take pages; one more changes the rows behind it alone."""
    rng = random.Random(1)
    moments = [NOON + dt.timedelta(seconds=i) for i in range(2000)]
    rows = [("x", moment, 1) for moment in moments]
    versions = [("x", moment, i, "p") for i, moment in enumerate(rng.sample(moments, 400))]
    kinds = [AsOfJoin(direction=direction) for direction in ("backward", "forward", "nearest")]
    with Harness(partitions=1) as h:
        orders, rates = h.source("orders", ORDERS, changes=True), h.source("rates", RATES, changes=True)
        outs = [(h.collect(joined(orders, rates, join)), join) for join in kinds]
        h.commit({"orders": [("+", row) for row in rows]})
        h.commit({"rates": [("+", row) for row in versions]})
        # Each row was taken back and told once, whatever number of versions came.
        assert all(len(out.changes()) <= 3 * len(rows) for out, _ in outs)
        for out, join in outs:
            assert out.rows() == join.answer(rows, versions, WIDTH)
        h.restart()
        at = sorted(version[1] for version in versions)
        more = ("x", at[200] + dt.timedelta(milliseconds=1), 7, "q")
        h.commit({"rates": [("+", more)]})
        for out, join in outs:
            assert out.rows() == join.answer(rows, [*versions, more], WIDTH)
            changed = [change for change in out.changes() if change[0] == 3]
            assert len(changed) == 2 * sum(row[3:] == more[1:] for row in out.rows()) < 80
        h.commit({"rates": [("-", row) for row in [*versions[::2], more]], "orders": [("-", row) for row in rows[::3]]})
        for out, join in outs:
            assert out.rows() == join.answer([row for row in rows if row not in rows[::3]], versions[1::2], WIDTH)


def on_the_way(rng: random.Random, epoch: int, mark: dt.datetime | None, live: list[Row], make: object) -> Changes:
    """Rows around the time of an epoch, some of them late; of those that are not past some go again."""
    changes: Changes = []
    for _ in range(rng.randrange(12)):
        moment = None if rng.random() < 0.04 else NOON + dt.timedelta(minutes=4 * epoch + rng.randrange(-9, 9))
        row = (rng.choice([None, "x", "x", "x", "y"]), moment, *make(rng))  # type: ignore[operator]  # one of the functions below
        late = mark is not None and moment is not None and moment <= mark
        # What meets nothing is sent at once also where rows are sent once, so it is not taken away here.
        gone = [one for one in live if None not in one[:2] and (mark is None or one[1] > mark)]
        if gone and rng.random() < 0.2:
            row = rng.choice(gone)
            live.remove(row)
            changes.append(("-", row))
        else:
            if not late:
                live.append(row)
            changes.append(("+", row))
    return changes


@pytest.mark.parametrize(("partitions", "seed"), [*(pytest.param(n, n, marks=pytest.mark.full) for n in (1, 2)), (3, 3)])
def test_in_event_time(spark: SparkSession, partitions: int, seed: int) -> None:
    """Late rows are told of and left out; closed rows come once; restarts anywhere; nothing is left when all time has passed."""
    rng = random.Random(seed)
    epochs = 9
    with Harness(partitions=partitions) as h:
        marked = {"changes": True, "trusted": True}
        orders = h.source("orders", ORDERS, watermark=("ts", "2 minutes"), **marked)
        rates = h.source("rates", RATES, watermark=("at", "2 minutes"), **marked)
        open_ = {one: (h.collect(joined(orders, rates, one)), Timed(one, WIDTH)) for one in JOINS}
        closed = {one: (h.collect(joined(orders, rates, one, emit="close")), Timed(one, WIDTH)) for one in JOINS}
        late = h.collect(joined(orders, rates, JOINS[0]).output("late"))
        late_versions = h.collect(joined(orders, rates, JOINS[0]).output("late_versions"))
        epoch_times: list[dict[str, list[dt.datetime]]] = []
        live: dict[str, list[Row]] = {"orders": [], "rates": []}
        marks: list[dt.datetime | None] = [None]
        for epoch in range(epochs):
            mark = marks[-1]
            rows = on_the_way(rng, epoch, mark, live["orders"], lambda rng: (rng.randrange(3),))
            versions = on_the_way(rng, epoch, mark, live["rates"], lambda rng: (rng.randrange(3), rng.choice([None, "p"])))
            epoch_times.append({"orders": [row[1] for _, row in rows if row[1]], "rates": [row[1] for _, row in versions if row[1]]})
            marks = list(times(epoch_times, dt.timedelta(minutes=2)).marks)
            h.commit({"orders": rows, "rates": versions})
            for join, (out, model) in open_.items():
                model.epoch(rows, versions, mark)
                assert out.rows() == join.answer(model.rows, model.versions, WIDTH), f"epoch {epoch}, {name(join)}"
            for join, (out, model) in closed.items():
                model.epoch(rows, versions, mark)
                model.close(marks[-1])
                assert out.rows() == in_order(model.sent), f"epoch {epoch}, {name(join)}, closed"
            if rng.random() < 0.4:
                h.restart()
        assert any(mark is not None for mark in marks)
        first = open_[JOINS[0]][1]
        assert late.rows() == in_order(list(first.late.elements()))
        assert late_versions.rows() == in_order(list(first.late_versions.elements()))
        assert first.late and first.late_versions
        late_counts = [(counts["left"]["late"], counts["right"]["late"]) for counts in h.metrics()["inputs"].values()]
        assert sorted(late_counts) == sorted(
            (one.late.total(), one.late_versions.total()) for _, one in [*open_.values(), *closed.values()]
        )
        h.finish()
        for join, (out, model) in closed.items():
            model.finish()
            assert out.rows() == in_order(model.sent), f"the end, {name(join)}"
        assert sum(query.state_keys() for query in h._queries()) == 0


def test_a_closed_row_goes_on_in_event_time(spark: SparkSession) -> None:
    """What is sent once is append only, has event time, and can be handled in its order."""

    class Places(hr.Program):
        n = hr.Value("int", default=0)

        def on_event(self, e: object) -> None:
            self.n.set(self.n.get() + 1)
            hr.emit(pair=self.key.pair, ts=e.ts, rate=e.rate, n=self.n.get())  # type: ignore[attr-defined]

    at = [NOON + dt.timedelta(minutes=i) for i in range(9)]
    with Harness() as h:
        orders = h.source("orders", ORDERS, watermark=("ts", "0 seconds"))
        rates = h.source("rates", RATES, watermark=("at", "0 seconds"))
        out = h.collect(joined(orders, rates, AsOfJoin(), emit="close").key_by("pair").process(Places))
        h.commit({"orders": [("+", ("x", at[3], 1)), ("+", ("x", at[1], 1))], "rates": [("+", ("x", at[2], 5, "p"))]})
        assert out.rows() == [("x", at[1], None, 1)]
        h.restart()
        h.commit({"orders": [("+", ("x", at[5], 1))], "rates": [("+", ("x", at[4], 6, "p"))]})
        assert out.rows() == [("x", at[1], None, 1), ("x", at[3], 5, 2)]
        h.finish()
        assert out.rows() == [("x", at[1], None, 1), ("x", at[3], 5, 2), ("x", at[5], 6, 3)]
        [counts] = [counts for counts in h.metrics()["inputs"].values() if "left" in counts]
        assert counts["left"] == {"filtered": 0, "in": 3, "handled": 3, "late": 0, "dead": 0, "held": 0}


def test_a_condition_between_other_names(spark: SparkSession) -> None:
    """Keys by a condition, of types that differ, with aliases; a time that cannot be computed is a dead letter."""
    with Harness() as h:
        orders = h.source("orders", "code int, day string", changes=True).alias("o")
        rates = h.source("rates", "number bigint, since timestamp", changes=True).alias("r")
        stream = orders.join_asof(rates, on="o.code = r.number", time=("CAST(o.day AS timestamp)", "r.since"))
        out, dead = h.collect(stream), h.collect(orders.output("dead_letter"))
        h.commit({"orders": [("+", (1, "2026-01-01")), ("+", (1, "never"))], "rates": [("+", (1, NOON - dt.timedelta(days=1)))]})
        assert out.rows() == [(1, "2026-01-01", 1, NOON - dt.timedelta(days=1))]
        assert len(dead.rows()) == 1
        h.commit({"orders": [("-", (1, "never"))]})
        assert dead.rows() == []


def test_a_time_is_a_timestamp(spark: SparkSession) -> None:
    orders = hr.read.memory([], "pair string, day date", name="orders")
    rates = hr.read.memory([], "pair string, at timestamp", name="rates")
    priced = orders.join_asof(rates, on="pair", time=("day", "at")).named("priced")
    check_error(
        """
        WRONG_TYPE: priced: the time of the left side is DATE, not a timestamp, in `day`
          at test_join_asof.py:*: priced = orders.join_asof(rates, on="pair", time=("day", "at")).named("priced")
          hint: cast it: CAST(... AS timestamp)
          more: headrace error WRONG_TYPE
        """,
        priced.explain,
    )


def test_for_system_time_is_the_join_of_the_verb(spark: SparkSession) -> None:
    """In SQL, left and inner, over a stream of versions and over the last row of each key, of which each row that came is a version."""
    rng = random.Random(5)
    here = tables()
    marks = {"orders": ("ts", "1 hour"), "rates": ("at", "1 hour")}
    with Harness() as h:
        orders, rates = (h.source(one, table.schema, watermark=marks[one]) for one, table in here.items())
        outs = []
        for how in ("left", "inner"):
            query = f"""SELECT o.pair, o.ts, o.amount, r.at, r.rate, r.place
                FROM orders AS o
                {how} JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.pair = r.pair"""
            wanted = h.collect(joined(orders, rates, AsOfJoin(how)))
            for versions in (rates, rates.upserts("pair")):
                outs.append((h.collect(hr.sql(query, orders=orders, rates=versions)), wanted))
        sums = "SELECT place, sum(amount * rate) AS s FROM orders JOIN rates FOR SYSTEM_TIME AS OF ts ON orders.pair = rates.pair WHERE amount > 1 GROUP BY place"
        grouped = h.collect(hr.sql(sums, orders=orders, rates=rates))
        for _ in range(4):
            h.commit({one: [change for change in table.change(rng, 15) if change[0] == "+"] for one, table in here.items()})
            for out, wanted in outs:
                assert out.rows() == wanted.rows() != []
            by_place: dict[str | None, int | None] = {}
            for row in outs[2][0].rows():
                if (row[2] or 0) > 1:
                    terms = [x for x in (by_place.get(row[5]), None if row[4] is None else row[2] * row[4]) if x is not None]
                    by_place[row[5]] = sum(terms) if terms else None
            assert grouped.rows() == in_order(list(by_place.items()))
            h.restart()


def test_what_for_system_time_cannot_say(spark: SparkSession) -> None:
    orders = hr.read.memory([], ORDERS, name="orders")
    plain = hr.read.memory([], RATES, name="rates")
    rates = plain.watermark("at", "5 minutes")

    def ask(clause: str, versions: hr.Stream = rates) -> str:
        with pytest.raises(HeadraceError) as refused:
            hr.sql(f"SELECT *\nFROM orders o {clause}", orders=orders, rates=versions)
        assert refused.value.code == "BAD_QUERY"
        return f"{refused.value.message}; {refused.value.hint}"

    cure = "orders o LEFT JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.pair = r.pair"
    right = "JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r"
    assert ask(f"FULL {right} ON o.pair = r.pair").startswith("a FULL OUTER join FOR SYSTEM_TIME AS OF cannot be kept up to date at line 2")
    assert ask(f"{right} ON o.pair = r.pair AND r.rate > 1").startswith(
        "a FOR SYSTEM_TIME AS OF join with a condition other than equality of columns"
    )
    assert ask(f"{right} ON o.pair = r.pair AND r.rate > 1").endswith(cure)
    assert ask(f"{right} USING (pair)").startswith("USING in a join FOR SYSTEM_TIME AS OF cannot be kept up to date")
    assert ask("JOIN rates FOR SYSTEM_TIME AS OF r.at AS r ON o.pair = r.pair").startswith(
        "a FOR SYSTEM_TIME AS OF time that is not from the left side"
    )
    assert "line 2, column 48" in ask("JOIN rates FOR SYSTEM_TIME AS OF o.tss AS r ON o.pair = r.pair")
    assert "line 2, column 70" in ask(f"{right} ON o.pair = x.pair")
    assert ask(f"{right} ON o.pair = r.pair", plain).endswith("set a watermark on its source: rates.watermark('at', '5 minutes')")
    verb = "use the verb: orders.join_asof(rates, on='pair', time=('ts', 'at'))"
    assert ask("JOIN rates FOR SYSTEM_TIME AS OF o.ts + INTERVAL 1 DAY AS r ON o.pair = r.pair").endswith(verb)
