"""Forks: a second job that continues from the state of a first one. Both go on, each exact on its own sinks, and the first is untouched."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from tests.spark.engine.jobs import lines
from tests.spark.engine.test_deploy import Quiet
from tests.spark.engine.test_rebuild import ROWS, add, held, read
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")

SUMS = "SELECT k, sum(v) AS s, count(*) AS n FROM rows WHERE v > {} GROUP BY k"


class Seen(hr.Program):
    """The rows of a key in the order of their times, and a row when it is quiet for ten minutes."""

    last = hr.Value("timestamp")
    all = hr.List("int")
    due = hr.Timer()

    def on_event(self, e: Any) -> None:
        self.last.set(e.ts)
        self.all.append(e.v)
        self.due.set(e.ts + hr.minutes(10))
        hr.emit(k=self.key.k, what=hr.f.to_json(self.all.get()))

    def on_due(self, at: Any) -> None:
        hr.emit(k=self.key.k, what=self.last.get().cast("string"))


def job(folder: Path, name: str, limit: int = 10, *, url: Path | None = None, follow: bool = False) -> hr.Job:
    """A job with its sinks in `folder`/NAME: changes, appended rows and a table of SQLite. `limit`: the rows above it are summed."""
    rows = read(folder, "rows", ROWS, follow=follow)
    sums = hr.sql(SUMS.format(limit), rows=rows)
    windows = hr.sql("SELECT window.start AS began, k, count(*) AS n FROM rows GROUP BY k, window(ts, '10 minutes')", rows=rows)
    out = folder / name
    out.mkdir(exist_ok=True)
    return hr.job(
        name,
        sums.write.files(out / "sums", format="json", mode="changes", name="sums"),
        rows.key_by("k").process(Seen).named("seen_by").write.files(out / "seen", format="json", name="seen"),
        windows.write.files(out / "windows", format="json", mode="changes", name="windows"),
        sums.write.jdbc(f"jdbc:sqlite:{url or out / 'db'}", "sums", key=["k"], name="table"),
    )


def run(folder: Path, name: str, limit: int = 10, partitions: int | None = None) -> None:
    job(folder, name, limit).run(checkpoint=folder / "state" / name, progress=False, flush=False, partitions=partitions)


def table(folder: Path) -> Counter[str]:
    with closing(sqlite3.connect(folder / "db")) as connection:
        return Counter(json.dumps({"k": k, "s": s, "n": n}) for k, s, n in connection.execute("SELECT k, s, n FROM sums"))


def appended(folder: Path) -> Counter[str]:
    return Counter(json.dumps(row, sort_keys=True) for row in lines(folder))


def check(folder: Path, name: str, fresh: str, *, before: Counter[str] | None = None) -> None:
    """Compare the sinks of a job with those of one that has run from the start. `before`: rows that only the other one has."""
    here, there = folder / name, folder / fresh
    assert held(here / "sums") == held(there / "sums") != {}
    assert held(here / "windows") == held(there / "windows") != {}
    assert table(here) == table(there) != Counter()
    assert appended(here / "seen") + (before or Counter()) == appended(there / "seen")
    assert appended(here / "seen")


def files(folder: Path) -> dict[str, bytes]:
    """Everything in a folder, by name."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


def state(folder: Path) -> dict[str, Any]:
    opened = hr.state(folder)
    return {name: opened.table(name).rows() for name in opened.tables}


@pytest.mark.parametrize(("limit", "partitions"), [(10, None), (30, 3)])
def test_both_go_on(tmp_path: Path, limit: int, partitions: int | None) -> None:
    """A fork of a savepoint, with the same plan, and with another plan at another number of partitions."""
    add(tmp_path, 0)
    run(tmp_path, "first", partitions=2)
    job(tmp_path, "first").savepoint("then", checkpoint=tmp_path / "state" / "first")
    then = appended(tmp_path / "first" / "seen")
    add(tmp_path, 1)
    run(tmp_path, "first")
    was, outputs = files(tmp_path / "state" / "first"), files(tmp_path / "first")
    fork = hr.fork(
        tmp_path / "state" / "first",
        job(tmp_path, "second", limit),
        at="then",
        checkpoint=tmp_path / "state" / "second",
        partitions=partitions,
    )
    print(fork)
    assert files(tmp_path / "state" / "first") == was
    print(sorted(p.name for p in (tmp_path / "state" / "second").iterdir()))
    run(tmp_path, "second", limit)
    add(tmp_path, 2)
    run(tmp_path, "second", limit)
    assert (files(tmp_path / "state" / "first"), files(tmp_path / "first")) == (was, outputs)
    run(tmp_path, "first")
    run(tmp_path, "fresh", partitions=2)
    run(tmp_path, "fresh2", limit, partitions=2)
    check(tmp_path, "first", "fresh")
    check(tmp_path, "second", "fresh2", before=then)
    assert state(tmp_path / "state" / "first") == state(tmp_path / "state" / "fresh")
    assert state(tmp_path / "state" / "second") == state(tmp_path / "state" / "fresh2")
