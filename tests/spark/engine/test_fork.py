"""Forks: a second job that continues from the state of a first one. Both go on, each exact on its own sinks, and the first is untouched."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace import cli, points
from headrace.engine.state import stored_job
from headrace.errors import HeadraceError
from headrace.points import FOLDER, FORK_POINTS, VARIABLE, Armed
from headrace.spark.checkpoint import savepoints
from headrace.spark.checkpoint.ancestors import ancestors
from headrace.spark.checkpoint.copying import copy
from headrace.spark.checkpoint.lease import Lease, newest_term
from headrace.spark.checkpoint.record import recorded
from headrace.spark.deploy import parent
from tests.spark.engine.jobs import lines
from tests.spark.engine.pairs import ROWS, add, held, read
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


def job(folder: Path, name: str, limit: int = 10) -> hr.Job:
    """A job with its sinks in `folder`/NAME: changes, appended rows and a table of SQLite. `limit`: the rows above it are summed."""
    rows = read(folder, "rows", ROWS)
    sums = hr.sql(SUMS.format(limit), rows=rows)
    windows = hr.sql("SELECT window.start AS began, k, count(*) AS n FROM rows GROUP BY k, window(ts, '10 minutes')", rows=rows)
    out = folder / name
    out.mkdir(exist_ok=True)
    return hr.job(
        name,
        sums.write.files(out / "sums", format="json", mode="changes", name="sums"),
        rows.key_by("k").process(Seen).named("seen_by").write.files(out / "seen", format="json", name="seen"),
        windows.write.files(out / "windows", format="json", mode="changes", name="windows"),
        sums.write.jdbc(f"jdbc:sqlite:{out / 'db'}", "sums", key=["k"], name="table"),
    )


def run(folder: Path, name: str, limit: int = 10, partitions: int | None = None) -> None:
    job(folder, name, limit).run(checkpoint=folder / "state" / name, progress=False, flush=False, partitions=partitions)


def table(folder: Path) -> Counter[str]:
    with closing(sqlite3.connect(folder / "db")) as connection:
        return Counter(json.dumps({"k": k, "s": s, "n": n}, sort_keys=True) for k, s, n in connection.execute("SELECT k, s, n FROM sums"))


def appended(folder: Path) -> Counter[str]:
    return Counter(json.dumps(row, sort_keys=True) for row in lines(folder))


def check(folder: Path, name: str, limit: int, before: Counter[str]) -> None:
    """Compare a job with one that has run from the start: its sinks and its state. `before`: the rows appended before the fork."""
    here, there = folder / name, folder / "fresh"
    assert held(here / "sums") == wanted(folder, limit)
    assert held(here / "windows") == held(there / "windows") != {}
    assert table(here) == Counter(wanted(folder, limit))
    assert appended(here / "seen") + before == appended(there / "seen") != before
    mine, theirs = state(folder / "state" / name), state(folder / "state" / "fresh")
    same = {name for name in theirs if name.startswith("seen_by")} if limit != 10 else set(theirs)
    assert {name: mine[name] for name in same} == {name: theirs[name] for name in same} != {}


def files(folder: Path) -> dict[str, bytes]:
    """Everything in a folder, by name."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


def state(folder: Path) -> dict[str, Any]:
    opened = hr.state(folder)
    return {name: opened.table(name).rows() for name in opened.tables}


def failing(patch: pytest.MonkeyPatch, point: str) -> None:
    patch.setattr(points, "OFF", False)
    patch.setattr(points, "_armed", Armed(point, action="fail"))
    patch.setattr(points, "_passed", 0)


