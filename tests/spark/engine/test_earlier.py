"""Savepoints and forks of an earlier epoch: as if they had been made then."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace import cli, points
from headrace.errors import HeadraceError
from headrace.points import Armed
from headrace.spark.checkpoint.record import recorded
from tests.spark.engine.jobs import files, lines, minute
from tests.spark.engine.pairs import held
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")

SCHEMA = "card string, amount int, ts timestamp"


class Seen(hr.Program):
    """The amounts of a card in the order of their times, and a row when it is quiet for two minutes."""

    all = hr.List("int")
    due = hr.Timer()

    def on_event(self, e: Any) -> None:
        self.all.append(e.amount)
        self.due.set(e.ts + hr.minutes(2))
        hr.emit(card=self.key.card, what=hr.f.to_json(self.all.get()))

    def on_due(self, at: Any) -> None:
        hr.emit(card=self.key.card, what="quiet")


def put(folder: Path, part: int) -> None:
    """Twenty rows of nine minutes; one of them cannot be read, and one fails an expectation."""
    (folder / "in").mkdir(parents=True, exist_ok=True)
    rows = [{"card": f"c{i % 4}", "amount": part * 100 + i, "ts": minute(part * 11 + i // 2, i)} for i in range(18)]
    rows += [{"card": "c0", "amount": -part - 1, "ts": minute(part * 11)}]
    text = "".join(json.dumps(row) + "\n" for row in rows) + '{"card": "c1", "amount": "x"}\n'
    fresh = folder / "in" / f".{part}"
    fresh.write_text(text)
    fresh.rename(folder / "in" / f"{part}.json")


def job(folder: Path, name: str, *, least: int = 0, follow: bool = False, more: bool = False) -> hr.Job:
    """A job with its sinks in `folder`/NAME. `least`: the amounts from which rows are summed; `more`: an operator more."""
    charges = hr.read.files(folder / "in", format="json", schema=SCHEMA, name="charges", files_per_epoch=1, follow=follow)
    good = charges.watermark("ts", "1 minute").expect("amount >= 0")
    sums = good.filter(f"amount >= {least}").group_by("card").agg(n="count(*)", s="sum(amount)")
    out = folder / name
    sinks = [
        sums.write.files(out / "sums", format="json", mode="changes", name="sums"),
        good.key_by("card").process(Seen).named("seen_by").write.files(out / "seen", format="json", name="seen"),
        sums.write.jdbc(f"jdbc:sqlite:{folder}/{name}.db", "sums", key=["card"], name="table"),
    ]
    if more:
        latest = good.group_by("card").agg(last="max(amount)").named("latest_of")
        sinks.append(latest.write.files(out / "latest", format="json", mode="changes", name="latest"))
    return hr.job(name, *sinks)


def run(folder: Path, name: str, **options: Any) -> hr.Summary:
    flush = options.pop("flush", False)
    partitions = options.pop("partitions", None)
    return job(folder, name, **options).run(checkpoint=folder / "state" / name, progress=False, flush=flush, partitions=partitions)


def wanted(folder: Path, least: int = 0) -> dict[str, int]:
    """The sums, by Python."""
    groups: dict[str, list[int]] = {}
    for file in (folder / "in").glob("*.json"):
        for row in map(json.loads, file.read_text().splitlines()):
            if row["amount"] != "x" and row["amount"] >= least:
                groups.setdefault(row["card"], []).append(row["amount"])
    return {json.dumps({"card": card, "n": len(all), "s": sum(all)}, sort_keys=True): 1 for card, all in groups.items()}


def appended(folder: Path) -> Counter[str]:
    return Counter(json.dumps(row, sort_keys=True) for row in lines(folder))


def state(folder: Path) -> dict[str, Any]:
    opened = hr.state(folder)
    return {name: opened.table(name).rows() for name in opened.tables if not name.startswith("latest")}


def letters(folder: Path) -> list[tuple[Any, ...]]:
    return hr.letters(folder).table().rows()


def parts(folder: Path) -> dict[str, bytes]:
    """The files of a savepoint, without those that may be of a later moment: the files that sources know, tables of RocksDB that no
    snapshot names, and the record, which has the number of starts in its name.
    """
    return {
        name: text
        for name, text in files(folder).items()
        if "/sources/" not in name and "/SSTs/" not in name and not name.startswith(("record/", "savepoint.json"))
    }


def test_as_if_it_had_been_made_then(tmp_path: Path) -> None:
    """What an earlier epoch becomes is the savepoint that was made after it, and continues as that one does."""
    first = tmp_path / "state" / "first"
    for part in range(2):
        put(tmp_path, part)
    run(tmp_path, "first", partitions=2)
    then = job(tmp_path, "first").savepoint("then", checkpoint=first)
    totals = recorded(then.folder / "record", "main")
    shutil.copytree(tmp_path / "first", tmp_path / "first then")
    shutil.copy(tmp_path / "first.db", tmp_path / "first then.db")
    put(tmp_path, 2)
    run(tmp_path, "first")
    put(tmp_path, 3)
    run(tmp_path, "first", more=True, flush=True)
    was = {name: text for name, text in files(first).items() if not name.startswith("history.jsonl")}
    epoch = then.epochs["main"]
    earlier = job(tmp_path, "first").savepoint("earlier", at=epoch, checkpoint=first)
    assert (earlier.epochs, earlier.plan, earlier.pinned) == (then.epochs, then.plan, False)
    assert sorted(set(parts(earlier.folder)) ^ set(parts(then.folder))) == ["history.jsonl"]  # of the command that made `then`
    assert len((earlier.folder / "history.jsonl").read_text().splitlines()) == 1
    assert {**parts(then.folder), **parts(earlier.folder)} == parts(earlier.folder)
    assert recorded(earlier.folder / "record", "main") == totals
    assert (state(earlier.folder), letters(earlier.folder)) == (state(then.folder), letters(then.folder))
    assert {name: text for name, text in files(first).items() if name in was} == was
    assert [one["what"] for one in map(json.loads, (first / "history.jsonl").read_text().splitlines())] == [
        "savepoint",
        "savepoint of an epoch",
    ]
    # with the sinks of that moment it goes on
    end = held(tmp_path / "first" / "sums"), appended(tmp_path / "first" / "seen"), state(first), sorted(letters(first), key=str)
    assert "quiet" in str(end[1])
    for name in ("first", "first.db"):
        shutil.rmtree(tmp_path / name) if name == "first" else (tmp_path / name).unlink()
    shutil.copytree(tmp_path / "first then", tmp_path / "first")
    shutil.copy(tmp_path / "first then.db", tmp_path / "first.db")
    back = shutil.copytree(earlier.folder, tmp_path / "back")
    job(tmp_path, "first", more=True).run(checkpoint=back, progress=False)
    assert end[0] == wanted(tmp_path)
    assert (held(tmp_path / "first" / "sums"), appended(tmp_path / "first" / "seen")) == end[:2]
    assert state(back) == end[2]
    counts = Counter((source, node, reason, raw) for _, _, source, node, reason, *_, raw in letters(back))
    assert counts == Counter((source, node, reason, raw) for _, _, source, node, reason, *_, raw in end[3])
    assert recorded(back / "record", "main").of_source("charges", "read") == 80


def compare(folder: Path, name: str, other: str, least: int, before: Counter[str]) -> None:
    """Compare a fork with another job, which has run from the start: their sinks and state. `before`: the rows appended before the fork."""
    assert held(folder / name / "sums") == held(folder / other / "sums") == wanted(folder, least)
    assert appended(folder / name / "seen") + before == appended(folder / other / "seen") != before
    assert state(folder / "state" / name) == state(folder / "state" / other)


@pytest.mark.full
def test_forks(tmp_path: Path) -> None:
    """Of a job that does not run, with the same plan and another one; the parent is untouched, and goes on."""
    first = tmp_path / "state" / "first"
    put(tmp_path, 0)
    put(tmp_path, 1)
    run(tmp_path, "first", partitions=1)
    then, epoch = appended(tmp_path / "first" / "seen"), len(list((first / "queries" / "main" / "commits").glob("[0-9]*"))) - 1
    put(tmp_path, 2)
    put(tmp_path, 3)
    run(tmp_path, "first")
    was = files(first), files(tmp_path / "first")
    for name, least in (("same", 0), ("other", 110)):
        fork = hr.fork(first, job(tmp_path, name, least=least), at=epoch, checkpoint=tmp_path / "state" / name)
        assert (fork.epochs, fork.savepoint) == ({"main": epoch}, None)
        assert f"{name}: was forked from first after epoch {epoch} to " in str(fork)
        assert recorded(tmp_path / "state" / name / "record", "main").of_source("charges", "read") == 40
    put(tmp_path, 4)
    for name, least in (("same", 0), ("other", 110)):
        run(tmp_path, name, least=least)
    assert (files(first), files(tmp_path / "first")) == was
    for name, least in (("first", 0), ("fresh", 110)):
        run(tmp_path, name, least=least)
    compare(tmp_path, "same", "first", 0, then)
    compare(tmp_path, "other", "fresh", 110, then)


JOB = """
import headrace as hr

