"""Pairs of versions of a job, one for each kind of edit. The tests of deploys go through all of them: `test_rebuild.py` with a job that was
stopped, `test_deploy_running.py` in mid-stream, `tests/faults/test_kill_pairs.py` with kills.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import headrace as hr
from tests.spark.engine.jobs import lines
from tests.spark.engine.test_deploy import moment
from tests.spark.engine.test_deploy_cells import all_kinds

ROWS = "k int, v int, ts timestamp"
PRICES = "k int, p int, ts timestamp"
READ = 74
"""The rows and prices of a part."""


TABLES = {"old": 2, "new": 3}
"""Tables of countries, and how many each has."""


def add(folder: Path, part: int) -> None:
    """The input of a part, half an hour each. No two rows have the same time."""
    chance = random.Random(part)
    start = part * 1800
    rows = [
        {"k": chance.randrange(9), "v": chance.randrange(50), "ts": f"{moment(start + i * 30 + chance.randrange(90))}.{i:03}"}
        for i in range(60)
    ]
    prices = [{"k": chance.randrange(9), "p": chance.randrange(10), "ts": f"{moment(start + i * 120)}.9"} for i in range(14)]
    more = [{"k": chance.randrange(9), "v": chance.randrange(50), "ts": f"{moment(start + i * 300)}.8"} for i in range(6)]
    for name, records in (("more", more), ("rows", rows), ("prices", prices)):
        (folder / name).mkdir(parents=True, exist_ok=True)
        fresh = folder / name / f".{part}"
        fresh.write_text("".join(json.dumps(record) + "\n" for record in records))
        fresh.rename(folder / name / f"{part}.json")
    for name, number in TABLES.items():
        (folder / f"{name}.json").write_text("".join(json.dumps({"k": k, "country": f"c{k % number}"}) + "\n" for k in range(9)))


def read(folder: Path, name: str, schema: str, delay: str = "5 minutes", *, follow: bool = False) -> hr.Stream:
    return hr.read.files(folder / name, format="json", schema=schema, name=name, follow=follow).watermark("ts", delay)


def held(folder: Path) -> dict[str, int]:
    """What a reader of the rows or changes in a folder has at the end."""
    rows: Counter[str] = Counter()
    for row in lines(folder):
        word = row.pop("_change", "insert")
        rows[json.dumps(row, sort_keys=True)] += 1 if word in ("insert", "update_after") else -1
    assert min(rows.values(), default=0) >= 0, rows
    return {row: n for row, n in rows.items() if n}


@dataclass(frozen=True)
class Shop:
    """The places of a version: it reads below `folder` and writes below `out`. `delay`: that of its watermarks."""

    folder: Path
    out: Path
    delay: str
    follow: bool

    def read(self, name: str, schema: str) -> hr.Stream:
        return read(self.folder, name, schema, self.delay, follow=self.follow)

    @cached_property
    def rows(self) -> hr.Stream:
        return self.read("rows", ROWS)

    @cached_property
    def prices(self) -> hr.Stream:
        return self.read("prices", PRICES)

    @cached_property
    def more(self) -> hr.Stream:
        return self.read("more", ROWS)

    def write(self, stream: hr.Stream, name: str = "view", mode: str = "changes", *, place: str | None = None) -> Any:
        return stream.write.files(self.out / (place or name), format="json", mode=mode, name=f"{name}_out")


class Tally(hr.Program):
    """How many rows a key has had. It can only go on: nobody knows the order in which the rows arrived."""

    n = hr.Value("int", default=0)

    def on_event(self, e: Any) -> None:
        self.n.set(self.n.get() + 1)
        hr.emit(k=self.key.k, n=self.n.get())


KEPT = {"stays": {"stays"}, "joined": {"both", "joined"}, "tally": {"tally"}}
"""The operators of the views that stay."""

BESIDE: Mapping[str, Callable[[Shop], Any]] = {
    "stays": lambda shop: shop.write(shop.rows.group_by("k").agg(n="count(*)").named("stays"), "stays"),
    "joined": lambda shop: shop.write(
        shop.rows.join(shop.prices.select(key="k", p="p"), on="k = key").named("both").group_by("k").agg(n="count(*)").named("joined"),
        "joined",
    ),
    "tally": lambda shop: shop.write(shop.rows.key_by("k").process(Tally, order="arrival").named("tally"), "tally", "append"),
}
"""Views that stay, in the same queries as the ones that change: operators of queries, and a program."""

Version = str | Callable[[Shop], Any]
"""A view in SQL over rows and prices, or a function that returns a sink or several."""

AGAIN = "again"
"""Something is computed again from the rows read so far: the rows of a sink, the state of an operator."""
MOVES = "moves"
"""All state is of use, and moves or is converted."""
STARTS = "starts"
"""A start accepts the version, so there is nothing to deploy."""


@dataclass(frozen=True)
class Pair:
    """Two versions of a job, and what a deploy of the second does.

    `kept`: the operators of its views, by name, that keep their state. `how`: one of `AGAIN`, `MOVES`, `STARTS`. `refused`: the code of
    the error with which the deploy is refused; `refused_running`: with which it is refused in mid-stream. `goes_on`: the sinks
    that are not corrected and so not as from the start, because the user says so with `on_change`, or only what a program sends has changed.
    """

    before: Version
    after: Version
    kept: tuple[str, ...] = ()
    how: str = AGAIN
    refused: str = ""
    refused_running: str = ""
    on_change: Mapping[str, str] = field(default_factory=dict)
    goes_on: tuple[str, ...] = ()
    partitions: int | None = None
    delays: tuple[str, str] = ("5 minutes", "5 minutes")
    beside: tuple[str, ...] = tuple(BESIDE)
    reads_new: bool = False

    def old(self, folder: Path, out: Path, *, follow: bool = False) -> hr.Job:
        return self._job(self.before, Shop(folder, out, self.delays[0], follow))

    def new(self, folder: Path, out: Path, *, follow: bool = False) -> hr.Job:
        return self._job(self.after, Shop(folder, out, self.delays[1], follow))

    def _job(self, version: Version, shop: Shop) -> hr.Job:
        made = shop.write(hr.sql(version, rows=shop.rows, prices=shop.prices)) if isinstance(version, str) else version(shop)
        sinks = made if isinstance(made, Sequence) else [made]
        return hr.job("shop", *sinks, *(BESIDE[name](shop) for name in self.beside))


def check_equal(pair: Pair, out: Path, afresh: Path) -> None:
    """Every sink of the new version holds what it would hold if that had always run, for a reader with the columns of that version."""
    for place in sorted(afresh.iterdir()):
        if place.name not in pair.goes_on:
            columns = sorted({name for row in lines(place) for name in row if name != "_change"})
            assert _table(out / place.name, columns) == _table(place, columns), place.name


def sums(pair: Pair, out: Path) -> list[int]:
    """The sum of column `s` in each view that goes on. What a version adds to it does not depend on the version before."""
    return [sum(s * n for (s,), n in _table(out / name, ["s"]).items()) for name in pair.goes_on]


def _table(folder: Path, columns: Sequence[str]) -> dict[tuple[Any, ...], int]:
    rows: Counter[tuple[Any, ...]] = Counter()
    for row in lines(folder):
        rows[tuple(map(row.get, columns))] += 1 if row.get("_change", "insert") in ("insert", "update_after") else -1
    assert min(rows.values(), default=0) >= 0, rows
    return {row: n for row, n in rows.items() if n}


def view(build: Callable[[Shop], hr.Stream]) -> Version:
    """A version with one view, in Python."""
    return lambda shop: shop.write(build(shop))


WINDOW = "SELECT window.start AS began, k, count(*) AS n, sum(v) AS s FROM rows GROUP BY k, window(ts, '{}')"
TOP = "SELECT k, v, place FROM (SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY v DESC, ts) AS place FROM rows) WHERE place <= {}"

SQL = {
    "filter": Pair("SELECT k, sum(v) AS s FROM rows WHERE v > 10 GROUP BY k", "SELECT k, sum(v) AS s FROM rows WHERE v > 20 GROUP BY k"),
    "no filter": Pair("SELECT k, sum(v) AS s FROM rows WHERE v > 10 GROUP BY k", "SELECT k, sum(v) AS s FROM rows GROUP BY k"),
    "plain filter": Pair("SELECT k, v FROM rows WHERE v > 10", "SELECT k, v FROM rows WHERE v <= 30"),
    "expression": Pair("SELECT k, v FROM rows", "SELECT k, v + 1 AS v FROM rows"),
    "aggregate": Pair("SELECT k, sum(v) AS s FROM rows GROUP BY k", "SELECT k, max(v) AS s FROM rows GROUP BY k"),
    "one more aggregate": Pair("SELECT k, sum(v) AS s, 0L AS n FROM rows GROUP BY k", "SELECT k, sum(v) AS s, count(*) AS n FROM rows GROUP BY k"),
    "group": Pair("SELECT k AS g, count(*) AS n FROM rows GROUP BY k", "SELECT v % 7 AS g, count(*) AS n FROM rows GROUP BY v % 7"),
    "finer group": Pair("SELECT k, 0 AS o, count(*) AS n FROM rows GROUP BY k", "SELECT k, v % 2 AS o, count(*) AS n FROM rows GROUP BY k, v % 2"),
    "having": Pair("SELECT k, sum(v) AS s FROM rows GROUP BY k HAVING sum(v) > 200", "SELECT k, sum(v) AS s FROM rows GROUP BY k HAVING sum(v) > 400", ("aggregate(rows)",)),
    "filter of a group": Pair("SELECT k, sum(v) AS s FROM rows GROUP BY k HAVING k > 5", "SELECT k, sum(v) AS s FROM rows GROUP BY k HAVING k > 2"),
    "no filter of a group": Pair("SELECT k, sum(v) AS s FROM rows GROUP BY k HAVING k > 5", "SELECT k, sum(v) AS s FROM rows GROUP BY k"),
    "no top": Pair(TOP.format(3), TOP.format(99).replace("<= 99", "IS NOT NULL")),
    "after the aggregate": Pair("SELECT k, sum(v) AS s FROM rows GROUP BY k", "SELECT k, sum(v) * 2 AS s FROM rows GROUP BY k"),
    "distinct": Pair("SELECT k, v % 5 AS v FROM rows", "SELECT DISTINCT k, v % 5 AS v FROM rows"),
    "not distinct": Pair("SELECT DISTINCT k, v % 5 AS v FROM rows", "SELECT k, v % 5 AS v FROM rows"),
    "join": Pair("SELECT r.k, v, 0 AS p FROM rows r", "SELECT r.k, v, p FROM rows r JOIN prices q ON r.k = q.k AND v > 30"),
    "no join": Pair("SELECT r.k, v, p FROM rows r JOIN prices q ON r.k = q.k", "SELECT k, v, 0 AS p FROM rows"),
    "join key": Pair("SELECT r.k, v, p FROM rows r JOIN prices q ON r.k = q.k", "SELECT r.k, v, p FROM rows r JOIN prices q ON r.v = q.k"),
    "left join": Pair("SELECT r.k, v, p FROM rows r JOIN prices q ON r.v = q.p", "SELECT r.k, v, p FROM rows r LEFT JOIN prices q ON r.v = q.p"),
    "full join": Pair("SELECT r.k, v, p FROM rows r LEFT JOIN prices q ON r.v = q.p", "SELECT r.k, v, p FROM rows r FULL JOIN prices q ON r.v = q.p"),
    "semi join": Pair("SELECT k, v FROM rows LEFT SEMI JOIN prices q ON v = q.p", "SELECT k, v FROM rows LEFT ANTI JOIN prices q ON v = q.p"),
    "condition of a join": Pair("SELECT r.k, v, p FROM rows r JOIN prices q ON r.k = q.k AND v > p", "SELECT r.k, v, p FROM rows r JOIN prices q ON r.k = q.k AND v < p"),
    "without keys": Pair("SELECT v, p FROM rows r JOIN prices q ON v < p", "SELECT v, p FROM rows r JOIN prices q ON v + 1 < p"),
    "window": Pair(WINDOW.format("10 minutes"), WINDOW.format("15 minutes")),
    "sliding": Pair(WINDOW.format("10 minutes"), WINDOW.format("10 minutes', '5 minutes")),
    "top": Pair(TOP.format(3), TOP.format(5)),
    "fewer": Pair(TOP.format(5), TOP.format(2)),
    "session": Pair(
        "SELECT session_window.start AS began, k, count(*) AS n FROM rows GROUP BY k, session_window(ts, '3 minutes')",
        "SELECT session_window.start AS began, k, count(*) AS n FROM rows GROUP BY k, session_window(ts, '8 minutes')",
    ),
    "level inserted": Pair(
        "SELECT n, count(*) AS keys FROM (SELECT k, count(*) AS n FROM rows GROUP BY k) GROUP BY n",
        "SELECT n, count(*) AS keys FROM (SELECT k, count(*) AS n FROM (SELECT DISTINCT k, v FROM rows) GROUP BY k) GROUP BY n",
    ),
    "level removed": Pair(
        "SELECT n, count(*) AS keys FROM (SELECT k, count(*) AS n FROM (SELECT DISTINCT k, v FROM rows) GROUP BY k) GROUP BY n",
        "SELECT n, count(*) AS keys FROM (SELECT k, count(*) AS n FROM rows GROUP BY k) GROUP BY n",
    ),
    "above": Pair(
        "SELECT n, count(*) AS keys FROM (SELECT k, count(*) AS n FROM rows GROUP BY k) GROUP BY n",
        "SELECT n, sum(k) AS keys FROM (SELECT k, count(*) AS n FROM rows GROUP BY k) GROUP BY n",
        ("aggregate(rows)",),
    ),
    "union": Pair("SELECT k, v FROM rows", "SELECT k, v FROM rows UNION ALL SELECT k, p AS v FROM prices"),
    "except": Pair("SELECT k FROM rows EXCEPT SELECT p FROM prices", "SELECT k FROM rows INTERSECT SELECT p FROM prices"),
    "all rows": Pair("SELECT count(*) AS n, 0L AS s FROM rows", "SELECT count(*) AS n, sum(v) AS s FROM rows"),
    "rank": Pair(
        "SELECT k, v, rank() OVER (PARTITION BY k ORDER BY v) AS r FROM rows", "SELECT k, v, dense_rank() OVER (PARTITION BY k ORDER BY v) AS r FROM rows"
    ),
    "lag": Pair(
        "SELECT k, v, sum(v) OVER (PARTITION BY k ORDER BY ts, v) AS r FROM rows", "SELECT k, v, lag(v) OVER (PARTITION BY k ORDER BY ts, v) AS r FROM rows"
    ),
    "source": Pair("SELECT k, count(*) AS n FROM rows GROUP BY k", "SELECT k, count(*) AS n FROM prices GROUP BY k"),
    "subquery": Pair(
        "SELECT k, v FROM rows WHERE v > (SELECT avg(v) FROM rows)", "SELECT k, v FROM rows WHERE v > (SELECT max(p) FROM prices)"
    ),
}  # fmt: skip

RUNNING = "SELECT k, v, sum(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN {} PRECEDING AND CURRENT ROW) AS r FROM rows"

SQL_MORE = {
    "having is new": Pair("SELECT k, sum(v) AS s FROM rows GROUP BY k", "SELECT k, sum(v) AS s FROM rows GROUP BY k HAVING count(*) > 8"),
    "distinct in an aggregate": Pair("SELECT k, count(v) AS n FROM rows GROUP BY k", "SELECT k, count(DISTINCT v) AS n FROM rows GROUP BY k"),
    "filter of an aggregate": Pair(
        "SELECT k, count(*) FILTER (WHERE v > 10) AS n FROM rows GROUP BY k", "SELECT k, count(*) FILTER (WHERE v > 30) AS n FROM rows GROUP BY k"
    ),
    "aggregates that keep all": Pair(
        "SELECT k, percentile(v, 0.5) AS m FROM rows GROUP BY k", "SELECT k, percentile(v, 0.9) AS m FROM rows GROUP BY k"
    ),
    "aggregate of changes": Pair(
        "SELECT n, max(s) AS m FROM (SELECT k, count(*) AS n, sum(v) AS s FROM rows GROUP BY k) GROUP BY n",
        "SELECT n, min(s) AS m FROM (SELECT k, count(*) AS n, sum(v) AS s FROM rows GROUP BY k) GROUP BY n",
        ("aggregate(rows)",),
    ),
    "rollup": Pair(
        "SELECT k, v % 3 AS o, count(*) AS n FROM rows GROUP BY ROLLUP (k, v % 3)", "SELECT k, v % 3 AS o, count(*) AS n FROM rows GROUP BY CUBE (k, v % 3)"
    ),
    "right join": Pair("SELECT r.k, v, p FROM rows r JOIN prices q ON r.v = q.p", "SELECT r.k, v, p FROM rows r RIGHT JOIN prices q ON r.v = q.p"),
    "join instead of a left join": Pair(
        "SELECT r.k, v, p FROM rows r LEFT JOIN prices q ON r.v = q.p", "SELECT r.k, v, p FROM rows r JOIN prices q ON r.v = q.p"
    ),
    "join of itself": Pair(
        "SELECT a.k, a.v, b.v AS w FROM rows a JOIN rows b ON a.k = b.k AND a.v = b.v + 1",
        "SELECT a.k, a.v, b.v AS w FROM rows a JOIN rows b ON a.k = b.k AND a.v = b.v + 2",
    ),
    "join of an aggregate": Pair(
        "SELECT r.k, v, n FROM rows r JOIN (SELECT k, count(*) AS n FROM prices GROUP BY k) q ON r.k = q.k",
        "SELECT r.k, v, n FROM rows r JOIN (SELECT k, count(*) AS n FROM prices WHERE p > 4 GROUP BY k) q ON r.k = q.k",
    ),
    "cross join": Pair("SELECT r.k, v, p FROM rows r JOIN prices q ON r.k = q.k", "SELECT r.k, v, p FROM rows r CROSS JOIN prices q WHERE v = 7"),
    "interval join": Pair(
        "SELECT r.k, v, p FROM rows r JOIN prices q ON r.k = q.k AND r.ts BETWEEN q.ts AND q.ts + INTERVAL 5 MINUTES",
        "SELECT r.k, v, p FROM rows r JOIN prices q ON r.k = q.k AND r.ts BETWEEN q.ts AND q.ts + INTERVAL 15 MINUTES",
    ),
    "left interval join": Pair(
        "SELECT r.k, v, p FROM rows r JOIN prices q ON r.k = q.k AND r.ts BETWEEN q.ts AND q.ts + INTERVAL 5 MINUTES",
        "SELECT r.k, v, p FROM rows r LEFT JOIN prices q ON r.k = q.k AND r.ts BETWEEN q.ts AND q.ts + INTERVAL 5 MINUTES",
    ),
    "exists": Pair(
        "SELECT k, v FROM rows r WHERE EXISTS (SELECT 1 FROM prices q WHERE q.p = r.v)",
        "SELECT k, v FROM rows r WHERE NOT EXISTS (SELECT 1 FROM prices q WHERE q.p = r.v)",
    ),
    "in": Pair("SELECT k, v FROM rows WHERE v IN (SELECT p FROM prices)", "SELECT k, v FROM rows WHERE v IN (SELECT p + k FROM prices)"),
    "not in": Pair("SELECT k, v FROM rows WHERE v IN (SELECT p FROM prices)", "SELECT k, v FROM rows WHERE v NOT IN (SELECT p FROM prices)"),
    "correlated subquery": Pair(
        "SELECT k, v FROM rows r WHERE v > (SELECT max(p) FROM prices q WHERE q.k = r.k)",
        "SELECT k, v FROM rows r WHERE v > (SELECT sum(p) FROM prices q WHERE q.k = r.k)",
    ),
    "column of a subquery": Pair(
        "SELECT k, (SELECT count(*) FROM prices) AS n, sum(v) AS s FROM rows GROUP BY k", "SELECT k, (SELECT count(DISTINCT k) FROM prices) AS n, sum(v) AS s FROM rows GROUP BY k",
        ("aggregate(rows)",),
    ),
    "union of distinct rows": Pair("SELECT k, v FROM rows UNION ALL SELECT k, p FROM prices", "SELECT k, v FROM rows UNION SELECT k, p FROM prices"),
    "sets with repeats": Pair("SELECT k FROM rows EXCEPT ALL SELECT p FROM prices", "SELECT k FROM rows INTERSECT ALL SELECT p FROM prices"),
    "ties": Pair(
        "SELECT k, v FROM (SELECT k, v, rank() OVER (PARTITION BY k ORDER BY v DIV 10 DESC) AS r FROM rows) WHERE r <= 2",
        "SELECT k, v FROM (SELECT k, v, rank() OVER (PARTITION BY k ORDER BY v DIV 10 DESC) AS r FROM rows) WHERE r <= 6",
    ),
    "order of a top": Pair("SELECT k, v FROM rows ORDER BY v DESC, ts LIMIT 5", "SELECT k, v FROM rows ORDER BY v, ts LIMIT 5"),
    "frame": Pair(RUNNING.format(2), RUNNING.format(4)),
    "generated rows": Pair("SELECT k, explode(sequence(0, v % 3)) AS i FROM rows", "SELECT k, explode(sequence(0, v % 4)) AS i FROM rows"),
    "aggregate of generated rows": Pair(
        "SELECT i, count(*) AS n FROM rows LATERAL VIEW explode(sequence(0, v % 3)) AS i GROUP BY i",
        "SELECT i, count(*) AS n FROM rows LATERAL VIEW explode(sequence(1, 1 + v % 3)) AS i GROUP BY i",
    ),
    "a column more": Pair("SELECT k, sum(v) AS s FROM rows GROUP BY k", "SELECT k, sum(v) AS s, max(v) AS m FROM rows GROUP BY k"),
    "a column less": Pair("SELECT k, sum(v) AS s, max(v) AS m FROM rows GROUP BY k", "SELECT k, sum(v) AS s FROM rows GROUP BY k"),
    "another column": Pair("SELECT k, sum(v) AS s FROM rows GROUP BY k", "SELECT k AS key, sum(v) AS s FROM rows GROUP BY k"),
    "another type": Pair("SELECT k, v FROM rows WHERE v > 3", "SELECT k, CAST(v AS decimal(9, 2)) / 3 AS v FROM rows WHERE v > 3"),
    "more partitions": Pair(
        "SELECT n, count(*) AS keys FROM (SELECT k, count(*) AS n FROM rows GROUP BY k) GROUP BY n",
        "SELECT n, max(k) AS keys FROM (SELECT k, count(*) AS n FROM rows GROUP BY k) GROUP BY n",
        ("aggregate(rows)",),
        partitions=5,
    ),
    "fewer partitions": Pair("SELECT v, p FROM rows r LEFT JOIN prices q ON v < p", "SELECT v, p FROM rows r LEFT JOIN prices q ON v + 1 < p", partitions=1),
}  # fmt: skip
"""Further pairs of views in SQL."""


def asof(direction: str = "backward", within: str | None = None, how: str = "left") -> Version:
    """Each row with the price of its time."""
    return view(
        lambda shop: shop.rows.join_asof(
            shop.prices.select("k", "p", at="ts"), on="k", time=("ts", "at"), direction=direction, within=within, how=how
        ).select("k", "v", "p")
    )


def windows(window: Any, **options: Any) -> Version:
    return view(lambda shop: shop.rows.window(window, **options).group_by("k", "window_end").agg(n="count(*)", s="sum(v)").named("windows"))


def closed(minutes: int) -> Version:
    """Windows that only add rows when they close, and a view of them."""

    def build(shop: Shop) -> list[Any]:
        each = (
            shop.rows.window(hr.tumble("ts", f"{minutes} minutes"), emit="close")
            .group_by("k", "window_end")
            .agg(n="count(*)")
            .named("closed")
        )
        return [shop.write(each, "closed", "append"), shop.write(each.group_by("n").agg(times="count(*)").named("sizes"))]

    return build


def looked_up(table: Callable[[Shop], Any]) -> Version:
    return view(lambda shop: shop.rows.lookup(table(shop), on="k").group_by("country").agg(n="count(*)").named("countries"))


def in_memory(number: int) -> Version:
    table = hr.lookup.memory([(k, f"c{k % number}") for k in range(9)], "k int, country string", name="table")
    return looked_up(lambda shop: table)


def in_a_file(name: str) -> Version:
    return looked_up(
        lambda shop: hr.lookup.files(
            shop.folder / f"{name}.json", format="json", schema="k int, country string", name="table", constant=True
        )
    )


QUERIES = {
    "as-of join": Pair(asof(), asof("forward")),
    "limit of an as-of join": Pair(asof(within="3 minutes"), asof(within="20 minutes", how="inner")),
    "hopping windows": Pair(
        windows(hr.hop("ts", size="20 minutes", step="10 minutes")), windows(hr.hop("ts", size="30 minutes", step="10 minutes"))
    ),
    "windows that close": Pair(closed(10), closed(15), on_change={"closed_out": "from now"}, goes_on=("closed",)),
    "windows that close, replaced": Pair(closed(10), closed(15), on_change={"closed_out": "replace"}),
    "early results": Pair(
        windows(hr.tumble("ts", "20 minutes"), emit="close", early="5 minutes"),
        windows(hr.tumble("ts", "20 minutes"), emit="close", early="2 minutes"),
    ),
    "lateness": Pair(
        windows(hr.tumble("ts", "20 minutes"), emit="close", early="5 minutes"),
        windows(hr.tumble("ts", "20 minutes"), emit="close", early="5 minutes", lateness="10 minutes"),
    ),
    "delay of a watermark": Pair(
        windows(hr.tumble("ts", "20 minutes")),
        windows(hr.tumble("ts", "20 minutes")),
        ("windows",),
        STARTS,
        delays=("5 minutes", "10 minutes"),
    ),
    "sessions of all": Pair(windows(hr.sessions("ts", "3 minutes", per="k")), windows(hr.sessions("ts", "5 minutes", per="k"))),
    "dedupe": Pair(view(lambda shop: shop.rows.dedupe(on=("k", "v"))), view(lambda shop: shop.rows.dedupe(on="k", keep="last"))),
    "dedupe within a time": Pair(
        view(lambda shop: shop.rows.dedupe(on=("k", "v"), within="10 minutes").group_by("k").agg(n="count(*)").named("counts")),
        view(lambda shop: shop.rows.dedupe(on=("k", "v"), within="40 minutes").group_by("k").agg(n="count(*)").named("counts")),
    ),
    "ties of a top": Pair(
        view(lambda shop: shop.rows.top(2, by="v desc", per="k").named("best")),
        view(lambda shop: shop.rows.top(2, by="v desc", per="k", ties="dense_rank").named("best")),
    ),
    "latest rows": Pair(
        view(lambda shop: shop.rows.upserts("k").select("k", "v")),
        view(lambda shop: shop.rows.filter("v > 10").upserts("k").select("k", "v")),
    ),
    "key of latest rows": Pair(
        view(lambda shop: shop.rows.upserts("k").group_by("v").agg(n="count(*)").named("counts")),
        view(lambda shop: shop.rows.upserts("v").group_by("k").agg(n="count(*)").named("counts")),
    ),
    "expiry": Pair(
        view(lambda shop: shop.rows.group_by("k", expires="2 hours").agg(s="sum(v)").named("summed")),
        view(lambda shop: shop.rows.group_by("k").agg(s="sum(v)").named("summed")),
    ),
    "rows of a table": Pair(in_memory(2), in_memory(3), refused_running="ROWS_GONE"),
    "place of a table": Pair(in_a_file("old"), in_a_file("new")),
    "sources united": Pair(
        view(lambda shop: shop.rows.group_by("k").agg(n="count(*)").named("counts")),
        view(lambda shop: shop.rows.union(shop.more).group_by("k").agg(n="count(*)").named("counts")),
        reads_new=True,
    ),
    "source removed": Pair(
        view(lambda shop: shop.rows.union(shop.more).group_by("k").agg(n="count(*)").named("counts")),
        view(lambda shop: shop.rows.group_by("k").agg(n="count(*)").named("counts")),
    ),
    "source joined": Pair(
        "SELECT k, count(*) AS n FROM rows GROUP BY k",
        lambda shop: shop.write(
            hr.sql("SELECT r.k, count(*) AS n FROM rows r JOIN more m ON r.k = m.k GROUP BY r.k", rows=shop.rows, more=shop.more)
        ),
        reads_new=True,
    ),
}
"""Pairs of views in Python."""


def counts(shop: Shop, name: str = "view", *, place: str | None = None) -> Any:
    return shop.write(shop.rows.group_by("k").agg(n="count(*)", s="sum(v)").named("counts"), name, place=place)


def dearest(shop: Shop) -> Any:
    return shop.write(shop.prices.group_by("k").agg(p="max(p)").named("dearest"), "dearest")


def priced(shop: Shop) -> Any:
    return shop.write(hr.sql("SELECT r.k, v, p FROM rows r JOIN prices USING (k)", rows=shop.rows, prices=shop.prices), "priced")


APART = ("stays", "tally")
"""Views of one source, so that the job has a query for each source."""

SINKS = {
    "sink moved": Pair(counts, lambda shop: counts(shop, place="moved"), ("counts",)),
    "sink renamed": Pair(counts, lambda shop: counts(shop, "other"), ("counts",)),
    "sink renamed in its place": Pair(counts, lambda shop: counts(shop, "other", place="view"), ("counts",)),
    "sink added": Pair(counts, lambda shop: [counts(shop), counts(shop, "second")], ("counts",)),
    "sink dropped": Pair(lambda shop: [counts(shop), dearest(shop)], counts, ("counts",), MOVES),
    "view added": Pair(
        counts,
        lambda shop: [
            counts(shop),
            shop.write(shop.rows.group_by("v").agg(n="count(*)").group_by("n").agg(vs="count(*)").named("sizes"), "sizes"),
        ],
        ("counts",),
    ),
    "one of two sinks": Pair(
        lambda shop: [
            counts(shop),
            shop.write(shop.rows.group_by("k").agg(n="count(*)", s="sum(v)").named("counts").filter("n > 5"), "large"),
        ],
        lambda shop: [
            counts(shop),
            shop.write(shop.rows.group_by("k").agg(n="count(*)", s="sum(v)").named("counts").filter("n > 15"), "large"),
        ],
        ("counts",),
    ),
    "queries become one": Pair(
        lambda shop: [counts(shop), dearest(shop)],
        lambda shop: [counts(shop), dearest(shop), priced(shop)],
        ("counts", "dearest"),
        beside=APART,
    ),
    "one query becomes two": Pair(
        lambda shop: [counts(shop), dearest(shop), priced(shop)],
        lambda shop: [counts(shop), dearest(shop)],
        ("counts", "dearest"),
        MOVES,
        beside=APART,
    ),
    "sink with a key": Pair(
        lambda shop: shop.write(shop.rows.group_by("k").agg(n="count(*)").named("counts").upserts("k")),
        lambda shop: shop.write(shop.rows.filter("v > 9").group_by("k").agg(n="count(*)").named("counts").upserts("k")),
    ),
}
"""Pairs of whole jobs: sinks, queries."""


def counting(cell: str, *, factor: int = 1) -> type[hr.Program]:
    """A program that numbers the rows of a key, with a value of a type."""

    class Counting(hr.Program):
        n = hr.Value(cell)

        def on_event(self, e: Any) -> None:
            self.n.set(hr.f.coalesce(self.n.get(), 0) + 1)
            hr.emit(k=e.k, v=e.v * factor, n=self.n.get())

    return Counting


class Remembering(hr.Program):
    """The same, with a further cell."""

    n = hr.Value("int")
    last = hr.Value("int")

    def on_event(self, e: Any) -> None:
        self.last.set(e.v)
        self.n.set(hr.f.coalesce(self.n.get(), 0) + 1)
        hr.emit(k=e.k, v=self.last.get(), n=self.n.get())


class Listing(hr.Program):
    """The same, from a list."""

    n = hr.List("int")

    def on_event(self, e: Any) -> None:
        self.n.append(e.v)
        hr.emit(k=e.k, v=e.v, n=self.n.size())


class Totalling(hr.Program):
    """The same, by an aggregate."""

    n = hr.Aggregate("count(*)", "x int")

    def on_event(self, e: Any) -> None:
        self.n.add(x=e.v)
        hr.emit(k=e.k, v=e.v, n=self.n.get())


def programs(
    program: type[hr.Program],
    *,
    keys: Sequence[Any] = ("k",),
    order: str = "time",
    named: bool = True,
    name: str = "numbered",
    last: str = "sum(v)",
    rows: Callable[[Shop], hr.Stream] = lambda shop: shop.rows,
) -> Version:
    """A program, and an aggregate of what it sends."""

    def build(shop: Shop) -> hr.Stream:
        numbered = rows(shop).key_by(*keys).process(program, order=order)
        numbers = (numbered.named(name) if named else numbered).group_by("n").agg(keys="count(*)", s=last)
        return numbers.named("numbers") if named else numbers

    return view(build)


def kinds(whole: str) -> Version:
    """Cells of every kind, over numbers of a type."""

    def build(shop: Shop) -> Any:
        sales = shop.read("more", f"k {whole}, v {whole}, ts timestamp").select(shop="k", item="v % 7", amount="v", ts="ts")
        rules = shop.prices.select(item="k", limit="p % 4", ts="ts")
        return shop.write(sales.key_by("shop").process(all_kinds(whole), rules=hr.broadcast(rules)).named("kinds"), "kinds", "append")

    return build


PROGRAMS = {
    "handler": Pair(programs(counting("int")), programs(counting("int", factor=2)), ("numbered", "numbers"), STARTS, goes_on=("view",)),
    "handler of a program without a name": Pair(
        programs(counting("int"), named=False), programs(counting("int", factor=2), named=False), ("rows.Counting",)
    ),
    "new cell": Pair(programs(counting("int")), programs(Remembering), ("numbered", "numbers"), MOVES),
    "wider cell": Pair(programs(counting("int")), programs(counting("bigint")), ("numbered",)),
    "wider cells of every kind": Pair(kinds("int"), kinds("bigint"), ("kinds",), MOVES, on_change={"kinds_out": "from now"}),
    "another kind of cell": Pair(programs(counting("int")), programs(Listing)),
    "an aggregate instead of a value": Pair(programs(counting("int")), programs(Totalling)),
    "order of arrival": Pair(programs(counting("int")), programs(counting("int"), order="arrival"), refused="STATE_CHANGED"),
    "order of time": Pair(programs(counting("int"), order="arrival"), programs(counting("int"))),
    "renamed key of a program": Pair(
        programs(counting("int")), programs(counting("int"), keys=[hr.col("k").alias("key")]), ("numbered", "numbers"), MOVES
    ),
    "wider key of a program": Pair(
        programs(counting("int"), rows=lambda shop: shop.more),
        programs(counting("int"), rows=lambda shop: shop.read("more", "k bigint, v int, ts timestamp")),
        ("numbered", "numbers"),
        MOVES,
    ),
    "another computation of a key": Pair(
        programs(counting("int"), rows=lambda shop: shop.rows), programs(counting("int"), keys=["CAST(k AS bigint) AS k"])
    ),
    "another key of a program": Pair(programs(counting("int")), programs(counting("int"), keys=["v"])),
    "wider rows that a program holds": Pair(
        programs(counting("int")),
        programs(counting("int"), rows=lambda shop: shop.rows.select("k", "ts", v="CAST(v AS bigint)")),
        ("numbered",),
    ),
    "filter before a program": Pair(
        programs(counting("int")),
        programs(counting("int"), rows=lambda shop: shop.rows.filter("v > 10")),
        ("numbered", "numbers"),
        STARTS,
        goes_on=("view",),
    ),
    "level before a program": Pair(
        programs(counting("int")),
        programs(counting("int"), rows=lambda shop: shop.rows.dedupe(on=("k", "v"), within="20 minutes")),
    ),
    "program renamed": Pair(programs(counting("int")), programs(counting("int"), name="other")),
    "program instead of an aggregate": Pair(
        view(lambda shop: shop.rows.group_by("v % 5 AS n").agg(keys="count(*)", s="sum(v)").named("numbers")), programs(counting("int"))
    ),
    "after a program": Pair(programs(counting("int")), programs(counting("int"), last="max(v)"), ("numbered",)),
}
"""Pairs of programs, and of cells."""

PAIRS: dict[str, Pair] = {**SQL, **SQL_MORE, **QUERIES, **SINKS, **PROGRAMS}