def test_both_go_on(tmp_path: Path) -> None:
    """Two forks of a savepoint, with the same plan, and with another plan at another number of partitions; beside their parent."""
    first, second, third = (tmp_path / "state" / name for name in ("first", "second", "third"))
    add(tmp_path, 0)
    run(tmp_path, "first", partitions=1)
    job(tmp_path, "first").savepoint("then", checkpoint=first)
    then = appended(tmp_path / "first" / "seen")
    add(tmp_path, 1)
    run(tmp_path, "first")
    was = files(first), files(tmp_path / "first")
    same = hr.fork(first, job(tmp_path, "second"), at="then", checkpoint=second)
    assert [(one.name, one.verdict, one.inserted) for one in same.verdicts if one.part == "sink"] == [
        ("sums", "corrected", 9),
        ("seen", "kept", 0),
        ("windows", "corrected", 27),
        ("table", "corrected", 9),
    ]
    assert same.diff.notices == (f"seen writes to {tmp_path}/second/seen from epoch {same.epochs['main'] + 1} on",)
    other = hr.fork(first, job(tmp_path, "third", 30), at="then", checkpoint=third, partitions=2)
    assert (other.partitions, other.before, other.to_json()["epochs"]) == (2, 1, dict(same.epochs))
    assert json.loads((third / "history.jsonl").read_text().splitlines()[0])["arguments"] == {
        "parent": "first",
        "checkpoint": str(first),
        "savepoint": "then",
        "epochs": dict(same.epochs),
        "lineage": [json.loads((first / "job.json").read_text())["id"]],
    }
    assert sorted(path.name for path in first.parent.iterdir()) == ["first", "second", "third"]
    assert newest_term(third) > newest_term(first / "savepoints" / "then")
    for totals in (recorded(place / "record", "main") for place in (second, third)):
        assert (totals.rows, totals.written, totals.of_source("rows", "read")) == ({}, {}, 60)
    add(tmp_path, 2)
    run(tmp_path, "second")
    with pytest.MonkeyPatch.context() as patch:
        failing(patch, "after sink commit")
        with pytest.raises(HeadraceError, match="Injected"):
            run(tmp_path, "third", 30)
    run(tmp_path, "third", 30)
    assert (files(first), files(tmp_path / "first")) == was
    run(tmp_path, "first")
    run(tmp_path, "fresh", partitions=1)
    check(tmp_path, "first", 10, Counter())
    check(tmp_path, "second", 10, then)
    check(tmp_path, "third", 30, then)


def small(folder: Path, name: str, place: Path, limit: int = 10, *, follow: bool = False, url: str = "") -> hr.Job:
    """A job with one sink: a folder, or the table at `url`."""
    sums = hr.sql(SUMS.format(limit), rows=read(folder, "rows", ROWS, follow=follow))
    if url:
        return hr.job(name, sums.write.jdbc(url, "sums", key=["k"], name="sums"))
    return hr.job(name, sums.write.files(place, format="json", mode="changes", name="sums"))


def wanted(folder: Path, limit: int = 10) -> dict[str, int]:
    """What the view is, by Python."""
    rows = [json.loads(line) for file in (folder / "rows").glob("*.json") for line in file.read_text().splitlines()]
    groups: dict[int, list[int]] = {}
    for row in rows:
        if row["v"] > limit:
            groups.setdefault(row["k"], []).append(row["v"])
    return {json.dumps({"k": k, "s": sum(all), "n": len(all)}, sort_keys=True): 1 for k, all in groups.items()}


