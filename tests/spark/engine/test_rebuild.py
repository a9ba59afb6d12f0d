"""A new version whose operators and sinks need other rows: after a deploy they are as if the version had run from the start."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

import headrace as hr
from tests.spark.engine.jobs import lines
from tests.spark.engine.test_deploy import moment

pytestmark = pytest.mark.usefixtures("spark")

ROWS = "k int, v int, ts timestamp"
PRICES = "k int, p int, ts timestamp"


def add(folder: Path, part: int) -> None:
    """The input of a part, half an hour each."""
    chance = random.Random(part)
    start = part * 1800
    rows = [{"k": chance.randrange(9), "v": chance.randrange(50), "ts": moment(start + i * 30 + chance.randrange(90))} for i in range(60)]
    prices = [{"k": chance.randrange(9), "p": chance.randrange(10), "ts": moment(start + i * 120)} for i in range(14)]
    for name, records in (("rows", rows), ("prices", prices)):
        (folder / name).mkdir(parents=True, exist_ok=True)
        fresh = folder / name / f".{part}"
        fresh.write_text("".join(json.dumps(record) + "\n" for record in records))
        fresh.rename(folder / name / f"{part}.json")


def read(folder: Path, name: str, schema: str, delay: str = "5 minutes", *, follow: bool = False) -> hr.Stream:
    return hr.read.files(folder / name, format="json", schema=schema, name=name, follow=follow).watermark("ts", delay)


def held(folder: Path) -> dict[str, int]:
    """What a reader of the changes in a folder has at the end."""
    rows: Counter[str] = Counter()
    for row in lines(folder):
        word = row.pop("_change")
        rows[json.dumps(row, sort_keys=True)] += 1 if word in ("insert", "update_after") else -1
    assert min(rows.values(), default=0) >= 0, rows
    return {row: n for row, n in rows.items() if n}


@dataclass(frozen=True)
class Pair:
    """Two versions of a view, in SQL. `kept`: the operators that must keep their state."""

    before: str
    after: str
    kept: int = 0


WINDOW = "SELECT window.start AS began, k, count(*) AS n, sum(v) AS s FROM rows GROUP BY k, window(ts, '{}')"
TOP = "SELECT k, v, place FROM (SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY v DESC, ts) AS place FROM rows) WHERE place <= {}"

PAIRS = {
    "filter": Pair("SELECT k, sum(v) AS s FROM rows WHERE v > 10 GROUP BY k", "SELECT k, sum(v) AS s FROM rows WHERE v > 20 GROUP BY k"),
    "no filter": Pair("SELECT k, sum(v) AS s FROM rows WHERE v > 10 GROUP BY k", "SELECT k, sum(v) AS s FROM rows GROUP BY k"),
    "plain filter": Pair("SELECT k, v FROM rows WHERE v > 10", "SELECT k, v FROM rows WHERE v <= 30"),
    "expression": Pair("SELECT k, v FROM rows", "SELECT k, v + 1 AS v FROM rows"),
    "aggregate": Pair("SELECT k, sum(v) AS s FROM rows GROUP BY k", "SELECT k, max(v) AS s FROM rows GROUP BY k"),
    "one more aggregate": Pair("SELECT k, sum(v) AS s, 0L AS n FROM rows GROUP BY k", "SELECT k, sum(v) AS s, count(*) AS n FROM rows GROUP BY k"),
    "group": Pair("SELECT k AS g, count(*) AS n FROM rows GROUP BY k", "SELECT v % 7 AS g, count(*) AS n FROM rows GROUP BY v % 7"),
    "finer group": Pair("SELECT k, 0 AS o, count(*) AS n FROM rows GROUP BY k", "SELECT k, v % 2 AS o, count(*) AS n FROM rows GROUP BY k, v % 2"),
    "having": Pair("SELECT k, sum(v) AS s FROM rows GROUP BY k HAVING sum(v) > 200", "SELECT k, sum(v) AS s FROM rows GROUP BY k HAVING sum(v) > 400", 1),
    "filter of a group": Pair("SELECT k, sum(v) AS s FROM rows GROUP BY k HAVING k > 5", "SELECT k, sum(v) AS s FROM rows GROUP BY k HAVING k > 2"),
    "no filter of a group": Pair("SELECT k, sum(v) AS s FROM rows GROUP BY k HAVING k > 5", "SELECT k, sum(v) AS s FROM rows GROUP BY k"),
    "no top": Pair(TOP.format(3), TOP.format(99).replace("<= 99", "IS NOT NULL")),
    "after the aggregate": Pair("SELECT k, sum(v) AS s FROM rows GROUP BY k", "SELECT k, sum(v) * 2 AS s FROM rows GROUP BY k", 1),
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
        1,
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

SAMPLE = ("filter", "after the aggregate", "left join", "top", "level inserted")
ALL = [pytest.param(name, marks=() if name in SAMPLE else pytest.mark.full) for name in PAIRS]


def job(folder: Path, text: str, out: Path, delay: str = "5 minutes", mode: str = "changes", *, follow: bool = False) -> hr.Job:
    """The view, beside others over the same sources that stay."""
    rows, prices = (read(folder, name, schema, delay, follow=follow) for name, schema in (("rows", ROWS), ("prices", PRICES)))
    view = hr.sql(text, rows=rows, prices=prices)
    others = [
        rows.group_by("k").agg(n="count(*)").named("stays").write.files(out / "stays", format="json", mode="changes", name="stays_out"),
        hr.sql("SELECT r.k, count(*) AS n FROM rows r JOIN prices USING (k) GROUP BY r.k", rows=rows, prices=prices).write.files(
            out / "joined", format="json", mode="changes", name="joined_out"
        ),
    ]
    return hr.job("shop", view.write.files(out / "view", format="json", mode=mode, name="view_out"), *others)


def run(job: hr.Job, checkpoint: Path, partitions: int | None = 3) -> hr.Summary:
    return job.run(checkpoint=checkpoint, progress=False, flush=False, partitions=partitions)


@pytest.mark.parametrize("name", ALL)
def test_as_from_the_start(name: str, tmp_path: Path) -> None:
    pair = PAIRS[name]
    out, afresh = tmp_path / "out", tmp_path / "afresh"
    for part in (0, 1):
        add(tmp_path, part)
        run(job(tmp_path, pair.before, out), tmp_path / "state")
    before = {one: held(out / one) for one in ("stays", "joined")}
    files = {one: sorted((out / one).rglob("*.json")) for one in before}
    deployment = job(tmp_path, pair.after, out).deploy(checkpoint=tmp_path / "state")
    verdicts = Counter(one.verdict for one in deployment.verdicts if one.part == "operator")
    assert verdicts["kept"] + verdicts["moved"] >= pair.kept + 2, deployment
    assert not verdicts["refused"], deployment
    summary = run(job(tmp_path, pair.after, out), tmp_path / "state", None)
    assert not summary.rows
    assert run(job(tmp_path, pair.after, afresh), tmp_path / "other").rows
    assert held(out / "view") == held(afresh / "view")
    # what has not changed is left alone
    assert {one: sorted((out / one).rglob("*.json")) for one in before} == files
    for part in (2, 3):
        add(tmp_path, part)
        run(job(tmp_path, pair.after, out), tmp_path / "state", None)
        run(job(tmp_path, pair.after, afresh), tmp_path / "other")
        for one in ("view", "stays", "joined"):
            assert held(out / one) == held(afresh / one), one
    # and at the end of time
    for place, checkpoint in ((out, "state"), (afresh, "other")):
        job(tmp_path, pair.after, place).run(checkpoint=tmp_path / checkpoint, progress=False)
    assert held(out / "view") == held(afresh / "view")
