"""A deploy to a job that runs: it goes on while the version is prepared, and continues as that version."""

from __future__ import annotations

import json
import shutil
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

import headrace as hr
from headrace import cli
from headrace.spark.checkpoint import candidate, channel
from headrace.spark.checkpoint.channel import Command
from headrace.spark.checkpoint.folder import Checkpoint
from headrace.spark.compile.job import compile
from headrace.spark.deploy import receiver, sender
from headrace.spark.deploy.replacement import Replacement
from headrace.spark.deploy.request import Request
from tests.spark.engine import pairs
from tests.spark.engine.jobs import lines
from tests.spark.engine.pairs import PAIRS, READ, check_equal, held
from tests.spark.engine.test_rebuild import check_report, foretold, verdicts
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")


SAMPLE = ("left join",)


def put(folder: Path, part: int, rows: int = 50) -> None:
    (folder / "in").mkdir(parents=True, exist_ok=True)
    records = [{"k": i % 5, "v": (part * 100 + i) % 97} for i in range(rows)]
    fresh = folder / "in" / f".{part}"
    fresh.write_text("".join(json.dumps(record) + "\n" for record in records))
    fresh.rename(folder / "in" / f"{part}.json")


def job(folder: Path, over: int, *, follow: bool = True) -> hr.Job:
    rows = hr.read.files(folder / "in", format="json", schema="k int, v int", name="rows", follow=follow)
    sums = rows.filter(f"v > {over}").group_by("k").agg(n="count(*)", s="sum(v)").named("sums")
    stays = rows.group_by("k").agg(n="count(*)").named("stays")
    return hr.job(
        "sums",
        sums.write.files(folder / "out", format="json", mode="changes", name="out"),
        stays.write.files(folder / "stays", format="json", mode="changes", name="stays_out"),
    )


@contextmanager
def running(job: hr.Job, checkpoint: Path, **options: Any) -> Iterator[hr.Run]:
    run = job.start(checkpoint=checkpoint, progress=False, **options)
    try:
        yield run
    finally:
        run.stop()


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < end
        threading.Event().wait(0.05)


def sums_of(folder: Path, over: int, also: Sequence[dict[str, int]] = ()) -> dict[str, int]:
    """What the view is, by Python."""
    n: Counter[int] = Counter()
    s: Counter[int] = Counter()
    lines = [line for file in (folder / "in").glob("*.json") for line in file.read_text().splitlines()]
    for row in (*map(json.loads, lines), *also):
        if isinstance(row["v"], int) and row["v"] > over:
            n[row["k"]] += 1
            s[row["k"]] += row["v"]
    return {json.dumps({"k": k, "n": n[k], "s": s[k]}, sort_keys=True): 1 for k in n}


