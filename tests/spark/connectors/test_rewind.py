"""Sinks that are brought back to a checkpoint which was put back, by `headrace rewind`, and the jobs that go on from there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

import headrace as hr
from headrace.cli import main
from headrace.connectors.iceberg.table import Epochs as Iceberg
from headrace.durable.manifest import Manifest
from headrace.errors import HeadraceError
from tests.spark.connectors import test_lake_restored
from tests.spark.connectors.test_lake_restored import TABLES
from tests.unit.connectors.iceberg import tasks as iceberg
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")

JOB = """
import headrace as hr
from pathlib import Path
from tests.spark.connectors.test_rewind import Drill

job = Drill(Path(r"{folder}"), existing=True).job(1)
"""


class Drill(test_lake_restored.Drill):
    """A job that writes files beside tables of both lakes."""

    def __init__(self, folder: Path, *, existing: bool = False) -> None:
        if existing:
            self.folder, self.checkpoint, self.rows = folder, folder / "checkpoint", 0
        else:
            super().__init__(folder)
        self.more: list[Any] = []

    def job(self, files_per_epoch: int) -> hr.Job:
        catalog = iceberg.catalog(self.folder)
        where = self.folder / "in"
        rows = hr.read.files(where, format="json", schema="k int, v int", files_per_epoch=files_per_epoch, name="rows")
        counts = rows.group_by("k").agg(n="count(*)")
        return hr.job(
            "drill",
            rows.write.delta(self.folder / "rows", name="delta"),
            counts.write.delta(self.folder / "counts", key="k", name="delta by key"),
            rows.write.iceberg("db.rows", catalog=catalog, name="iceberg"),
            counts.write.iceberg("db.counts", catalog=catalog, key="k", name="iceberg by key"),
            rows.write.files(self.folder / "out", format="json", partition_by="k", name="files"),
            *(write(rows) for write in self.more),
        )

    def check(self) -> None:
        super().check()
        listed = [str(file) for file in (self.folder / "out").rglob("*.json") if not any(part[0] == "_" for part in file.parts)]
        written = duckdb.sql(f"SELECT k, v FROM read_json({listed}, hive_partitioning = true)").fetchall()
        assert sorted(written) == sorted((v % 3, v) for v in range(self.rows))

    def behind(self) -> None:
        """Four epochs, a copy, three more; then the copy is put back, and more input comes."""
        self.put(4)
        self.run()
        self.keep("old")
        self.put(3)
        self.run()
        self.put_back("old")
        self.put(2)

    def hint(self) -> str:
        error = self.refused(1)
        assert error.code == "CHECKPOINT_BEHIND" and error.hint is not None
        return error.hint.splitlines()[1]

    def touched(self) -> tuple[object, ...]:
        return self.versions(), self.term(), sorted(hr.committed_files(self.folder / "out"))

    def log(self) -> list[tuple[str, int, int, str]]:
        lines = (json.loads(line) for line in (self.checkpoint / "rewound.jsonl").read_text().splitlines())
        return [(line["sink"], line["from"], line["to"], line["what"]) for line in lines]


@pytest.fixture
def drill(tmp_path: Path) -> Drill:
    drill = Drill(tmp_path)
    drill.behind()
    return drill


def test_a_job_is_rewound_and_goes_on(drill: Drill, capsys: pytest.CaptureFixture[str]) -> None:
    (drill.folder / "job.py").write_text(JOB.format(folder=drill.folder))
    command = ["rewind", str(drill.folder / "job.py"), "--checkpoint", str(drill.checkpoint)]
    assert drill.hint() == "to continue from this one, rewind the sinks: headrace rewind FILE, or job.rewind(); fresh=True starts over."
    before = drill.touched()
    assert main(command) == 0 and drill.touched() == before
    lines = capsys.readouterr().out.splitlines()
    tables = [f"{drill.folder}/rows is restored to version ", f"{drill.folder}/counts is restored to version "]
    tables += [f"{name} is restored to snapshot " for name in TABLES]
    names = ["delta", "delta by key", "iceberg", "iceberg by key"]
    assert lines[0] == f"drill: would rewind 5 sinks to {drill.checkpoint}"
    for line, name, text in zip(lines[1:5], names, tables, strict=True):
        assert line.startswith(f"  {name}, from epoch 6 to epoch 3: {text}") and ", without " in line
    aside = f"{drill.folder}/out/_headrace/withdrawn/{4:020}-"
    assert lines[5].startswith(f"  files, from epoch 6 to epoch 3: 6 files and their manifests are moved to {aside}")
    fed = (
        "  rows that `headrace letters replay` has fed to rows since the checkpoint was copied are withdrawn, too: replay their files again"
    )
    assert lines[6:] == [fed, "nothing was changed; dry_run=False (--yes) rewinds them"]
    assert main([*command, "--yes"]) == 0
    done = capsys.readouterr().out.splitlines()
    assert (done[0], *done[-2:]) == (f"drill: rewound 5 sinks to {drill.checkpoint}", fed, "the next start continues from there")
    assert drill.log() == [(name, 6, 3, what) for name in (*names, "files") for what in ("begins", "done")]
    assert main([*command, "--yes"]) == 0
    assert capsys.readouterr().out == f"drill: the sinks hold what {drill.checkpoint} has written, nothing later\n"
    drill.run(files_per_epoch=2)
    drill.check()
    drill.put(1)
    drill.run()
    drill.check()
    # a second time, and to another epoch
    drill.put_back("old")
    assert len(drill.job(1).rewind(checkpoint=drill.checkpoint, dry_run=False).sinks) == 5
    drill.run(files_per_epoch=3)
    drill.check()


@pytest.mark.full
def test_it_is_cut_off_between_and_within_sinks(drill: Drill, monkeypatch: pytest.MonkeyPatch) -> None:
    """The job is refused until all sinks are back; each call goes on where the last one was cut off."""

    def dies(*args: Any, **options: Any) -> Any:
        raise KeyboardInterrupt

    for owner, name, ahead in ((Iceberg, "_restore", 3), (Manifest, "withdraw", 1), (Manifest, "put_aside", 0)):
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, dies)
            with pytest.raises(KeyboardInterrupt):
                drill.job(1).rewind(checkpoint=drill.checkpoint, dry_run=False)
        rewinding = drill.job(1).rewind(checkpoint=drill.checkpoint)
        assert len(rewinding.sinks) == ahead
        if ahead:
            assert "headrace rewind FILE" in drill.hint()
    # the start finishes what is left of the folder's
    drill.run(files_per_epoch=2)
    drill.check()


@pytest.mark.full
def test_it_comes_back_to_where_nothing_was_written(tmp_path: Path) -> None:
    """The copy is of the middle of the first epoch, which is done again."""
    drill = Drill(tmp_path)
    drill.put(1)
    drill.run()
    drill.keep("first")
    drill.put(2)
    drill.run()
    shutil.rmtree(tmp_path / "first" / "record")
    for log in (tmp_path / "first" / "queries").glob("*/commits/*"):
        log.unlink()
    drill.put_back("first")
    assert [one.to for one in drill.job(1).rewind(checkpoint=drill.checkpoint, dry_run=False).sinks] == [-1] * 5
    drill.run()
    drill.check()


@pytest.mark.full
def test_sinks_that_cannot_come_back(tmp_path: Path) -> None:
    drill = Drill(tmp_path)
    drill.more = [
        lambda rows: rows.write.jdbc(f"sqlite:{tmp_path}/t.db", "t", name="table"),
        lambda rows: rows.write.memory(name="kept"),
    ]
    drill.behind()
    assert drill.hint() == "to continue from this one, restore the sinks to the same moment; fresh=True starts over."
    before = drill.touched()
    for dry_run in (True, False):
        check_error(
            """
            CANNOT_REWIND: table: a jdbc sink cannot undo what was written; kept: it has no mark of its epochs, and would receive rows again
              hint: nothing was changed. Continue from the newest checkpoint; or restore all sinks from a backup of the moment at which the checkpoint was copied; or start over with fresh=True.
              more: headrace error CANNOT_REWIND
            """,
            lambda dry_run=dry_run: drill.job(1).rewind(checkpoint=drill.checkpoint, dry_run=dry_run),  # type: ignore[misc]  # of a loop
        )
    assert drill.touched() == before and not (drill.checkpoint / "rewound.jsonl").exists()


def test_a_sink_that_is_left_out(tmp_path: Path) -> None:
    checkpoint, copy = tmp_path / "checkpoint", tmp_path / "copy"

    def job(*names: str) -> hr.Job:
        rows = hr.read.files(tmp_path / "in", format="json", schema="k int", name="rows")
        return hr.job("shop", *(rows.write.files(tmp_path / name, format="json", name=name) for name in names))

    (tmp_path / "in").mkdir()
    for k in range(2):
        (tmp_path / "in" / f"{k}.json").write_text(json.dumps({"k": k}))
        job("kept", "old").run(checkpoint=checkpoint, flush=False, progress=False)
        if k == 0:
            shutil.copytree(checkpoint, copy)
    shutil.rmtree(checkpoint)
    copy.rename(checkpoint)
    stays = f"  old: this version of the job does not write to {tmp_path}/old, where later epochs stay"
    done = str(job("kept").rewind(checkpoint=checkpoint, dry_run=False)).splitlines()
    fed = (
        "  rows that `headrace letters replay` has fed to rows since the checkpoint was copied are withdrawn, too: replay their files again"
    )
    assert (done[1].startswith("  kept, from epoch 1 to epoch 0: "), done[2:]) == (
        True,
        [fed, stays, "the next start continues from there"],
    )
    again = f"shop: the sinks hold what {checkpoint} has written, nothing later"
    assert str(job("kept").rewind(checkpoint=checkpoint)).splitlines() == [again, stays]
    assert job("kept", "old").rewind(checkpoint=checkpoint).left_out == ()


def test_nothing_to_rewind(tmp_path: Path) -> None:
    drill = Drill(tmp_path)
    check_error(
        """
        NOTHING_TO_REWIND: <folder>/checkpoint is not a folder, so there is no epoch to rewind to
          hint: set checkpoint= to the folder in which the job keeps its state
          more: headrace error NOTHING_TO_REWIND
        """,
        lambda: drill.job(1).rewind(checkpoint=drill.checkpoint),
        hide={str(tmp_path): "<folder>"},
    )
    drill.checkpoint.mkdir()
    with pytest.raises(HeadraceError, match="NOTHING_TO_REWIND: no run has been started in"):
        drill.job(1).rewind(checkpoint=drill.checkpoint)
