"""A new version in the place of the old one: operators keep their state wherever they are from now on, and sinks what they hold."""

from __future__ import annotations

import functools
import json
import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from tests.spark.engine.jobs import lines

pytestmark = pytest.mark.usefixtures("spark")

ROWS = "k int, v int, ts timestamp"
PRICES = "k int, p int, ts timestamp"


class Counting(hr.Program):
    """The rows of a key, and the last limit that was told to all keys."""

    n = hr.Value("int", default=0)
    seen = hr.List("int")
    limits = hr.Broadcast("int", "int")

    def on_rules(self, r: Any) -> None:
        self.limits.set(r.k, r.p)

    def on_event(self, e: Any) -> None:
        self.n.set(self.n.get() + 1)
        self.seen.append(e.v)
        hr.emit(k=self.key.k, n=self.n.get(), all=hr.f.to_json(self.seen.get()), limit=self.limits.get(e.k), rules=self.limits.size())


class Quiet(hr.Program):
    """A key without rows for ten minutes."""

    last = hr.Value("timestamp")
    due = hr.Timer()

    def on_event(self, e: Any) -> None:
        self.last.set(e.ts)
        self.due.set(e.ts + hr.minutes(10))

    def on_due(self, at: Any) -> None:
        hr.emit(k=self.key.k, last=self.last.get(), at=at)


def moment(second: int) -> str:
    return f"2026-01-01 {second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"


def add(folder: Path, part: int) -> None:
    """The input of a part, half an hour each."""
    chance = random.Random(part)
    start = part * 1800
    rows = [{"k": chance.randrange(12), "v": chance.randrange(100), "ts": moment(start + i * 20 + chance.randrange(90))} for i in range(80)]
    prices = [{"k": chance.randrange(12), "p": chance.randrange(10), "ts": moment(start + i * 100)} for i in range(16)]
    for name, records in (("rows", rows), ("prices", prices)):
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / f"{part}.json").write_text("".join(json.dumps(record) + "\n" for record in records))


def read(folder: Path, name: str, schema: str, *, timed: bool) -> hr.Stream:
    stream = hr.read.files(folder / name, format="json", schema=schema, name=name)
    return stream.watermark("ts", "5 minutes") if timed else stream


def sink(stream: hr.Stream, folder: Path, name: str, mode: str = "changes") -> Any:
    return stream.write.files(folder / "out" / name, format="json", mode=mode, name=f"{name}_out")


View = Callable[[hr.Stream, hr.Stream, Path], Any]


def sums(rows: hr.Stream, prices: hr.Stream, folder: Path) -> Any:
    return sink(rows.group_by("k").agg(n="count(*)", s="sum(v)", most="max(v)").named("sums"), folder, "sums")


def totals(rows: hr.Stream, prices: hr.Stream, folder: Path) -> Any:
    """Two levels."""
    first = rows.group_by("k", "v").agg(n="count(*)").named("pairs")
    return sink(first.group_by("k").agg(pairs="count(*)", n="sum(n)").named("totals"), folder, "totals")


def priced(rows: hr.Stream, prices: hr.Stream, folder: Path) -> Any:
    return sink(hr.sql("SELECT r.k, v, p FROM rows r JOIN prices USING (k)", rows=rows, prices=prices), folder, "priced")


def dearest(rows: hr.Stream, prices: hr.Stream, folder: Path) -> Any:
    return sink(prices.group_by("k").agg(p="max(p)").named("dearest"), folder, "dearest")


def ranked(rows: hr.Stream, prices: hr.Stream, folder: Path) -> Any:
    text = "SELECT * FROM (SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY v DESC) AS place FROM rows) WHERE place <= 3"
    return sink(hr.sql(text, rows=rows), folder, "ranked")


def counted(rows: hr.Stream, prices: hr.Stream, folder: Path) -> Any:
    counts = rows.key_by("k").process(Counting, rules=hr.broadcast(prices)).named("counts")
    return sink(counts, folder, "counted", "append")


def quiet(rows: hr.Stream, prices: hr.Stream, folder: Path) -> Any:
    return sink(rows.key_by("k").process(Quiet).named("quiet"), folder, "quiet", "append")


def windows(rows: hr.Stream, prices: hr.Stream, folder: Path) -> Any:
    text = "SELECT k, window.start AS began, count(*) AS n FROM rows GROUP BY k, window(ts, '10 minutes')"
    return sink(hr.sql(text, rows=rows), folder, "windows")


def visits(rows: hr.Stream, prices: hr.Stream, folder: Path) -> Any:
    text = "SELECT k, session_window.start AS began, count(*) AS n, sum(v) AS s FROM rows GROUP BY k, session_window(ts, '3 minutes')"
    return sink(hr.sql(text, rows=rows), folder, "visits")


def crossed(rows: hr.Stream, prices: hr.Stream, folder: Path) -> Any:
    """Without keys: left rows are divided among shards, and each of these has all right rows."""
    return sink(hr.sql("SELECT r.k, v, p FROM rows r JOIN prices ON v < p", rows=rows, prices=prices), folder, "crossed")