@pytest.mark.full
def test_deploy_roll_back_deploy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path, 0)
    state = tmp_path / "state"
    with running(job(tmp_path, 10), state, partitions=2) as run:
        until(lambda: run.progress.rows == 50)
        assert job(tmp_path, 10).deploy(checkpoint=state).unchanged
        preview = job(tmp_path, 40).deploy(checkpoint=state, dry_run=True)
        assert (preview.checkpoint, preview.pause_seconds, held(tmp_path / "out")) == (state, None, sums_of(tmp_path, 10))
        steps: list[str] = []
        deployment = job(tmp_path, 40).deploy(checkpoint=state, progress=steps.append)
        assert steps == ["computing 1 operator and 1 sink again from 50 rows", "switching"]
        assert [(one.name, one.verdict) for one in deployment.verdicts] == [(one.name, one.verdict) for one in preview.verdicts]
        assert deployment.pause_seconds is not None
        assert str(deployment).splitlines()[:-1] == [
            f"sums: was deployed to {state}",
            "  kept      source   rows",
            "  rebuilt   operator sums: 5 keys, 50 rows read again",
            "  kept      operator stays: 5 keys",
            "  corrected sink     out: 5 rows inserted, 5 rows retracted",
            "  kept      sink     stays_out",
        ]
        until(lambda: held(tmp_path / "out") == sums_of(tmp_path, 40))
        put(tmp_path, 1)
        until(lambda: run.progress.rows == 100)
        assert held(tmp_path / "out") == sums_of(tmp_path, 40)
        capsys.readouterr()
        assert cli.main(["rollback", str(state)]) == 0
        assert " s and continues with this version" in capsys.readouterr().out
        until(lambda: held(tmp_path / "out") == sums_of(tmp_path, 10))
        assert job(tmp_path, 40).deploy(checkpoint=state, partitions=3).partitions == 3
        put(tmp_path, 2)
        until(lambda: run.progress.rows == 150)
        assert held(tmp_path / "out") == sums_of(tmp_path, 40)
        assert (run.status, run.progress.rows, run.summary().rows) == ("running", 150, 150)
    assert run.error is None
    assert not (state / "candidate").exists()
    history = [json.loads(line) for line in (state / "history.jsonl").read_text().splitlines()]
    assert [(one["what"], one["result"]["report"]["unchanged"]) for one in history] == [("deploy", False)] * 3
    # the process that runs the job is the one that a deploy has left, so the next one continues
    job(tmp_path, 40, follow=False).run(checkpoint=state, progress=False)
    assert held(tmp_path / "out") == sums_of(tmp_path, 40)


class Feeder:
    """Adds parts of the input, one after the other."""

    parts = 1

    def feed(self, folder: Path, over: threading.Event) -> None:
        while not over.wait(0.2):
            pairs.add(folder, self.parts)
            self.parts += 1


@contextmanager
def feeding(folder: Path) -> Iterator[Feeder]:
    feeder, over = Feeder(), threading.Event()
    thread = threading.Thread(target=feeder.feed, args=(folder, over), daemon=True)
    thread.start()
    try:
        yield feeder
    finally:
        over.set()
        thread.join()


def rows_read(run: hr.Run) -> int:
    return sum(one["read"] for one in run.metrics["sources"] if one["name"] in ("rows", "prices"))


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in SAMPLE else pytest.mark.full) for name in PAIRS])
def test_in_mid_stream(name: str, tmp_path: Path) -> None:
    pair = PAIRS[name]
    out, afresh, state = tmp_path / "out", tmp_path / "afresh", tmp_path / "state"
    version = pair.new(tmp_path, out, follow=True)
    pairs.add(tmp_path, 0)
    with running(pair.old(tmp_path, out, follow=True), state, partitions=3) as run:
        until(lambda: rows_read(run) == READ)
        said = foretold(pair, version, state)
        with feeding(tmp_path) as feeder:
            if code := pair.refused or pair.refused_running:
                with pytest.raises(hr.HeadraceError) as refused:
                    version.deploy(checkpoint=state, on_change=pair.on_change, partitions=pair.partitions)
                assert refused.value.code == code
            else:
                deployment = version.deploy(checkpoint=state, on_change=pair.on_change, partitions=pair.partitions)
                assert verdicts(deployment.diff) == said and deployment.pause_seconds is not None and not deployment.unchanged
                check_report(pair, deployment)
        until(lambda: rows_read(run) == feeder.parts * READ)
    assert run.error is None
    for flush in (False, True) if not code else ():
        for place, checkpoint in ((out, state), (afresh, tmp_path / "other")):
            pair.new(tmp_path, place).run(checkpoint=checkpoint, progress=False, flush=flush)
        check_equal(pair, out, afresh)