def test_refused(tmp_path: Path) -> None:
    """Nothing is left of a refused fork."""
    add(tmp_path, 0)
    place, first, second = tmp_path / "out", tmp_path / "state" / "first", tmp_path / "state" / "second"
    theirs = small(tmp_path, "first", place)
    hide = {str(tmp_path): "<folder>"}
    check_error(
        """
        NOT_A_CHECKPOINT: <folder>/state/first is not a checkpoint: there is no such folder
          hint: a job keeps its checkpoint in .headrace/NAME unless the setting `checkpoint` names another folder
          more: headrace error NOT_A_CHECKPOINT
        """,
        lambda: hr.fork(first, theirs, at="then"),
        hide=hide,
    )
    theirs.run(checkpoint=first, progress=False, flush=False, partitions=1)
    was = files(first)

    def fork(job: hr.Job, at: str | None = None, checkpoint: Path = second, parent: Path = first) -> hr.Fork:
        return hr.fork(parent, job, at=at, checkpoint=checkpoint)

    check_error(
        """
        SINK_OF_PARENT: sums would write to <folder>/out, where sums of the job first writes
          at test_fork.py:*: return hr.job(name, sums.write.files(place, format="json", mode="changes", name="sums"))
          hint: nothing was changed: give the job second a sink of its own at another place
          more: headrace error SINK_OF_PARENT
        """,
        lambda: fork(small(tmp_path, "second", place)),
        hide=hide,
    )
    (tmp_path / "alias").symlink_to(place)
    with pytest.raises(HeadraceError, match="SINK_OF_PARENT"):
        fork(small(tmp_path, "second", tmp_path / "alias"))
    # one that another job has written
    small(tmp_path, "other", tmp_path / "taken").run(checkpoint=tmp_path / "taken's", progress=False, flush=False, partitions=1)
    with pytest.raises(HeadraceError, match="FOLDER_OWNED"):
        fork(small(tmp_path, "second", tmp_path / "taken"))
    check_error(
        """
        FORK_EXISTS: the fork of the job first has the same name
          hint: give it another name, because sinks tell jobs apart by their names: hr.job("NAME", ...), or --as NAME
          more: headrace error FORK_EXISTS
        """,
        lambda: fork(small(tmp_path, "first", tmp_path / "other")),
    )
    ours = small(tmp_path, "second", tmp_path / "other")
    with pytest.raises(HeadraceError, match=r"FORK_EXISTS: the checkpoint .*/state/first of the fork already exists"):
        fork(ours, checkpoint=first)
    (tmp_path / "state's").symlink_to(first)
    check_error(
        """
        FORK_EXISTS: the checkpoint <folder>/state's/second of the fork would be inside that of its parent
          hint: give the fork a checkpoint elsewhere with checkpoint=
          more: headrace error FORK_EXISTS
        """,
        lambda: fork(ours, checkpoint=tmp_path / "state's" / "second"),
        hide=hide,
    )
    check_error(
        """
        UNKNOWN_SAVEPOINT: <folder>/state/first has no savepoint then
          hint: it has none
          more: headrace error UNKNOWN_SAVEPOINT
        """,
        lambda: fork(ours, at="then"),
        hide=hide,
    )
    with pytest.raises(HeadraceError, match="BAD_INPUT"):
        hr.fork(first, "second")  # type: ignore[arg-type]
    with pytest.raises(HeadraceError, match="BAD_INPUT"):
        hr.fork(7, ours)  # type: ignore[arg-type]
    lease = Lease(first, answers=True)
    try:
        with pytest.raises(HeadraceError, match=r"CHECKPOINT_IN_USE: .* is in use by process") as busy:
            fork(ours)
        assert busy.value.hint == f"make a savepoint, which a running job does too, and fork that: headrace savepoint create {first} NAME"
    finally:
        lease.release()
        (first / f"lock.{lease.term}").rename(first / f"lock.{lease.term - 1}")
    preview = hr.fork(first, ours, checkpoint=second, dry_run=True)
    assert str(preview).endswith("corrected sink     sums\nnothing was changed")
    assert f"second: would be forked from first after epoch {preview.epochs['main']} to {second}" in str(preview)
    assert files(first) == was
    assert [path.name for path in first.parent.iterdir()] == ["first"]
    # before the first epoch is committed
    shutil.copytree(first, nothing := tmp_path / "nothing")
    shutil.rmtree(nothing / "queries" / "main" / "commits")
    check_error(
        """
        NO_STATE: the checkpoint <folder>/nothing has no state yet: no epoch is committed
          hint: run the job first, and fork it after its first epoch
          more: headrace error NO_STATE
        """,
        lambda: fork(ours, parent=nothing),
        hide=hide,
    )