def valued(rows: hr.Stream, prices: hr.Stream, folder: Path) -> Any:
    """Each row with the price of its time, after it has been held until that is known."""
    return sink(
        rows.join_asof(prices.select("k", "p", at="ts"), on="k", time=("ts", "at")).select("k", "v", "p").named("valued"), folder, "valued"
    )


def job(folder: Path, *views: View, timed: bool = True) -> hr.Job:
    rows, prices = read(folder, "rows", ROWS, timed=timed), read(folder, "prices", PRICES, timed=timed)
    return hr.job("shop", *(view(rows, prices, folder) for view in views))


def results(folder: Path, name: str) -> Counter[str]:
    """What a sink holds."""
    held: Counter[str] = Counter()
    for row in lines(folder / "out" / name):
        change = row.pop("_change", "insert")
        held[json.dumps(row, sort_keys=True)] += -1 if change in ("delete", "update_before") else 1
    assert all(n >= 0 for n in held.values())
    return +held


def run(job: hr.Job, folder: Path, *, flush: bool = False, **options: Any) -> None:
    job.run(checkpoint=folder / "checkpoint", flush=flush, progress=False, **options)


def expected(folder: Path, views: Iterable[View], parts: int, *, timed: bool = True) -> dict[str, Counter[str]]:
    """What a run from the start writes."""
    for part in range(parts):
        add(folder, part)
        run(job(folder, *views, timed=timed), folder, flush=part == parts - 1, partitions=2)
    return {view.__name__: results(folder, view.__name__) for view in views}


def verdicts(deployment: hr.Deployment) -> dict[str, str]:
    return {f"{one.part} {one.name}": one.verdict for one in deployment.verdicts}


ALL: tuple[View, ...] = (sums, totals, priced, crossed, ranked, counted, quiet, windows, visits, valued)


def passed(rows: hr.Stream, prices: hr.Stream, folder: Path) -> Any:
    """A sink without state before it."""
    return sink(rows.select("k", "v"), folder, "passed", "append")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, spark: object) -> Callable[[bool], dict[str, Counter[str]]]:
    """What runs from the start over three parts write: all views, or those that are the same without a watermark."""

    @functools.cache
    def results_of(timed: bool) -> dict[str, Counter[str]]:
        views = (*ALL, dearest, passed) if timed else (sums, priced, dearest, passed)
        return expected(tmp_path_factory.mktemp("whole"), views, 3, timed=timed)

    return results_of


@pytest.mark.full
def test_partitions(tmp_path: Path, whole: Callable[[bool], dict[str, Counter[str]]]) -> None:
    """Up and down, with state of every kind: rows of joins and ranks, accumulators, cells, timers, held rows, what all keys read."""
    for part, partitions in enumerate((2, 7, 3)):
        add(tmp_path, part)
        if part:
            deployment = job(tmp_path, *ALL).deploy(checkpoint=tmp_path / "checkpoint", partitions=partitions)
            assert {one.verdict for one in deployment.verdicts if one.part == "operator"} == {"moved"}
            assert sum(one.keys for one in deployment.verdicts) > 100
        run(job(tmp_path, *ALL), tmp_path, flush=part == 2, partitions=partitions)
    want = {view.__name__: whole(True)[view.__name__] for view in ALL}
    assert {name: results(tmp_path, name) for name in want} == want
    assert all(want.values())


EDITS: dict[str, tuple[tuple[View, ...], tuple[View, ...]]] = {
    "a level more": ((sums, dearest, priced), (sums, dearest, priced, totals)),
    "a level less": ((sums, totals), (sums,)),
    "no state before": ((), (sums,)),
    "two queries become one": ((sums, dearest), (sums, dearest, priced)),
    "one query becomes two": ((sums, dearest, priced), (sums, dearest)),
    "a source more": ((sums, quiet), (sums, quiet, counted)),
    "a source less": ((sums, counted), (sums,)),
}


@pytest.mark.parametrize(
    ("edit", "timed"),
    [
        pytest.param(edit, timed, marks=() if number % 4 == 2 * timed else pytest.mark.full)
        for number, edit in enumerate(EDITS)
        for timed in (False, True)
    ],
)
def test_operators_that_move(edit: str, timed: bool, tmp_path: Path, whole: Callable[[bool], dict[str, Counter[str]]]) -> None:
    """What both versions have is as if the new one had run from the start."""
    old, new = ((passed, *views) for views in EDITS[edit])
    if not timed:
        old, new = (tuple(view for view in views if view is not quiet) for views in (old, new))
    add(tmp_path, 0)
    run(job(tmp_path, *old, timed=timed), tmp_path, partitions=2)
    # nobody knows the order in which the rows arrived
    now = {"counted_out": "from now"} if not timed and counted in new and counted not in old else None
    deployment = job(tmp_path, *new, timed=timed).deploy(checkpoint=tmp_path / "checkpoint", on_change=now)
    both = [view for view in new if view in old]
    for part in (1, 2):
        add(tmp_path, part)
        run(job(tmp_path, *new, timed=timed), tmp_path, flush=part == 2)
    want = {view.__name__: whole(timed)[view.__name__] for view in both}
    assert {name: results(tmp_path, name) for name in want} == want and all(want.values())
    judged = verdicts(deployment)
    assert {judged[f"sink {view.__name__}_out"] for view in both} <= {"kept", "moved"}
    named = {"operator sums", "operator dearest", "operator quiet"} & judged.keys()
    assert all(judged[name] in ("kept", "moved", "new") for name in named)
    assert any(verdict != "kept" for verdict in judged.values())


