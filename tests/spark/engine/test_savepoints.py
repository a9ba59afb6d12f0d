"""Savepoints of jobs that run and that do not, and commands to a running job."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import headrace as hr
from headrace import cli
from headrace.durable.filelog import logs_read
from headrace.errors import HeadraceError
from headrace.spark.checkpoint import channel, savepoints
from headrace.spark.checkpoint.channel import Command
from headrace.spark.checkpoint.copying import copy
from headrace.spark.run.commands import Commands
from tests.spark.engine.jobs import files, lines
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")


def put(folder: Path, part: int) -> None:
    (folder / "in").mkdir(parents=True, exist_ok=True)
    rows = [{"k": i % 5, "v": part * 100 + i} for i in range(50)]
    fresh = folder / "in" / f".{part}"
    fresh.write_text("".join(json.dumps(row) + "\n" for row in rows))
    fresh.rename(folder / "in" / f"{part}.json")


def job(folder: Path, *, follow: bool = False) -> hr.Job:
    rows = hr.read.files(folder / "in", format="json", schema="k int, v int", name="rows", follow=follow)
    sums = rows.group_by("k").agg(n="count(*)", s="sum(v)").named("sums")
    return hr.job("sums", sums.write.files(folder / "out", format="json", mode="changes", name="out"))


def state(folder: Path) -> list[tuple[Any, ...]]:
    return hr.state(folder).query("SELECT key.k, rows FROM sums ORDER BY 1").rows()


def test_a_job_that_does_not_run(tmp_path: Path) -> None:
    put(tmp_path, 0)
    checkpoint = tmp_path / "checkpoint"
    job(tmp_path).run(checkpoint=checkpoint, partitions=2)
    shutil.copytree(tmp_path / "out", tmp_path / "out then")
    taken = job(tmp_path).savepoint("first", checkpoint=checkpoint)
    assert (taken.name, taken.job, taken.epochs, len(taken.plan)) == ("first", "sums", {"main": 0}, 64)
    place = checkpoint / "savepoints" / "first"
    then = files(place)
    assert {name: text for name, text in files(checkpoint).items() if name in then} == {
        name: text for name, text in then.items() if name != "savepoint.json"
    }
    check_error(
        """
        SAVEPOINT_EXISTS: <folder>/checkpoint has a savepoint first already
          hint: choose another name, or delete that savepoint first
          more: headrace error SAVEPOINT_EXISTS
        """,
        lambda: job(tmp_path).savepoint("first", checkpoint=checkpoint),
        hide={str(tmp_path): "<folder>"},
    )
    # what the job does from now on does not touch it
    put(tmp_path, 1)
    job(tmp_path).run(checkpoint=checkpoint)
    job(tmp_path).savepoint("second", checkpoint=checkpoint, pinned=True)
    assert files(place) == then
    assert [(one.name, one.epochs, one.pinned) for one in job(tmp_path).savepoints(checkpoint=checkpoint)] == [
        ("first", {"main": 0}, False),
        ("second", {"main": 1}, True),
    ]
    after = sorted(map(str, lines(tmp_path / "out")))
    # with the sinks of that moment it is a backup
    back = shutil.copytree(place, tmp_path / "back")
    shutil.rmtree(tmp_path / "out")
    shutil.copytree(tmp_path / "out then", tmp_path / "out")
    assert state(back) == [(k, 10) for k in range(5)]
    job(tmp_path).run(checkpoint=back)
    assert (sorted(map(str, lines(tmp_path / "out"))), state(back)) == (after, [(k, 20) for k in range(5)])
    # what a crash has left is removed
    (checkpoint / "savepoints" / ".third.unfinished").mkdir()
    (checkpoint / "savepoints" / ".old.deleted").mkdir()
    # a fresh start keeps them
    shutil.rmtree(tmp_path / "out")
    job(tmp_path).run(checkpoint=checkpoint, fresh=True)
    assert [one.name for one in job(tmp_path).savepoints(checkpoint=checkpoint)] == ["first", "second"]
    job(tmp_path).savepoint("third", checkpoint=checkpoint)
    assert sorted(path.name for path in (checkpoint / "savepoints").iterdir()) == ["first", "second", "third"]


def test_what_a_savepoint_has(tmp_path: Path) -> None:
    """All but what a sink has staged, whatever a query or source is called."""
    kept = (
        "queries/staging/offsets/0",
        "queries/main/sources/staging/0",
        "epochs/staging/0.json",
        "dead_letters/main/_headrace/owner.json",
    )
    left = ("dead_letters/main/_headrace/staging/3/part", "commands/1.json", "next/job.json", "lock.3", "savepoints/first/job.json")
    for name in (*kept, *left):
        (tmp_path / "checkpoint" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "checkpoint" / name).write_text(name)
    copy(tmp_path / "checkpoint", tmp_path / "copy")
    assert {str(path.relative_to(tmp_path / "copy")) for path in (tmp_path / "copy").rglob("*") if path.is_file()} == set(kept)


def test_no_savepoint_before_the_end_of_a_replay(tmp_path: Path) -> None:
    """A query that repeats an interrupted epoch does not stop before it, and seems to be between two epochs until it begins."""
    checkpoint = tmp_path / "checkpoint"
    put(tmp_path, 0)
    job(tmp_path).run(checkpoint=checkpoint, flush=False, partitions=1)
    logs = checkpoint / "queries" / "main"
    shutil.copy(logs / "offsets" / "0", logs / "offsets" / "1")
    handle = SimpleNamespace(hold=lambda: None, isHeld=lambda: True, release=lambda: None)
    query: Any = SimpleNamespace(handle=handle, identity=SimpleNamespace(name="main"))
    commands = Commands(checkpoint, [query], lambda: None, dict, {})
    channel.send(checkpoint, Command.make("savepoint", name="first"))
    commands.step()
    assert not (checkpoint / "savepoints").exists()
    shutil.copy(logs / "commits" / "0", logs / "commits" / "1")
    commands.step()
    assert [one.name for one in job(tmp_path).savepoints(checkpoint=checkpoint)] == ["first"]


def test_a_running_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path, 0)
    checkpoint = tmp_path / "checkpoint"
    run = job(tmp_path, follow=True).start(checkpoint=checkpoint, progress=False, partitions=2)
    try:
        for part in range(1, 4):
            run.savepoint(f"s{part}")
            put(tmp_path, part)
            assert cli.main(["savepoint", "create", str(checkpoint), f"also s{part}", "--pin"]) == 0
        with pytest.raises(HeadraceError, match="SAVEPOINT_EXISTS"):
            run.savepoint("s1")
        capsys.readouterr()
        assert cli.main(["status", str(checkpoint)]) == 0
        status = json.loads(capsys.readouterr().out)
        assert (status["status"], status["job"]) == ("running", "sums")
        channel.send(checkpoint, strange := Command.make("dance"))
        check_error(
            """
            UNKNOWN_COMMAND: this version of headrace does not know the command dance
              hint: the job was started with another version: restart it with the installed one
              more: headrace error UNKNOWN_COMMAND
            """,
            lambda: channel.answered(checkpoint, strange, lambda: True),
        )
        # a damaged file does not end the job, and stays for a look
        (checkpoint / "commands" / "0.json").write_text("{")
        channel.send(checkpoint, Command("1", "savepoint", {"name": 7}, "somebody", "2026-01-01"))
        assert cli.main(["stop", str(checkpoint)]) == 0
    finally:
        run.stop()
    assert run.status == "stopped"
    done = [json.loads(line) for line in (checkpoint / "history.jsonl").read_text().splitlines()]
    assert [(one["what"], one.get("error")) for one in done] == [
        *([("savepoint", None)] * 6),
        ("savepoint", "SAVEPOINT_EXISTS"),
        ("status", None),
        ("dance", "UNKNOWN_COMMAND"),
        ("", "UNKNOWN_COMMAND"),
        ("savepoint", "UNKNOWN_COMMAND"),
        ("stop", None),
    ]
    assert sorted(path.name for path in (checkpoint / "commands").iterdir()) == ["0.answer.json", "0.json", "1.answer.json", "1.json"]
    # each is of a moment between two epochs: what it has read is in its state
    for one in job(tmp_path).savepoints(checkpoint=checkpoint):
        place = shutil.copytree(one.folder, tmp_path / one.name)
        query = place / "queries" / "main"
        # the log may list files that no epoch has begun to read
        last = logs_read(query / "offsets" / f"{one.epochs['main']}").get("rows", -1) if one.epochs else -1
        read = [line for file in range(last + 1) for line in (query / "sources" / "rows" / f"{file}").read_text().splitlines()[1:]]
        assert not one.epochs or state(place) == [(k, 10 * len(read)) for k in range(5)]
    check_error(
        """
        NOT_RUNNING: no process works on the checkpoint <folder>/checkpoint
          hint: start the job, or name another checkpoint
          more: headrace error NOT_RUNNING
        """,
        lambda: cli_error("stop", str(checkpoint)),
        hide={str(tmp_path): "<folder>"},
    )


def cli_error(*arguments: str) -> None:
    """Run a command without catching its error."""
    options = cli.parser().parse_args(arguments)
    options.run(options)


def test_a_command_that_nobody_has_carried_out(tmp_path: Path) -> None:
    """The next process does it, once."""
    put(tmp_path, 0)
    checkpoint = tmp_path / "checkpoint"
    job(tmp_path).run(checkpoint=checkpoint, partitions=1)
    channel.send(checkpoint, command := Command.make("savepoint", name="left", pinned=False))
    run = job(tmp_path, follow=True).start(checkpoint=checkpoint, progress=False)
    try:
        result = channel.answered(checkpoint, command, lambda: True)
        assert result is not None and result["name"] == "left"
        # the answer was lost: the same command finds its savepoint
        channel.send(checkpoint, command)
        again = channel.answered(checkpoint, command, lambda: True)
        assert again is not None and again["at"] == result["at"]
    finally:
        run.stop()


def test_pruning_and_deleting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path, 0)
    checkpoint = tmp_path / "checkpoint"
    job(tmp_path).run(checkpoint=checkpoint, partitions=1)
    for name in ("a", "b", "c", "d"):
        savepoints.take(checkpoint, name, pinned=name == "a")
    names = lambda: [one.name for one in savepoints.savepoints(checkpoint)]  # noqa: E731  # read after each step
    assert cli.main(["savepoint", "prune", str(checkpoint), "--keep", "2"]) == 0
    assert (names(), capsys.readouterr().out.count("deleted ")) == (["a", "c", "d"], 1)
    assert cli.main(["savepoint", "prune", str(checkpoint), "--older-than", "1 hour"]) == 0
    assert names() == ["a", "c", "d"]
    assert [one.name for one in savepoints.prune(checkpoint, keep=None, older_than=timedelta(hours=-1))] == ["c", "d"]
    assert cli.main(["savepoint", "delete", str(checkpoint), "a"]) == 0
    assert names() == []
    check_error(
        """
        UNKNOWN_SAVEPOINT: <folder>/checkpoint has no savepoint a
          hint: it has none
          more: headrace error UNKNOWN_SAVEPOINT
        """,
        lambda: savepoints.delete(checkpoint, "a"),
        hide={str(tmp_path): "<folder>"},
    )