class Later(datetime):
    """A clock that is an hour fast."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Later:
        return super().now(tz) + timedelta(hours=1)


@pytest.mark.parametrize(("left", "what"), [("switch", "a deploy to"), ("clearing", "a fresh start of")])
def test_a_parent_that_was_interrupted(left: str, what: str, tmp_path: Path) -> None:
    """Since it was looked at: its next start finishes what was interrupted."""
    add(tmp_path, 0)
    first = tmp_path / "state" / "first"
    small(tmp_path, "first", tmp_path / "out").run(checkpoint=first, progress=False, flush=False, partitions=1)
    (first / left).mkdir()
    check_error(
        f"""
        CHECKPOINT_IN_USE: {what} the checkpoint <folder>/state/first was interrupted
          hint: nothing was changed: run the job once, which finishes it, and fork it then; or fork a savepoint
          more: headrace error CHECKPOINT_IN_USE
        """,
        lambda: parent.Parent.at(first, None),
        hide={str(tmp_path): "<folder>"},
    )


def test_changed_while_it_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A start of the parent, and the end of a savepoint, make the copy useless."""
    add(tmp_path, 0)
    first, second = tmp_path / "state" / "first", tmp_path / "state" / "second"
    job = small(tmp_path, "first", tmp_path / "out")
    job.run(checkpoint=first, progress=False, flush=False, partitions=1)
    job.savepoint("then", checkpoint=first)
    fork = small(tmp_path, "second", tmp_path / "out2")

    def meanwhile(does: Callable[[], object]) -> None:
        monkeypatch.setattr(parent, "copy", lambda folder, to: (copy(folder, to), does()))

    meanwhile(lambda: Lease(first).release())
    check_error(
        """
        CHECKPOINT_IN_USE: the checkpoint <folder>/state/first changed while it was being copied
          hint: nothing was changed: fork it again; or fork a savepoint
          more: headrace error CHECKPOINT_IN_USE
        """,
        lambda: hr.fork(first, fork, checkpoint=second),
        hide={str(tmp_path): "<folder>"},
    )

    def remade() -> None:
        savepoints.delete(first, "then")
        monkeypatch.setattr(savepoints, "datetime", Later)
        job.savepoint("then", checkpoint=first)

    meanwhile(remade)
    with pytest.raises(HeadraceError, match=r"CHECKPOINT_IN_USE: .* changed while it was being copied"):
        hr.fork(first, fork, at="then", checkpoint=second)
    meanwhile(lambda: savepoints.delete(first, "then"))
    with pytest.raises(HeadraceError, match="UNKNOWN_SAVEPOINT"):
        hr.fork(first, fork, at="then", checkpoint=second)
    assert [path.name for path in first.parent.iterdir()] == ["first"]


@pytest.mark.full
def test_a_table_of_the_parent(tmp_path: Path) -> None:
    """Several jobs may write to a table, but not a fork to that of its parent, or of the parent of that one."""
    add(tmp_path, 0)
    (tmp_path / "alias").symlink_to(tmp_path)
    first, second, third = (tmp_path / "state" / name for name in ("first", "second", "third"))
    small(tmp_path, "first", tmp_path, url=f"jdbc:sqlite:{tmp_path}/db").run(checkpoint=first, progress=False, flush=False, partitions=1)
    alias = f"jdbc:sqlite:{tmp_path}/alias/db"
    with pytest.raises(HeadraceError, match="SINK_OF_PARENT"):
        hr.fork(first, small(tmp_path, "second", tmp_path, url=alias), checkpoint=second)
    hr.fork(first, small(tmp_path, "second", tmp_path / "out2"), checkpoint=second)
    with pytest.raises(HeadraceError, match="SINK_OF_PARENT"):
        hr.fork(second, small(tmp_path, "third", tmp_path, url=alias), checkpoint=third)
    # a fork of a fork that has not run
    hr.fork(second, small(tmp_path, "third", tmp_path / "out3", 30), checkpoint=third)
    add(tmp_path, 1)
    for name, place, limit in (("second", "out2", 10), ("third", "out3", 30)):
        version = small(tmp_path, name, tmp_path / place, limit)
        version.run(checkpoint=tmp_path / "state" / name, progress=False, flush=False)
        assert held(tmp_path / place) == wanted(tmp_path, limit)