def test_a_query_without_an_epoch_becomes_one_with_another(tmp_path: Path, whole: Callable[[bool], dict[str, Counter[str]]]) -> None:
    """Its folder has nothing, and its name stays."""
    add(tmp_path, 0)
    run(job(tmp_path, sums, dearest, timed=False), tmp_path, partitions=2)
    # as if it had been started and had nothing to read yet
    for place in ("queries/main", "epochs/main", "out/sums"):
        shutil.rmtree(tmp_path / place if place.startswith("out") else tmp_path / "checkpoint" / place)
    for file in (tmp_path / "checkpoint" / "record").glob("main.*"):
        file.unlink()
    (tmp_path / "checkpoint" / "queries" / "main").mkdir()
    job(tmp_path, sums, dearest, priced, timed=False).deploy(checkpoint=tmp_path / "checkpoint")
    for part in (1, 2):
        add(tmp_path, part)
        run(job(tmp_path, sums, dearest, priced, timed=False), tmp_path, flush=part == 2)
    want = {name: whole(False)[name] for name in ("sums", "dearest")}
    assert {name: results(tmp_path, name) for name in want} == want
    assert all(want.values())


@pytest.mark.full
def test_a_query_that_is_left_out_and_comes_back(tmp_path: Path) -> None:
    """A report says it once, and its sink goes on."""
    add(tmp_path, 0)
    run(job(tmp_path, sums, dearest, timed=False), tmp_path)
    without = job(tmp_path, sums, timed=False).deploy(checkpoint=tmp_path / "checkpoint")
    assert verdicts(without) == {
        "source rows": "kept",
        "source prices": "dropped",
        "operator sums": "kept",
        "operator dearest": "dropped",
        "sink sums_out": "kept",
        "sink dearest_out": "dropped",
    }
    assert job(tmp_path, sums, timed=False).deploy(checkpoint=tmp_path / "checkpoint").unchanged
    add(tmp_path, 1)
    run(job(tmp_path, sums, timed=False), tmp_path)
    back = job(tmp_path, sums, dearest, timed=False).deploy(checkpoint=tmp_path / "checkpoint")
    assert (verdicts(back)["operator dearest"], verdicts(back)["sink dearest_out"]) == ("new", "corrected")
    run(job(tmp_path, sums, dearest, timed=False), tmp_path)


@pytest.mark.full
def test_a_folder_with_a_space_in_its_name(tmp_path: Path) -> None:
    """Spark's own reader of state does not find it."""
    folder = tmp_path / "of a job, 50% (ä)"
    for part in range(2):
        add(folder, part)
        run(job(folder, sums, counted), folder, partitions=part + 1)
        job(folder, sums, counted).deploy(checkpoint=folder / "checkpoint", partitions=part + 2)
        ((n,),) = hr.state(folder / "checkpoint").query("SELECT sum(rows) FROM sums").rows()
        assert n == 80 * (part + 1)
        run(job(folder, sums, counted), folder)


@pytest.mark.full
def test_a_sink_that_moves_to_another_query(tmp_path: Path) -> None:
    """A database knows the epochs of a sink by the query in which it began."""

    def version(*views: View) -> hr.Job:
        rows, prices = read(tmp_path, "rows", ROWS, timed=False), read(tmp_path, "prices", PRICES, timed=False)
        table = prices.group_by("k").agg(p="max(p)").named("dearest").write.jdbc(f"sqlite:{tmp_path}/shop.db", "dearest", key="k")
        return hr.job("shop", *(view(rows, prices, tmp_path) for view in views), table)

    add(tmp_path, 0)
    run(version(sums), tmp_path)
    for part, views in enumerate(((sums, counted), (sums,), (sums, counted)), 1):
        now = {"counted_out": "from now"} if counted in views else None
        version(*views).deploy(checkpoint=tmp_path / "checkpoint", on_change=now)
        add(tmp_path, part)
        run(version(*views), tmp_path)
    with sqlite3.connect(tmp_path / "shop.db") as database:
        held = dict(database.execute("SELECT k, p FROM dearest").fetchall())
    prices = [json.loads(line) for file in (tmp_path / "prices").iterdir() for line in file.read_text().splitlines()]
    assert held == {k: max(row["p"] for row in prices if row["k"] == k) for k in {row["k"] for row in prices}}