rows = hr.read.files("in", format="json", schema="card string, amount int", name="rows", files_per_epoch=1)
sums = hr.sql("SELECT card, sum(amount) AS s, count(*) AS n FROM rows WHERE amount >= 0 GROUP BY card", rows=rows)
job = hr.job("first", sums.write.files("out", format="json", mode="changes", name="sums"))
"""


@pytest.mark.full
def test_by_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A number is a savepoint of that name, else an epoch."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.py").write_text(JOB)
    for part in range(3):
        put(tmp_path, part)
    assert cli.main(["run", "job.py", "--no-flush", "--quiet", "--partitions", "1"]) == 0
    assert cli.main(["savepoint", "create", "first", "2", "--at", "1"]) == 0
    assert "2: first after epoch 1, made " in capsys.readouterr().out
    for name, at, epoch in (("by-number", "0", "0"), ("by-name", "2", "1, savepoint 2,")):
        assert cli.main(["fork", "first", "--at", at, "--as", name, "--path", f"sums={name}"]) == 0
        assert f"{name}: was forked from first after epoch {epoch} to " in capsys.readouterr().out
        assert cli.main(["run", "job.py", "--as", name, "--path", f"sums={name}", "--no-flush", "--quiet"]) == 0
        assert held(tmp_path / name) == wanted(tmp_path)
    assert cli.main(["fork", "first", "--at", "3", "--as", "none", "--path", "sums=none"]) == 1
    assert "UNKNOWN_EPOCH: the checkpoint" in capsys.readouterr().err
    assert cli.main(["fork", "first", "--at", "x3", "--as", "none", "--path", "sums=none"]) == 1
    assert "UNKNOWN_SAVEPOINT" in capsys.readouterr().err


@pytest.mark.full
def test_while_the_job_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The process that runs the job makes the savepoint, and one for a fork, which is gone after it."""
    put(tmp_path, 0)
    first = tmp_path / "state" / "first"
    run(tmp_path, "first", partitions=1)
    epoch = recorded(first / "record", "main").epoch
    then = appended(tmp_path / "first" / "seen")
    put(tmp_path, 1)
    put(tmp_path, 2)
    running = job(tmp_path, "first", follow=True).start(checkpoint=first, progress=False)
    try:
        while recorded(first / "record", "main").of_source("charges", "read") < 60:
            running.wait(timeout=0.1)
        taken = running.savepoint("by run", at=epoch)
        assert cli.main(["savepoint", "create", str(first), "7", "--at", str(epoch), "--pin"]) == 0
        assert f"7: first after epoch {epoch}, made " in capsys.readouterr().out
        fork = hr.fork(first, job(tmp_path, "second"), at=epoch, checkpoint=tmp_path / "state" / "second")
        with pytest.raises(HeadraceError, match="UNKNOWN_EPOCH"):
            running.savepoint("none", at=99)
        put(tmp_path, 3)
        while recorded(first / "record", "main").of_source("charges", "read") < 80:
            running.wait(timeout=0.1)
    finally:
        running.stop()
    assert (fork.savepoint, fork.epochs, taken.epochs) == (None, {"main": epoch}, {"main": epoch})
    assert {(one.name, one.epochs["main"], one.pinned) for one in job(tmp_path, "first").savepoints(checkpoint=first)} == {
        ("7", epoch, True),
        ("by run", epoch, False),
    }
    for name in ("first", "second"):  # the stop may have come before the commit of the last epoch
        run(tmp_path, name)
    compare(tmp_path, "second", "first", 0, then)
    # the savepoint is whole
    assert recorded(taken.folder / "record", "main").of_source("charges", "read") == 20
    assert cli.main(["doctor", str(taken.folder)]) == 0