@pytest.mark.parametrize("rows", [True, False])
def test_a_mark_at_a_place_of_another_name(rows: bool, tmp_path: Path) -> None:
    """A database under a hard link: no path tells that it is the parent's. Its mark does, also if the parent has written no rows."""
    add(tmp_path, 0)
    first, second = tmp_path / "state" / "first", tmp_path / "state" / "second"
    theirs = small(tmp_path, "first", tmp_path, 10 if rows else 1000, url=f"jdbc:sqlite:{tmp_path}/db")
    theirs.run(checkpoint=first, progress=False, flush=False, partitions=1)
    os.link(tmp_path / "db", tmp_path / "other")
    fork = small(tmp_path, "second", tmp_path, url=f"jdbc:sqlite:{tmp_path}/other")
    with pytest.raises(
        HeadraceError, match=r"SINK_OF_PARENT: sums would write to sqlite:.*/other, table sums, where sums of the job first writes"
    ):
        hr.fork(first, fork, checkpoint=second)
    hr.fork(first, small(tmp_path, "second", tmp_path, url=f"jdbc:sqlite:{tmp_path}/own"), checkpoint=second)
    refused_later(fork, second)


def refused_later(version: hr.Job, checkpoint: Path) -> None:
    """Nothing starts or deploys a version of a fork that writes where an ancestor of it does."""
    was = files(checkpoint)
    for later in (
        lambda: version.run(checkpoint=checkpoint, progress=False, flush=False),
        lambda: version.deploy(checkpoint=checkpoint),
        lambda: version.deploy(checkpoint=checkpoint, dry_run=True),
    ):
        with pytest.raises(HeadraceError, match="SINK_OF_PARENT"):
            later()
    assert {name: text for name, text in files(checkpoint).items() if not name.startswith("lock")} == {
        name: text for name, text in was.items() if not name.startswith("lock")
    }


@pytest.mark.full
def test_refused_after_the_fork(tmp_path: Path) -> None:
    """A later version of a fork, before and after its first epoch, at a place of its parent, or of the parent of that one."""
    add(tmp_path, 0)
    first, second, third = (tmp_path / "state" / name for name in ("first", "second", "third"))
    url, own_url, other_url = (f"jdbc:sqlite:{tmp_path}/{name}" for name in ("db", "own", "other"))
    small(tmp_path, "first", tmp_path, url=url).run(checkpoint=first, progress=False, flush=False, partitions=1)
    hr.fork(first, small(tmp_path, "second", tmp_path, url=own_url), checkpoint=second)
    refused_later(small(tmp_path, "second", tmp_path, url=url), second)
    refused_later(small(tmp_path, "second", tmp_path, 30, url=url), second)
    own = small(tmp_path, "second", tmp_path, url=own_url)
    own.run(checkpoint=second, progress=False, flush=False)
    (second / "history.jsonl").unlink()
    refused_later(small(tmp_path, "second", tmp_path, url=url), second)
    own.savepoint("then", checkpoint=second)
    assert (second / "savepoints" / "then" / "forked.json").read_bytes() == (second / "forked.json").read_bytes()
    check_error(
        """
        FORK_EXISTS: the fork of the job second has the name of an ancestor, first
          hint: give it another name, because sinks tell jobs apart by their names: hr.job("NAME", ...), or --as NAME
          more: headrace error FORK_EXISTS
        """,
        lambda: hr.fork(second, small(tmp_path, "first", tmp_path / "out3"), checkpoint=third),
    )
    hr.fork(second, small(tmp_path, "third", tmp_path, url=other_url), at="then", checkpoint=third)
    assert [one.job for one in ancestors(third)] == ["second", "first"]
    refused_later(small(tmp_path, "third", tmp_path, url=url), third)
    refused_later(small(tmp_path, "third", tmp_path, url=own_url), third)
    # a fresh start makes it a job of its own
    small(tmp_path, "second", tmp_path, url=own_url).run(checkpoint=second, progress=False, flush=False, fresh=True)
    assert ancestors(second) == ()


