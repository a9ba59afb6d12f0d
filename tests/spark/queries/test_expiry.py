"""Joins, aggregates and first rows that forget groups to which no row has come for a while, against a plain model of what they remember."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.analysis.expiry import require_expiry
from headrace.ops.operator import operator
from headrace.plan import Plan
from headrace.testing import Harness
from headrace.testing.collected import in_order
from tests.models.forgetting import Forgetting, Rows
from tests.models.windows import BEGIN, SECOND, Watermark
from tests.scale import FULL

AFTER, EXPIRES = 20 * SECOND, "20 seconds"
CHARGES, REFUNDS = "card string, ts timestamp, amount int", "c string, t timestamp, a int"
Answer = Callable[..., Rows]


def by_card(side: int, row: Any) -> str:
    return str(row[0])


def summed(rows: Rows) -> Rows:
    amounts = [row[2] for row in rows.elements()]
    return Counter([(next(iter(rows))[0], len(amounts), sum(amounts), max(amounts))]) if amounts else Counter()


def first(count: int, order: Callable[[Any], Any]) -> Answer:
    return lambda rows: Counter(sorted(rows.elements(), key=order)[:count])


def largest(rows: Rows) -> Rows:
    most = max((row[2] for row in rows.elements()), default=0)
    return Counter(row for row in rows.elements() if row[2] == most)


def joined(how: str, meets: Callable[[Any, Any], bool]) -> Answer:
    def answer(left: Rows, right: Rows) -> Rows:
        mine, theirs = list(left.elements()), list(right.elements())
        pairs = [(*m, *t) for m in mine for t in theirs if meets(m, t)]
        met = [m for m in mine if any(meets(m, t) for t in theirs)]
        alone = [m for m in mine if not any(meets(m, t) for t in theirs)]
        if how in ("semi", "anti"):
            return Counter(met if how == "semi" else alone)
        pairs += [(*m, None, None, None) for m in alone] if how != "inner" else []
        if how == "full":
            pairs += [(None, None, None, *t) for t in theirs if not any(meets(m, t) for m in mine)]
        return Counter(pairs)

    return answer


def queries(charges: hr.Stream, refunds: hr.Stream) -> dict[str, tuple[hr.Stream, Forgetting, tuple[str, ...]]]:
    """Streams over both sources, the first of which also takes rows away, with the models of what they say and the sources of their sides."""
    aggregates = "count(*) AS n, sum(amount) AS s, max(amount) AS m"
    spent = charges.group_by("card", expires=EXPIRES).agg(n="count(*)", s="sum(amount)", m="max(amount)")
    by_hint = f"SELECT /*+ EXPIRES('{EXPIRES}') */ card, {aggregates} FROM t GROUP BY card HAVING count(*) > 0"
    top = charges.top(2, by="amount desc", per="card", expires=EXPIRES)
    tied = charges.top(1, by="amount desc", per="card", ties="rank", expires=EXPIRES)
    newest = charges.dedupe(on="card", keep="last", by=["amount", "ts"], expires=EXPIRES)
    seen = refunds.select("c", "a").distinct(expires=EXPIRES)
    one = Forgetting(AFTER, lambda side, row: row[:1] + row[2:], lambda rows: Counter({(r[0], r[2]): 1 for r in rows.elements()}))
    by_name: dict[str, tuple[hr.Stream, Forgetting, tuple[str, ...]]] = {
        "aggregate": (spent, Forgetting(AFTER, by_card, summed), ("charges",)),
        "aggregate of SQL": (hr.sql(by_hint, t=charges), Forgetting(AFTER, by_card, summed), ("charges",)),
        "first": (top, Forgetting(AFTER, by_card, first(2, lambda r: (-r[2], *r))), ("charges",)),
        "tied": (tied, Forgetting(AFTER, by_card, largest), ("charges",)),
        "last": (newest, Forgetting(AFTER, by_card, first(1, lambda r: (-r[2], -r[1].timestamp(), *r))), ("charges",)),
        "distinct": (seen, one, ("refunds",)),
    }
    both = ("charges", "refunds")
    for how in ("inner", "left", "full", "semi", "anti"):
        for more, meets in (("", lambda m, t: True), (" AND amount > a", lambda m, t: m[2] > t[2])):
            stream = charges.join(refunds, on=f"card = c{more}", how=how, expires=EXPIRES)
            by_name[f"{how} join{more}"] = (stream, Forgetting(AFTER, by_card, joined(how, meets), 2), both)
    turned = refunds.join(charges, on="c = card", how="full", expires=EXPIRES)
    by_name["turned"] = (turned, Forgetting(AFTER, by_card, joined("full", lambda m, t: True), 2), ("refunds", "charges"))
    text = f"SELECT /*+ EXPIRES('{EXPIRES}') */ t.*, u.* FROM t LEFT JOIN u ON t.card = u.c WHERE t.amount >= 0"
    by_name["join of SQL"] = (hr.sql(text, t=charges, u=refunds), Forgetting(AFTER, by_card, joined("left", lambda m, t: True), 2), both)
    return by_name


class RandomRows:
    """Random rows of a source; with `takes` some are taken away again, now or long after."""

    def __init__(self, rng: random.Random, takes: bool) -> None:
        self.rng = rng
        self.takes = takes
        self.there: list[Any] = []

    def epoch(self, now: int) -> list[tuple[int, Any]]:
        changes = []
        for _ in range(self.rng.randrange(5)):
            if self.takes and self.there and self.rng.random() < 0.4:
                changes.append((-1, self.there.pop(self.rng.randrange(len(self.there)))))
            else:
                back = self.rng.choice([0, 0, 1, 4])
                time = BEGIN + (now - back) * SECOND + self.rng.randrange(3) * dt.timedelta(milliseconds=1)
                row = (self.rng.choice("abcdef"), time, self.rng.randrange(4))
                changes.append((1, row))
                self.there.append(row)
        return changes


def keys(h: Harness) -> int:
    return sum(query.state_keys() for query in h._queries())


@pytest.mark.parametrize("seed", range(20 if FULL else 1))
def test_against_a_model(spark: SparkSession, seed: int) -> None:
    rng = random.Random(seed)
    generators = {"charges": RandomRows(rng, takes=True), "refunds": RandomRows(rng, takes=False)}
    with Harness(partitions=1 + seed % 3) as h:
        charges = h.source("charges", CHARGES, watermark=("ts", "5 seconds"), changes=True, trusted=True)
        refunds = h.source("refunds", REFUNDS, watermark=("t", "5 seconds"))
        cases = queries(charges, refunds)
        outs = {name: h.collect(stream) for name, (stream, _, _) in cases.items()}
        late = {name: h.collect(cases[name][0].output("late").changes()) for name in ("aggregate", "first", "full join")}
        late["turned"] = h.collect(cases["turned"][0].output("late_right").changes())
        mark = Watermark({"charges": 5, "refunds": 5})
        now, restarts = 50, {rng.randrange(10) for _ in range(2)}
        for number in range(10):
            now += rng.choice([1, 3, 8, 8, 15, 40])
            rows = {name: one.epoch(now) for name, one in generators.items()}
            h.commit({name: [("+" if weight > 0 else "-", row) for weight, row in weighted] for name, weighted in rows.items()})
            for _, model, sources in cases.values():
                changes = [(side, weight, row) for side, name in enumerate(sources) for weight, row in rows[name]]
                model.epoch(changes, mark.at)
            for name, weighted in rows.items():
                if weighted:
                    mark.see(name, [row[1] for _, row in weighted])
            mark.move()
            for name, (_, model, _) in cases.items():
                model.epoch([], mark.at)
                assert outs[name].rows() == in_order(model.rows()), f"{name}, commit {number}"
            assert keys(h) == sum(len(model.groups) for _, model, _ in cases.values()), f"keys, commit {number}"
            if number in restarts:
                h.restart()
        for name, out in late.items():
            side = cases[name][2].index("charges")
            expected = [(*row, "delete") for row in cases[name][1].late[side].elements()]
            assert out.rows() == in_order(expected), name
        if seed < 2:  # what is tried each time tries it all
            assert all(model.forgotten for _, model, _ in cases.values()) and cases["aggregate"][1].late[0].total()
        before = {name: out.rows() for name, out in outs.items()}
        h.finish()
        assert {name: out.rows() for name, out in outs.items()} == before
        assert keys(h) == 0
        counts = [one for inputs in h.metrics()["inputs"].values() for one in inputs.values()]
        assert all(one["in"] == one["handled"] + one["late"] for one in counts)
        assert sum(one["late"] for one in counts) >= sum(bool(rows.total()) for _, model, _ in cases.values() for rows in model.late)


def test_rows_of_the_end_find_what_is_there(spark: SparkSession) -> None:
    """The windows that the end of the input closes bring their rows to groups that are then forgotten, and not before."""
    with Harness() as h:
        charges = h.source("charges", CHARGES, watermark=("ts", "5 seconds"))
        windowed = charges.window(hr.tumble("ts", "10 seconds"), emit="close").group_by("window_end", "card").agg(s="sum(amount)")
        total = h.collect(windowed.group_by("card", expires="1 minute").agg(total="sum(s)"))
        h.commit({"charges": [("+", ("a", BEGIN, 1))]})
        h.commit({"charges": [("+", ("a", BEGIN + 50 * SECOND, 2))]})
        assert total.rows() == [("a", 1)]
        h.finish()
        assert total.rows() == [("a", 3)]
        assert keys(h) == 0


def test_an_upsert_of_what_has_begun_anew(spark: SparkSession) -> None:
    """By key, a group that begins anew takes the place of the forgotten one; without a key both rows are there."""
    with Harness() as h:
        charges = h.source("charges", CHARGES, watermark=("ts", "0 seconds"))
        spent = charges.group_by("card", expires="1 minute").agg(spent="sum(amount)")
        rows, changes = h.collect(spent), h.collect(spent.upserts("card").changes())
        h.commit({"charges": [("+", ("a", BEGIN, 5))]})
        h.commit({"charges": [("+", ("b", BEGIN + 90 * SECOND, 1))]})
        h.commit({"charges": [("+", ("a", BEGIN + 91 * SECOND, 2))]})
        assert rows.rows() == [("a", 2), ("a", 5), ("b", 1)]
        assert changes.rows() == [("a", 2, "insert"), ("a", 5, "insert"), ("b", 1, "insert")]


def test_a_row_that_comes_and_goes_within_an_epoch_keeps_its_group(spark: SparkSession) -> None:
    with Harness(partitions=1) as h:
        charges = h.source("charges", CHARGES, watermark=("ts", "0 seconds"), changes=True, trusted=True)
        total = h.collect(charges.group_by("card", expires="1 minute").agg(total="sum(amount)"))
        h.commit({"charges": [("+", ("a", BEGIN, 1))]})
        h.commit({"charges": [("+", ("b", BEGIN + 50 * SECOND, 1))]})
        h.commit({"charges": [("+", ("a", BEGIN, 7)), ("-", ("a", BEGIN, 7))] * 3})
        h.commit({"charges": [("+", ("b", BEGIN + 90 * SECOND, 1))]})
        h.commit({"charges": [("+", ("a", BEGIN + 91 * SECOND, 2))]})
        assert total.rows() == [("a", 3), ("b", 2)]


def test_of_equal_rows_taken_away_those_are_late_that_are_not_there(spark: SparkSession) -> None:
    with Harness(partitions=1) as h:
        charges = h.source("charges", CHARGES, watermark=("ts", "0 seconds"), changes=True, trusted=True)
        stream = charges.group_by("card", expires="1 minute").agg(n="count(*)")
        late = h.collect(stream.output("late").changes())
        h.collect(stream)
        row = ("a", BEGIN, 1)
        h.commit({"charges": [("+", row), ("+", row), ("+", ("a", BEGIN, 2))]})
        h.commit({"charges": [("-", row)] * 5})
        assert late.rows() == in_order([(*row, "delete")] * 3)
        (counts,) = (one["input"] for name, one in h.metrics()["inputs"].items() if name.startswith("aggregate"))
        assert (counts["in"], counts["handled"], counts["late"]) == (8, 5, 3)


def expiring(stream: hr.Stream) -> list[tuple[str, int]]:
    """The operators of a stream, each with after how many seconds it forgets; 0: it does not."""
    plan = Plan.of("job", [stream.write.memory(name="out", mode="changes")._use()])
    require_expiry(plan)
    operators = [node for node in plan.nodes.values() if node.op in ("join", "aggregate")]
    return sorted((getattr(node, "how", node.op), (operator(node).forgets_after or 0) // 1000) for node in operators)


def test_its_state_is_shown_as_that_of_any_other(spark: SparkSession, tmp_path: Path) -> None:
    rows = hr.read.memory([("a", BEGIN, 1), ("a", BEGIN, 3), ("b", BEGIN, 5)], CHARGES, name="rows").watermark("ts", "0 seconds")
    others = hr.read.memory([("a", BEGIN, 1)], REFUNDS, name="others")
    ends = (
        rows.group_by("card", expires="1 day").agg(s="sum(amount)").named("sums"),
        rows.select("card", "amount").top(1, by="amount desc", per="card", expires="1 day").named("top"),
        rows.select("card").join(others.select("c"), on="card = c", expires="1 day").named("met"),
    )
    job = hr.job("forgets", *(end.write.memory() for end in ends))
    job.run(checkpoint=tmp_path / "state", flush=False, progress=False)
    state = hr.state(tmp_path / "state")
    assert state.table("sums").rows() == [(("a",), 2, 4), (("b",), 1, 5)]
    assert state.table("top").rows() == [(("a",), "a", 3, 1), (("b",), "b", 5, 1)]
    assert {row[0] for name in state.tables if name.startswith("met") for row in state.table(name).rows()} == {("a",), ("b",)}


HINTS = {
    "SELECT /*+ EXPIRES('1 day') */ DISTINCT card FROM t": [("aggregate", 86400)],
    "SELECT /*+ expires('2 s') */ card, count(*) AS n FROM (SELECT DISTINCT card, amount FROM t) d JOIN u USING (card) "
    "WHERE EXISTS (SELECT 1 FROM u x WHERE x.card = d.card) AND d.amount > 1 GROUP BY card ORDER BY n": [
        ("aggregate", 0),
        ("aggregate", 2),
        ("inner", 2),
        ("semi", 0),
    ],
    "WITH d AS (SELECT /*+ EXPIRES('1 s') */ card, max(amount) AS m FROM t GROUP BY ALL) SELECT * FROM d RIGHT JOIN u ON d.card = u.card": [
        ("aggregate", 1),
        ("left", 0),
    ],
    "SELECT /*+ EXPIRES('1 s'), BROADCAST(u) */ t.card FROM t JOIN u ON t.card = u.card JOIN u AS v ON v.card = t.card": [
        ("inner", 1),
        ("inner", 1),
    ],
    "SELECT /*+ EXPIRES('1 s') */ t.card FROM t, u AS x, u AS v WHERE t.card = v.card AND v.card = x.card": [("inner", 1), ("inner", 1)],
    "SELECT card FROM u WHERE card IN (SELECT /*+ EXPIRES('3 s') */ card FROM t GROUP BY ROLLUP(card))": [("aggregate", 3), ("semi", 0)],
    "SELECT /*+ EXPIRES('1 s') */ card, count(*) FILTER (WHERE amount > 1), count(DISTINCT amount) FROM t GROUP BY card HAVING max(amount) > 2": [
        ("aggregate", 1)
    ],
}


@pytest.mark.parametrize("query", HINTS)
def test_which_operators_a_hint_is_for(spark: SparkSession, query: str) -> None:
    charges = hr.read.memory([], "card string, ts timestamp, amount int", name="t").watermark("ts", "5 minutes")
    cards = hr.read.memory([], "card string", name="u")
    assert expiring(hr.sql(query, t=charges, u=cards)) == HINTS[query]
