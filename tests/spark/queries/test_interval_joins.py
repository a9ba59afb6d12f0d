"""Joins within a span of event time, against a plain model: random rows out of order, random cuts, restarts anywhere."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.plan import Plan, facts
from headrace.testing import Collected, Harness
from headrace.testing.collected import in_order
from tests.models.machine import times
from tests.models.near import Change, IntervalJoin, Row, Rows
from tests.scale import FULL

NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
BIDS, AUCTIONS = "bidder string, ts timestamp, price int", "seller string, opened timestamp, item int"
DELAY = dt.timedelta(seconds=2)
HOWS = ("inner", "left", "right", "full", "semi", "anti")


def second(n: int) -> dt.timedelta:
    return dt.timedelta(seconds=n)


# By how it is written: how much later a bid may be than an auction.
SPANS: dict[str, tuple[dt.timedelta | None, dt.timedelta | None]] = {
    "ts BETWEEN opened - INTERVAL 3 SECONDS AND opened + INTERVAL 5 SECONDS": (second(-3), second(5)),
    "ts - INTERVAL '2' SECOND >= opened AND opened + INTERVAL '6' SECOND >= ts": (second(2), second(6)),
    "opened > ts AND opened <= timestampadd(SECOND, 4, ts)": (second(-4), dt.timedelta(microseconds=-1)),
    "ts = opened + INTERVAL 1 SECOND": (second(1), second(1)),
    "opened <= ts + INTERVAL 2 SECONDS": (second(-2), None),
    "ts < opened + INTERVAL 4 SECONDS": (None, second(4) - dt.timedelta(microseconds=1)),
}
JOINS = [
    (span, join)
    for span, (lower, upper) in SPANS.items()
    for emit in ("changes", "close")
    for how in HOWS
    if (join := IntervalJoin(how, lower, upper, emit)) and (emit == "changes" or all(join.kept(side) is not None for side in join.waiting))
]


def rows_of(rng: random.Random, epoch: int, mark: dt.datetime | None, live: list[Row], changes: bool) -> Iterator[Change]:
    """Rows around the time of an epoch: some late, some twice, some without key or time; some that are there go again, or try to."""
    for _ in range(rng.randrange(9)):
        moment = None if rng.random() < 0.05 else NOON + second(2 * epoch + rng.randrange(-6, 6))
        row = (rng.choice([None, "x", "x", "x", "y"]), moment, rng.randrange(2))
        if changes and live and rng.random() < 0.3:
            row = rng.choice(live)
            if row[1] is None or mark is None or row[1] > mark:
                live.remove(row)
            yield ("-", row)
        else:
            if row[1] is None or mark is None or row[1] > mark:
                live.append(row)
            yield ("+", row)
            if rng.random() < 0.2:
                yield ("+", row)
                if row[1] is None or mark is None or row[1] > mark:
                    live.append(row)


def keys(h: Harness) -> int:
    return sum(query.state_keys() for query in h._queries())


@pytest.mark.parametrize(("partitions", "changes", "ending"), [(1, False, True), (2, True, True), (3, False, False)])
def test_the_answer_is_that_of_a_list_scan(spark: SparkSession, partitions: int, changes: bool, ending: bool) -> None:
    """`ending`: only joins of which all rows are forgotten some time, so that nothing is left in the end."""
    rng = random.Random(partitions)
    possible = [(span, join) for span, join in JOINS if join.ends() or not ending]
    some = rng.sample(possible, 12)  # drawn in either case, so that the rows are the same
    chosen = possible if FULL else some
    with Harness(partitions=partitions) as h:
        marked: dict[str, Any] = {"changes": changes, "trusted": changes}
        bids = h.source("bids", BIDS, watermark=("ts", DELAY), **marked)
        auctions = h.source("auctions", AUCTIONS, watermark=("opened", DELAY), **marked)
        outs: list[tuple[str, IntervalJoin, Collected]] = []
        for span, join in chosen:
            joined = bids.join(auctions, on=f"bidder = seller AND {span}", how=join.how, emit=join.emit)
            outs.append((span, join, h.collect(joined)))
        judged = bids.join(auctions, on=f"bidder = seller AND {next(iter(SPANS))}", how="full")
        late = {} if changes else {name: h.collect(judged.output(name)) for name in ("late", "late_right")}
        sides = {"bids": Rows(), "auctions": Rows()}
        epoch_times: list[dict[str, list[dt.datetime]]] = []
        mark: dt.datetime | None = None

        def check(at: str) -> None:
            left, right = (side.there for side in sides.values())
            wrong = {
                (span, join): (out.rows(), wanted)
                for span, join, out in outs
                if out.rows() != (wanted := in_order(join.answer(left, right, mark)))
            }
            assert not wrong, at

        for epoch in range(8):
            epoch_changes = {
                name: [] if rng.random() < 0.1 else list(rows_of(rng, epoch, mark, list(side.there), changes))
                for name, side in sides.items()
            }
            for name, side in sides.items():
                side.take(epoch_changes[name], mark)
            epoch_times.append({name: [row[1] for _, row in changes if row[1]] for name, changes in epoch_changes.items()})
            mark = list(times(epoch_times, DELAY).marks)[-1]
            h.commit(epoch_changes)
            check(f"epoch {epoch}")
            if rng.random() < 0.3:
                h.restart()
        assert mark is not None and all(side.late for side in sides.values()), "some rows were late"
        for (_, out), side in zip(late.items(), sides.values(), strict=False):
            assert out.rows() == in_order(side.late)
        h.finish()
        mark = dt.datetime.max.replace(tzinfo=dt.UTC) - dt.timedelta(days=1)
        check("the end")
        for _, join, out in outs:
            if not changes and (join.emit == "close" or join.how in ("inner", "semi")):
                assert {sign for _, sign, _ in out.changes()} <= {"+"}
        assert not ending or keys(h) == 0


def test_a_key_is_forgotten_while_time_goes_on(spark: SparkSession) -> None:
    """Rows without a key move the watermark, and an inner join keeps none of them."""
    with Harness() as h:
        bids, auctions = h.source("bids", BIDS, watermark=("ts", DELAY)), h.source("auctions", AUCTIONS, watermark=("opened", DELAY))
        out = h.collect(bids.join(auctions, on=f"bidder = seller AND {next(iter(SPANS))}").select("price", "item"))

        def moved(n: int) -> dict[str, list[Change]]:
            row = (None, NOON + second(n), 0)
            return {"bids": [("+", row)], "auctions": [("+", row)]}

        h.commit({"bids": [("+", ("x", NOON, 1)), ("+", ("x", NOON + second(2), 2))], "auctions": [("+", ("x", NOON, 3))]})
        assert keys(h) == 1
        h.commit(moved(6))
        h.restart()
        h.commit({"auctions": [("+", ("x", NOON + second(5), 4))]})
        assert out.rows() == [(1, 3), (2, 3), (2, 4)]
        h.commit(moved(60))
        assert keys(h) == 0


@pytest.mark.full
def test_without_keys(spark: SparkSession) -> None:
    """Rows that only have to be near each other: each auction is in all shards, and told of once when it is late."""
    rng = random.Random(4)
    span, (lower, upper) = next(iter(SPANS.items()))
    alike = {how: IntervalJoin(how, lower, upper) for how in ("inner", "left", "full", "anti")}
    with Harness(partitions=3) as h:
        bids, auctions = h.source("bids", BIDS, watermark=("ts", DELAY)), h.source("auctions", AUCTIONS, watermark=("opened", DELAY))
        outs = {how: h.collect(bids.join(auctions, on=span, how=how)) for how in alike}
        late = [h.collect(bids.join(auctions, on=span).output(name)) for name in ("late", "late_right")]
        sides = {"bids": Rows(), "auctions": Rows()}
        epoch_times: list[dict[str, list[dt.datetime]]] = []
        mark: dt.datetime | None = None
        for epoch in range(6):
            epoch_changes = {name: [(sign, ("x", *row[1:])) for sign, row in rows_of(rng, epoch, mark, [], False)] for name in sides}
            for name, side in sides.items():
                side.take(epoch_changes[name], mark)
            epoch_times.append({name: [row[1] for _, row in changes if row[1]] for name, changes in epoch_changes.items()})
            mark = list(times(epoch_times, DELAY).marks)[-1]
            h.commit(epoch_changes)
            for how, join in alike.items():
                assert outs[how].rows() == in_order(join.answer(sides["bids"].there, sides["auctions"].there, mark)), f"{how}, {epoch}"
        for out, side in zip(late, sides.values(), strict=True):
            assert out.rows() == in_order(side.late) != []
        h.finish()
        assert keys(h) == 0


QUERIES = {
    "FROM bids b JOIN auctions a ON bidder = seller AND {}": "inner",
    "FROM bids b, auctions a WHERE bidder = seller AND {}": "inner",
    "FROM bids b LEFT JOIN auctions a ON bidder = seller AND {}": "left",
    "FROM auctions a RIGHT JOIN bids b ON bidder = seller AND {}": "left",
}
EXISTENCE = "SELECT b.*, EXISTS (SELECT 1 FROM auctions WHERE bidder = seller AND {}) AS e FROM bids b"


def test_in_sql(spark: SparkSession) -> None:
    """However Spark prints the condition, the join of the query forgets as that of the verb does, and says the same."""
    rng = random.Random(7)
    with Harness() as h:
        bids, auctions = h.source("bids", BIDS, watermark=("ts", DELAY)), h.source("auctions", AUCTIONS, watermark=("opened", DELAY))
        queries: list[tuple[str, IntervalJoin, Collected]] = []
        for span, (lower, upper) in list(SPANS.items())[:4]:
            query, how = rng.choice(list(QUERIES.items()))
            for emit in ("", " EMIT ON WINDOW CLOSE"):
                text = f"SELECT b.*, a.* {query.format(span)}{emit}"
                join = IntervalJoin(how, lower, upper, "close" if emit else "changes")
                queries.append((text, join, h.collect(hr.sql(text, bids=bids, auctions=auctions))))
        span, (lower, upper) = next(iter(SPANS.items()))
        exist = hr.sql(f"{EXISTENCE.format(span)} EMIT ON WINDOW CLOSE", bids=bids, auctions=auctions)
        exists, frame = h.collect(exist), bids.as_dataframe().alias("b").join(auctions.as_dataframe().alias("a"), _on(span), "left_semi")
        queries.append(("a DataFrame", IntervalJoin("semi", lower, upper), h.collect(hr.from_dataframe(frame))))
        sides = {"bids": Rows(), "auctions": Rows()}
        epoch_times: list[dict[str, list[dt.datetime]]] = []
        mark: dt.datetime | None = None
        for epoch in range(6):
            epoch_changes = {name: list(rows_of(rng, epoch, mark, [], False)) for name in sides}
            for name, side in sides.items():
                side.take(epoch_changes[name], mark)
            epoch_times.append({name: [row[1] for _, row in changes if row[1]] for name, changes in epoch_changes.items()})
            mark = list(times(epoch_times, DELAY).marks)[-1]
            h.commit(epoch_changes)
            left, right = sides["bids"].there, sides["auctions"].there
            for text, join, out in queries:
                assert out.rows() == in_order(join.answer(left, right, mark)), f"{text}, {epoch}"
            semi, anti = IntervalJoin("semi", lower, upper), IntervalJoin("anti", lower, upper, "close")
            wanted = [(*row, True) for row in semi.answer(left, right, mark)] + [(*row, False) for row in anti.answer(left, right, mark)]
            assert exists.rows() == in_order(wanted), epoch
        assert {sign for _, sign, _ in exists.changes()} == {"+"}
        h.finish()
        assert keys(h) == 0


def _on(span: str) -> Any:
    from pyspark.sql import functions as F

    return F.expr(f"bidder = seller AND {span}")


@pytest.mark.full
def test_what_stands_behind(spark: SparkSession) -> None:
    """Event time goes on behind such a join: windows over it close, and another join by time forgets."""
    with Harness() as h:
        bids, auctions = h.source("bids", BIDS, watermark=("ts", DELAY)), h.source("auctions", AUCTIONS, watermark=("opened", DELAY))
        near = bids.join(auctions, on=f"bidder = seller AND {next(iter(SPANS))}", how="left")
        counted = near.window(hr.tumble("ts", "10 seconds"), emit="close").group_by("window_start").agg(n="count(*)", met="count(item)")
        again = near.join(
            auctions.rename({"seller": "s", "opened": "o", "item": "i"}),
            on="bidder = s AND o BETWEEN ts AND ts + INTERVAL 5 SECONDS",
            how="anti",
            emit="close",
        )
        outs = [h.collect(stream) for stream in (counted.select("n", "met"), again.select("price", "item"))]
        h.commit({"bids": [("+", ("x", NOON + second(n), n)) for n in (1, 6)], "auctions": [("+", ("x", NOON + second(2), 1))]})
        assert [out.rows() for out in outs] == [[], []]
        h.commit({"bids": [("+", ("x", NOON + second(14), 14))], "auctions": [("+", ("x", NOON + second(14), 2))]})
        # The watermark is at 12:00:12: a bid of the window may meet an auction that opened 3 seconds later, until 12:00:13.
        assert [out.rows() for out in outs] == [[], [(6, 1)]]
        h.restart()
        h.commit({"bids": [("+", ("x", NOON + second(15), 15))], "auctions": [("+", ("x", NOON + second(15), 3))]})
        assert [out.rows() for out in outs] == [[(2, 2)], [(6, 1)]]
        h.finish()
        assert {sign for out in outs for _, sign, _ in out.changes()} == {"+"}
        assert keys(h) == 0


def test_windows_of_both_sides_are_told_of_once(spark: SparkSession) -> None:
    """A join whose keys close sends all of a group when it does, also where its windows send each change."""
    with Harness() as h:
        sides = [h.source(name, "k string, ts timestamp", watermark=("ts", DELAY)) for name in ("a", "b")]
        left, right = (side.window(hr.tumble("ts", "10 seconds")).select("k", "window_end") for side in sides)
        joined = left.join(right.rename({"k": "l", "window_end": "e"}), on="k = l AND window_end = e", how="left", emit="close")
        out = h.collect(joined.select("k", "l"))
        h.commit({"a": [("+", ("x", NOON)), ("+", ("y", NOON))], "b": [("+", ("x", NOON))]})
        assert out.rows() == []
        h.commit({name: [("+", ("z", NOON + second(30)))] for name in ("a", "b")})
        assert sorted(out.changes(), key=str) == [(2, "+", ("x", "x")), (2, "+", ("y", None))]


def test_the_state_can_be_looked_at(spark: SparkSession, tmp_path: Path) -> None:
    many = [("x", NOON + dt.timedelta(milliseconds=n), n) for n in range(600)]
    bids = hr.read.memory(many, BIDS, name="bids").watermark("ts", DELAY)
    auctions = hr.read.memory([("x", NOON, 1), ("y", NOON, 1), ("y", NOON, 1)], AUCTIONS, name="auctions").watermark("opened", DELAY)
    near = bids.join(auctions, on=f"bidder = seller AND {next(iter(SPANS))}", how="full").named("near")
    hr.job("near", near.write.memory(name="out")).run(checkpoint=tmp_path, flush=False, progress=False, partitions=1)
    state = hr.state(tmp_path)
    assert state.query("SELECT count(*), min(price), max(price), sum(partners) FROM near_left").rows() == [(600, 0, 599, 600)]
    rows = state.query("SELECT seller, item, count, partners FROM near_right ORDER BY seller").rows()
    assert rows == [("x", 1, 1, 600), ("y", 1, 2, 0)]


def test_explain_tells_what_is_kept(spark: SparkSession) -> None:
    bids = hr.read.memory([], BIDS, name="bids").watermark("ts", "5 minutes")
    auctions = hr.read.memory([], AUCTIONS, name="auctions").watermark("opened", "5 minutes")
    texts = {}
    for query in QUERIES:
        stream = hr.sql(f"SELECT price {query.format(next(iter(SPANS)))}", bids=bids, auctions=auctions)
        plan = Plan.of("job", [stream.write.memory(name="out", mode="changes")._use()])
        texts[query] = [fact.text for fact in facts(plan, "state").values()]
    expected = "released: left rows when the watermark passes ts + 3 seconds, right rows when it passes opened + 5 seconds"
    assert {text.partition(";")[0] for [text] in texts.values()} == {expected}