def test_other_handlers(tmp_path: Path) -> None:
    """A start would accept them, so nothing of the checkpoint has to change; but the process that runs the job has to."""

    def version(factor: int) -> hr.Job:
        class Times(hr.Program):
            n = hr.Value("int", default=0)

            def on_event(self, e: Any) -> None:
                self.n.set(self.n.get() + 1)
                hr.emit(n=self.n.get() * factor)

        rows = hr.read.files(tmp_path / "in", format="json", schema="k int, v int", name="rows", follow=True)
        numbers = rows.key_by("k").process(Times, order="arrival").named("times")
        return hr.job("times", numbers.write.files(tmp_path / "out", format="json", name="out"))

    put(tmp_path, 0)
    state = tmp_path / "state"
    with running(version(1), state, partitions=2) as run:
        until(lambda: run.progress.rows == 50)
        assert not version(-1).deploy(checkpoint=state, dry_run=True).unchanged
        deployment = version(-1).deploy(checkpoint=state)
        assert (deployment.unchanged, deployment.pause_seconds is None) == (False, False)
        assert version(-1).deploy(checkpoint=state).unchanged
        put(tmp_path, 1)
        until(lambda: run.progress.rows == 100)
    assert run.error is None
    assert sorted(row["n"] for row in lines(tmp_path / "out")) == sorted([*range(1, 11), *range(-20, -10)] * 5)


@pytest.mark.full
def test_a_bounded_run_goes_on(tmp_path: Path) -> None:
    for part in range(30):
        put(tmp_path, part)
    rows = hr.read.files(tmp_path / "in", format="json", schema="k int, v int", name="rows", files_per_epoch=1)

    def version(over: int) -> hr.Job:
        counts = rows.filter(f"v > {over}").group_by("k").agg(n="count(*)", s="sum(v)").named("sums")
        return hr.job("sums", counts.write.files(tmp_path / "out", format="json", mode="changes", name="out"))

    with running(version(10), tmp_path / "state", partitions=1) as run:
        until(lambda: run.progress.rows >= 50)
        deployment = version(40).deploy(checkpoint=tmp_path / "state")
        summary = run.wait(300)
    assert summary is not None and (summary.rows, run.status) == (1500, "finished")
    assert deployment.pause_seconds is not None and run.progress.epochs >= 30
    assert held(tmp_path / "out") == sums_of(tmp_path, 40)


def test_refused(tmp_path: Path) -> None:
    """What the version refuses, or a start of it would, leaves the job as it was."""
    put(tmp_path, 0)
    state = tmp_path / "state"
    rows = hr.read.files(tmp_path / "in", format="json", schema="k int, v int", name="rows", follow=True)
    sums = rows.filter("v > 10").group_by("k").agg(n="count(*)", s="sum(v)").named("sums")
    sink = sums.write.files(tmp_path / "out", format="json", mode="changes", name="out")
    memory = hr.read.memory([(1,)], "k int", name="memory")
    hr.job("another", memory.write.files(tmp_path / "owned", format="json")).run(checkpoint=tmp_path / "another", progress=False)
    with running(job(tmp_path, 10), state, partitions=2) as run:
        until(lambda: run.progress.rows == 50)
        for other, code in (
            (rows.filter("v > 3").write.foreach_batch(lambda rows, epoch: None, name="here"), "FUNCTION_GONE"),
            (memory.write.files(tmp_path / "memory", format="json", name="there"), "ROWS_GONE"),
            (rows.write.files(tmp_path / "owned", format="json", name="there"), "FOLDER_OWNED"),
            (
                hr.read.files(tmp_path / "none", format="json", schema="k int", name="none").write.files(tmp_path / "n", format="json"),
                "PATH_MISSING",
            ),
        ):
            with pytest.raises(hr.HeadraceError) as refused:
                hr.job("sums", sink, other).deploy(checkpoint=state)
            assert refused.value.code == code
        check_error(
            """
            CANNOT_DEPLOY: there is read in the process that builds the job, and another one runs it
              hint: stop the job, deploy, and start it; or write to a sink that others can read
              more: headrace error CANNOT_DEPLOY
            """,
            lambda: hr.job("sums", sink, rows.write.memory(name="there")).deploy(checkpoint=state),
        )
        with candidate.claim(state):
            check_error(
                """
                CHECKPOINT_IN_USE: another process is deploying to, or comparing, the checkpoint <state>
                  hint: wait until it has ended, or cancel it with Ctrl-C, and try again
                  more: headrace error CHECKPOINT_IN_USE
                """,
                lambda: job(tmp_path, 40).deploy(checkpoint=state),
                hide={str(state): "<state>"},
            )
        put(tmp_path, 1)
        until(lambda: run.progress.rows == 100)
        assert held(tmp_path / "out") == sums_of(tmp_path, 10)
        assert not (state / "candidate").exists() and not (state / "next").exists()
    assert run.error is None