def test_sinks_without_a_mark(tmp_path: Path) -> None:
    """A function is the place of its sink. A sink that only adds rows begins after the fork."""
    got: dict[str, list[int]] = {"one": [], "other": []}

    def one(frame: Any, epoch: int) -> None:
        got["one"] += [row.v for row in frame.collect()]

    def other(frame: Any, epoch: int) -> None:
        got["other"] += [row.v for row in frame.collect()]

    def copies(name: str, function: Any) -> hr.Job:
        rows = read(tmp_path, "rows", ROWS)
        return hr.job(name, rows.write.foreach_batch(function, name="function"), rows.write.console(name="shown"))

    first, second = tmp_path / "state" / "first", tmp_path / "state" / "second"
    add(tmp_path, 0)
    copies("first", one).run(checkpoint=first, progress=False, flush=False, partitions=1)
    with pytest.raises(
        HeadraceError, match="SINK_OF_PARENT: function would write to foreach_batch one, where function of the job first writes"
    ):
        hr.fork(first, copies("second", one), checkpoint=second)
    hr.fork(first, copies("second", other), checkpoint=second)
    assert next(one for one in stored_job(second).plan["nodes"] if one["name"] == "function")["options"]["function"].endswith("other")
    add(tmp_path, 1)
    copies("second", other).run(checkpoint=second, progress=False, flush=False)
    assert (len(got["one"]), len(got["other"])) == (60, 60)
    copies("first", one).run(checkpoint=first, progress=False, flush=False)
    assert got["one"][60:] == got["other"]