@pytest.mark.parametrize("point", ["after the record", "before the record", "after sink commit"])
def test_an_epoch_that_was_interrupted(point: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The repetition of an epoch keeps what a return to it needs, once, whether it was counted before or not."""
    for part in range(3):
        put(tmp_path, part)
    state = tmp_path / "state"
    rows = hr.read.files(tmp_path / "in", format="json", schema=SCHEMA, name="charges", files_per_epoch=1)
    sums = rows.group_by("card").agg(n="count(*)").write.files(tmp_path / "out", format="json", mode="changes", name="sums")
    other = rows.filter("amount > 5").write.files(tmp_path / "other", format="json", name="other")
    counts = hr.job("counts", sums, other)
    with monkeypatch.context() as patch:
        patch.setattr(points, "OFF", False)
        patch.setattr(points, "_armed", Armed(point, "sums" if "sink" in point else "main", 2, "fail"))
        patch.setattr(points, "_passed", 0)
        with pytest.raises(HeadraceError, match="Injected"):
            counts.run(checkpoint=state, progress=False, flush=False, partitions=1)
    counts.run(checkpoint=state, progress=False, flush=False)
    reads = []
    for epoch in range(recorded(state / "record", "main").epoch + 1):
        folder = counts.savepoint(f"e{epoch}", at=epoch, checkpoint=state).folder
        reads.append(recorded(folder / "record", "main").of_source("charges", "read"))
    assert reads == [20, 40, 60]


@pytest.mark.full
def test_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is copied for an epoch to which no return is possible."""
    put(tmp_path, 0)
    first = tmp_path / "state" / "first"
    run(tmp_path, "first", partitions=1)
    put(tmp_path, 1)
    run(tmp_path, "first")
    last = recorded(first / "record", "main").epoch
    hide = {str(tmp_path): "<folder>"}
    was = {name: text for name, text in files(first).items() if name != "history.jsonl"}

    def save(epoch: int) -> None:
        job(tmp_path, "first").savepoint("none", at=epoch, checkpoint=first)

    check_error(
        f"""
        UNKNOWN_EPOCH: the checkpoint <folder>/state/first does not keep epoch 99
          hint: it keeps epochs 0 to {last}
          more: headrace error UNKNOWN_EPOCH
        """,
        lambda: save(99),
        hide=hide,
    )
    with pytest.raises(HeadraceError, match="UNKNOWN_EPOCH"):
        hr.fork(first, job(tmp_path, "second"), at=99, checkpoint=tmp_path / "state" / "second")
    assert {name: text for name, text in files(first).items() if name != "history.jsonl"} == was
    # state that is gone, counts that an earlier version of headrace did not keep, a log that is gone
    for pattern in ("queries/main/state/0/0/1_*", "epochs/main/0.record", "queries/main/offsets/0", "epochs/main/0.json"):
        (tmp_path / "gone").mkdir()
        gone = {file: file.rename(tmp_path / "gone" / file.name) for file in first.glob(pattern)}
        assert gone
        with pytest.raises(HeadraceError, match="UNKNOWN_EPOCH") as refused:
            save(0)
        assert refused.value.hint == f"it keeps epochs 1 to {last}"
        for file, moved in gone.items():
            moved.rename(file)
        (tmp_path / "gone").rmdir()
    for file in first.glob("epochs/main/*.record"):
        file.unlink()
    check_error(
        """
        UNKNOWN_EPOCH: the checkpoint <folder>/state/first does not keep epoch 0
          hint: it keeps those that the job commits from now on
          more: headrace error UNKNOWN_EPOCH
        """,
        lambda: save(0),
        hide=hide,
    )
    assert not (first / "savepoints").exists()
    # a deploy has written other state
    put(tmp_path, 2)
    job(tmp_path, "first").deploy(checkpoint=first, partitions=2)
    with pytest.raises(HeadraceError, match="UNKNOWN_EPOCH"):
        save(last)
    run(tmp_path, "first")
    with pytest.raises(HeadraceError) as refused:
        save(0)
    assert refused.value.hint == f"it keeps epochs {last + 1} to {recorded(first / 'record', 'main').epoch}"


def test_several_queries(tmp_path: Path) -> None:
    """Each counts its own epochs, so none is a moment of the job."""
    for part in range(2):
        put(tmp_path, part)
    sinks = [
        hr.read.files(tmp_path / "in", format="json", schema="card string", name=name, files_per_epoch=limit).write.files(
            tmp_path / name, format="json", name=f"{name}_out"
        )
        for name, limit in (("one", 1), ("other", 2))
    ]
    two = hr.job("two", *sinks)
    two.run(checkpoint=tmp_path / "state", progress=False, flush=False, partitions=1)
    check_error(
        """
        UNKNOWN_EPOCH: epoch 0 is not one moment of the job two: its streaming queries main, other_out count their own epochs
          hint: make a savepoint of the present moment: headrace savepoint create <folder>/state NAME
          more: headrace error UNKNOWN_EPOCH
        """,
        lambda: two.savepoint("none", at=0, checkpoint=tmp_path / "state"),
        hide={str(tmp_path): "<folder>"},
    )
    # one that is left out counts no more
    one = hr.job("two", sinks[0])
    put(tmp_path, 2)
    one.run(checkpoint=tmp_path / "state", progress=False, flush=False)
    last = recorded(tmp_path / "state" / "record", "main").epoch
    put(tmp_path, 3)
    one.run(checkpoint=tmp_path / "state", progress=False, flush=False)
    assert one.savepoint("then", at=last, checkpoint=tmp_path / "state").epochs["main"] == last