def test_another_process_works_on_the_checkpoint(tmp_path: Path) -> None:
    """One that does not run the job does not answer."""
    put(tmp_path, 0)
    job(tmp_path, 10, follow=False).run(checkpoint=tmp_path / "state", progress=False, flush=False)
    with closing(Checkpoint(tmp_path / "state")), pytest.raises(hr.CheckpointError, match="CHECKPOINT_IN_USE"):
        job(tmp_path, 40).deploy(checkpoint=tmp_path / "state")


@pytest.mark.full
def test_sinks_that_know_the_starts(tmp_path: Path) -> None:
    """After a restart, a deploy and a rollback, which all are starts to them."""

    def version(over: int, *, follow: bool) -> hr.Job:
        rows = hr.read.files(tmp_path / "in", format="json", schema="k int, v int", name="rows", follow=follow)
        sums = rows.filter(f"v > {over}").group_by("k").agg(n="count(*)", s="sum(v)").named("sums")
        place = f"sqlite:{tmp_path}/out.db"
        return hr.job(
            "sums",
            sums.write.delta(tmp_path / "delta", key="k", name="delta"),
            sums.write.jdbc(place, "sums", key="k", name="table"),
            sums.write.files(tmp_path / "out", format="json", mode="changes", name="out"),
        )

    def written() -> list[list[tuple[int, ...]]]:
        with closing(sqlite3.connect(tmp_path / "out.db")) as database:
            rows = database.execute("SELECT k, n, s FROM sums").fetchall()
        delta = DeltaTable(tmp_path / "delta").to_pyarrow_table().select(["k", "n", "s"]).to_pylist()
        files = [tuple(json.loads(row).values()) for row in held(tmp_path / "out")]
        return [sorted(rows), sorted(tuple(row.values()) for row in delta), sorted(files)]

    def wanted(over: int) -> list[list[tuple[int, ...]]]:
        return [sorted(tuple(json.loads(row).values()) for row in sums_of(tmp_path, over))] * 3

    state = tmp_path / "state"
    for part in (0, 1):
        put(tmp_path, part)
        version(10, follow=False).run(checkpoint=state, progress=False, flush=False, partitions=2)
    with running(version(10, follow=True), state) as run:
        for over in (40, 10, 60):
            assert version(over, follow=True).deploy(checkpoint=state).pause_seconds is not None
            until(lambda over=over: written() == wanted(over))  # type: ignore[misc]  # the value of this round
        put(tmp_path, 2)
        until(lambda: written() == wanted(60))
    assert run.error is None


def follow_for_long(patch: pytest.MonkeyPatch, little: float = 0) -> None:
    """Let no round be the last one because it was short, nor because the switch has `little` left to read, in seconds."""
    patch.setattr(sender, "_SHORT", 0)
    patch.setattr(sender, "_LITTLE", little)
    patch.setattr(sender, "_SHORTER", 1000)