@pytest.mark.full
def test_life_after_a_fork(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A fork is a job like any other: `doctor`, savepoints, a deploy and a rollback, which never returns to the parent's sinks."""
    add(tmp_path, 0)
    first, second = tmp_path / "state" / "first", tmp_path / "state" / "second"
    small(tmp_path, "first", tmp_path / "out").run(checkpoint=first, progress=False, flush=False, partitions=1)
    hr.fork(first, small(tmp_path, "second", tmp_path / "out2", 30), checkpoint=second)
    assert cli.main(["doctor", str(second)]) == 0
    assert cli.main(["savepoint", "list", str(second)]) == 0
    assert capsys.readouterr().out.endswith("no savepoints\n")
    assert cli.main(["rollback", str(second)]) == 1
    assert "NOTHING_TO_DEPLOY" in capsys.readouterr().err
    small(tmp_path, "second", tmp_path / "out2", 30).run(checkpoint=second, progress=False, flush=False)
    small(tmp_path, "second", tmp_path / "out2", 20).deploy(checkpoint=second)
    small(tmp_path, "second", tmp_path / "out2", 20).run(checkpoint=second, progress=False, flush=False)
    assert held(tmp_path / "out2") == wanted(tmp_path, 20)
    assert cli.main(["rollback", str(second)]) == 0
    small(tmp_path, "second", tmp_path / "out2", 30).run(checkpoint=second, progress=False, flush=False)
    assert held(tmp_path / "out2") == wanted(tmp_path, 30)
    assert [one.name for one in small(tmp_path, "second", tmp_path).savepoints(checkpoint=second)] == ["before-deploy-1", "before-deploy-2"]


def test_interrupted(tmp_path: Path) -> None:
    """The fork of a job that was killed in an epoch reads its input in an epoch of its own, unless the epoch is counted already."""
    first, second = tmp_path / "state" / "first", tmp_path / "state" / "second"
    parent, fork = small(tmp_path, "first", tmp_path / "out"), small(tmp_path, "second", tmp_path / "out2")
    add(tmp_path, 0)
    parent.run(checkpoint=first, progress=False, flush=False, partitions=1)
    add(tmp_path, 1)
    with pytest.MonkeyPatch.context() as patch:
        failing(patch, "before sink commit")
        with pytest.raises(HeadraceError, match="Injected"):
            parent.run(checkpoint=first, progress=False, flush=False)
    was = files(first)
    hr.fork(first, fork, checkpoint=second)
    assert files(first) == was
    fork.run(checkpoint=second, progress=False, flush=False)
    assert held(tmp_path / "out2") == wanted(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        failing(patch, "after the record")
        with pytest.raises(HeadraceError, match="Injected"):
            parent.run(checkpoint=first, progress=False, flush=False)
    check_error(
        """
        EPOCH_UNFINISHED: epoch 2 of query main was interrupted when the job first had counted it already
          hint: nothing was changed: run first once, so that it finishes the epoch, then fork it
          more: headrace error EPOCH_UNFINISHED
        """,
        lambda: hr.fork(first, fork, checkpoint=tmp_path / "state" / "third"),
    )
    assert sorted(path.name for path in first.parent.iterdir()) == ["first", "second"]


@pytest.mark.full
def test_letters(tmp_path: Path) -> None:
    """Repaired rows belong to the state; dead letters stay with the parent."""
    first, second = tmp_path / "state" / "first", tmp_path / "state" / "second"
    add(tmp_path, 0)
    (tmp_path / "rows" / "broken.json").write_text('{"k": 1, "v": "x"}\n')
    parent = small(tmp_path, "first", tmp_path / "out")
    parent.run(checkpoint=first, progress=False, flush=False, partitions=1)
    (tmp_path / "repaired.json").write_text('{"k": 1, "v": 40, "ts": "2026-01-01 00:10:00"}\n')
    hr.letters(first).replay("rows", tmp_path / "repaired.json")
    parent.run(checkpoint=first, progress=False, flush=False)
    fork = small(tmp_path, "second", tmp_path / "out2")
    hr.fork(first, fork, checkpoint=second)
    assert state(first) == state(second)
    summary = fork.run(checkpoint=second, progress=False, flush=False)
    assert held(tmp_path / "out2") == held(tmp_path / "out")
    assert (len(hr.letters(first).table().rows()), len(hr.letters(second).table().rows()), sum(summary.dead_letters.values())) == (1, 0, 0)


JOB = """
import headrace as hr

rows = hr.read.files("rows", format="json", schema="k int, v int", name="rows")
sums = hr.sql("SELECT k, sum(v) AS s, count(*) AS n FROM rows WHERE v > 10 GROUP BY k", rows=rows)
job = hr.job("first", sums.write.files("out", format="json", mode="changes", name="sums"))
"""


def command(*arguments: str, point: str) -> int:
    """A command in a process of its own, which is killed at a point."""
    variables = {"HEADRACE_MASTER": "local[1]", "SPARK_DRIVER_MEMORY": "1g", FOLDER: ".", VARIABLE: f"{point}:kill"}
    child = subprocess.Popen([sys.executable, "-m", "headrace", *arguments], env={**os.environ, **variables}, start_new_session=True)
    ended = child.wait(300)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    return ended


@pytest.mark.full
@pytest.mark.parametrize("point", ["after the copy", "before the switch", "before the fork"])
def test_killed(point: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A fork that is killed leaves nothing that counts, and the same command makes it anew."""
    assert point in (*FORK_POINTS, "before the switch")
    monkeypatch.chdir(tmp_path)
    add(tmp_path, 0)
    (tmp_path / "job.py").write_text(JOB)
    assert cli.main(["run", "job.py", "--no-flush", "--quiet", "--partitions", "1"]) == 0
    was = files(tmp_path / ".headrace" / "first")
    fork = ("fork", "first", "--as", "second", "--path", "sums=out2")
    assert command(*fork, point=point) == -signal.SIGKILL
    assert not (tmp_path / ".headrace" / "second").exists()
    assert cli.main(["run", "job.py", "--as", "second", "--path", "sums=out2", "--checkpoint", ".headrace/.second.unfinished"]) == 1
    capsys.readouterr()
    assert cli.main([*fork]) == 0
    assert "second: was forked from first after epoch 0 to " in capsys.readouterr().out
    assert sorted(path.name for path in (tmp_path / ".headrace").iterdir()) == ["first", "second"]
    assert files(tmp_path / ".headrace" / "first") == was
    add(tmp_path, 1)
    assert cli.main(["run", "job.py", "--as", "second", "--path", "sums=out2", "--no-flush", "--quiet"]) == 0
    assert held(tmp_path / "out2") == wanted(tmp_path)
    assert cli.main(["doctor", "job.py", "--as", "second", "--path", "sums=out2"]) == 0