@pytest.mark.parametrize("rows", [1, 20_000])
def test_what_is_left_for_the_switch(rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The switch reads a few rows that came meanwhile; a shadow run follows many."""
    put(tmp_path, 0, 2000)
    state = tmp_path / "state"
    follow_for_long(monkeypatch, sender._LITTLE)
    monkeypatch.setattr(sender, "_ROUNDS", 2)
    steps: list[str] = []

    def look(line: str) -> None:
        steps.append(line)
        if len(steps) == 1:
            put(tmp_path, 1, rows)
            until(lambda: run.progress.rows == 2000 + rows)

    with running(job(tmp_path, 10), state, partitions=2) as run:
        until(lambda: run.progress.rows == 2000)
        job(tmp_path, 40).deploy(checkpoint=state, progress=look)
        until(lambda: held(tmp_path / "out") == sums_of(tmp_path, 40))
    begins = "computing 1 operator and 1 sink again from 2,000 rows"
    assert steps == [begins, *(["following the job"] if rows > 1 else []), "switching"]
    assert run.error is None


@pytest.mark.full
def test_several_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shadow run follows the job, which goes on."""
    put(tmp_path, 0)
    state = tmp_path / "state"
    follow_for_long(monkeypatch)
    steps: list[str] = []

    def look(line: str) -> None:
        steps.append(line)
        if line == "following the job" and len(steps) < 5:
            put(tmp_path, len(steps))
            until(lambda: run.progress.rows == 50 * len(steps))

    with running(job(tmp_path, 10), state, partitions=2) as run:
        until(lambda: run.progress.rows == 50)
        job(tmp_path, 40).deploy(checkpoint=state, progress=look)
        until(lambda: held(tmp_path / "out") == sums_of(tmp_path, 40))
    assert steps == ["computing 1 operator and 1 sink again from 50 rows", *["following the job"] * 7, "switching"]
    assert run.error is None


@pytest.mark.full
def test_another_purpose_in_a_later_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shadow run begins anew: operators that it did not have would lack the rows of the first round."""
    put(tmp_path, 0)
    state = tmp_path / "state"
    follow_for_long(monkeypatch)
    steps: list[str] = []
    folders: list[bool] = []

    def look(line: str) -> None:
        steps.append(line)
        folders.append((state / "candidate" / "shadow").exists())

    monkeypatch.setattr(Replacement, "purpose", property(lambda self: "other" if steps else "first"))
    with running(job(tmp_path, 10), state, partitions=2) as run:
        until(lambda: run.progress.rows == 50)
        job(tmp_path, 40).deploy(checkpoint=state, progress=look)
        until(lambda: held(tmp_path / "out") == sums_of(tmp_path, 40))
    begins = "computing 1 operator and 1 sink again from 50 rows"
    assert steps == [begins, begins, *["following the job"] * 6, "switching"]
    assert folders == [False, False, *[True] * 7]
    assert run.error is None


@pytest.mark.full
def test_a_sender_that_cancels_while_the_job_switches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was prepared belongs to the process that switches."""
    put(tmp_path, 0)
    state = tmp_path / "state"
    take_over = candidate.take_over

    def taken(folder: Path, to: Path) -> bool:
        taken = take_over(folder, to)
        shutil.rmtree(folder / "candidate")
        return taken

    monkeypatch.setattr(candidate, "take_over", taken)
    with running(job(tmp_path, 10), state, partitions=2) as run:
        until(lambda: run.progress.rows == 50)
        job(tmp_path, 40).deploy(checkpoint=state)
        until(lambda: held(tmp_path / "out") == sums_of(tmp_path, 40))
    assert run.error is None


def test_a_command_to_another_process(tmp_path: Path) -> None:
    """A deploy that its sender and the job did not survive is not carried out later."""
    put(tmp_path, 0)
    state = tmp_path / "state"
    with running(job(tmp_path, 10), state, partitions=2):
        pass
    request = Request(compile(job(tmp_path, 10).plan), partitions=3)
    left = Command.make("deploy", purpose="", term=1, **request.to_json())
    channel.send(state, left)
    with running(job(tmp_path, 10), state) as run:
        check_error(
            """
            DEPLOY_OVERTAKEN: the job sums has changed while the deploy was prepared: another process runs it
              hint: nothing was changed: deploy again; or stop the job, deploy, and start it
              more: headrace error DEPLOY_OVERTAKEN
            """,
            lambda: channel.answered(state, left, lambda: True),
        )
    assert json.loads((state / "job.json").read_text())["partitions"] == 2 and run.error is None
    assert "plan" not in json.loads((state / "history.jsonl").read_text())["arguments"]


@pytest.mark.full
def test_repaired_rows_that_come_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, 0)
    state = tmp_path / "state"
    (tmp_path / "in" / "1.json").write_text('{"k": 1, "v": "many"}\n')
    with running(job(tmp_path, 10), state, partitions=2) as run:
        until(lambda: run.progress.rows == 51)

        def look(line: str) -> None:
            if line == "switching":
                (tmp_path / "mended").write_text('{"k": 1, "v": 70}\n')
                hr.letters(state).replay("rows", tmp_path / "mended")
                until(lambda: run.progress.rows == 52)

        job(tmp_path, 40).deploy(checkpoint=state, progress=look)
        wanted = sums_of(tmp_path, 40, also=[{"k": 1, "v": 70}])
        until(lambda: held(tmp_path / "out") == wanted)
    assert run.error is None


@pytest.mark.full
def test_a_job_that_changes_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was prepared for another purpose is prepared again, and after some attempts the deploy gives up."""
    put(tmp_path, 0)
    state = tmp_path / "state"
    purposes = iter(range(100))
    with running(job(tmp_path, 10), state, partitions=2) as run:
        until(lambda: run.progress.rows == 50)
        with monkeypatch.context() as changes:
            changes.setattr(Replacement, "purpose", property(lambda self: f"{next(purposes)}"))
            check_error(
                """
                DEPLOY_OVERTAKEN: the job sums has changed while the deploy was prepared: other parts have to be computed again
                  hint: nothing was changed: deploy again; or stop the job, deploy, and start it
                  more: headrace error DEPLOY_OVERTAKEN
                """,
                lambda: job(tmp_path, 40).deploy(checkpoint=state),
            )
        assert held(tmp_path / "out") == sums_of(tmp_path, 10)
        job(tmp_path, 40).deploy(checkpoint=state)
        until(lambda: held(tmp_path / "out") == sums_of(tmp_path, 40))
    assert run.error is None


def test_a_start_that_fails_after_the_switch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run ends with the error, the deploy reports it, and the next start continues as the new version."""
    put(tmp_path, 0)
    state = tmp_path / "state"

    def fails(*arguments: object, **options: object) -> None:
        raise hr.HeadraceError("DISK_FULL", "the disk is full")

    run = job(tmp_path, 10).start(checkpoint=state, progress=False, partitions=2)
    until(lambda: run.progress.rows == 50)
    with monkeypatch.context() as changes:
        changes.setattr(receiver, "begin_on", fails)
        with pytest.raises(hr.HeadraceError, match="DISK_FULL"):
            job(tmp_path, 40).deploy(checkpoint=state)
        with pytest.raises(hr.HeadraceError, match="DISK_FULL"):
            run.wait(300)
    assert run.status == "failed"
    job(tmp_path, 40, follow=False).run(checkpoint=state, progress=False)
    assert held(tmp_path / "out") == sums_of(tmp_path, 40)


def test_a_stop_during_the_switch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, 0)
    state = tmp_path / "state"
    begins = receiver.begin_on

    def stopped(*arguments: Any, **options: Any) -> Any:
        run._request(now=False)
        return begins(*arguments, **options)

    run = job(tmp_path, 10).start(checkpoint=state, progress=False, partitions=2)
    until(lambda: run.progress.rows == 50)
    with monkeypatch.context() as changes:
        changes.setattr(receiver, "begin_on", stopped)
        job(tmp_path, 40).deploy(checkpoint=state)
        assert run.wait(300) is not None and run.status == "stopped"
    job(tmp_path, 40, follow=False).run(checkpoint=state, progress=False)
    assert held(tmp_path / "out") == sums_of(tmp_path, 40)
