"""Jobs that write tables of lakes whose checkpoint, or whose tables, are not those of the last run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from deltalake import DeltaTable
from pyiceberg.catalog import load_catalog

import headrace as hr
from headrace.certify import backups
from headrace.connectors.delta import Sink as Delta
from headrace.connectors.iceberg import Sink as Iceberg
from headrace.errors import HeadraceError
from tests.unit.connectors.delta import tasks as delta
from tests.unit.connectors.iceberg import tasks as iceberg
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")

TABLES = ("db.rows", "db.counts")


class Drill:
    """A job over a folder of files that writes its rows, and a count by key, to tables of both lakes."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.checkpoint = folder, folder / "checkpoint"
        self.rows = 0
        (folder / "in").mkdir()

    def job(self, files_per_epoch: int) -> hr.Job:
        catalog = iceberg.catalog(self.folder)
        schema = "k int, v int"
        rows = hr.read.files(self.folder / "in", format="json", schema=schema, files_per_epoch=files_per_epoch, name="rows")
        counts = rows.group_by("k").agg(n="count(*)")
        return hr.job(
            "drill",
            rows.write.delta(self.folder / "rows", name="delta"),
            counts.write.delta(self.folder / "counts", key="k", name="delta by key"),
            rows.write.iceberg("db.rows", catalog=catalog, name="iceberg"),
            counts.write.iceberg("db.counts", catalog=catalog, key="k", name="iceberg by key"),
        )

    def put(self, files: int) -> None:
        for _ in range(files):
            lines = (json.dumps({"k": v % 3, "v": v}) for v in (self.rows, self.rows + 1))
            (self.folder / "in" / f"{self.rows:06}.json").write_text("\n".join(lines) + "\n")
            self.rows += 2

    def run(self, *, files_per_epoch: int = 1, fresh: bool = False) -> None:
        self.job(files_per_epoch).run(checkpoint=self.checkpoint, flush=False, fresh=fresh, progress=False)

    def refused(self, starts: int = 2) -> HeadraceError:
        """With what a start is refused: each time with the same, and it touches nothing."""
        before = self.versions(), self.term()
        texts = set()
        for _ in range(starts):
            with pytest.raises(HeadraceError) as caught:
                self.run(files_per_epoch=3)
            texts.add(str(caught.value))
        assert len(texts) == 1 and (self.versions(), self.term()) == before
        return caught.value

    def check(self) -> None:
        """Each row is there once, and the counts are theirs."""
        rows = [(v % 3, v) for v in range(self.rows)]
        counts = [(k, len(range(k, self.rows, 3))) for k in range(3)]
        for contents in (delta.rows_of(self.folder / "rows"), iceberg.rows_of(self.folder, "db.rows")):
            assert sorted(contents) == sorted(rows)
        for contents in (delta.rows_of(self.folder / "counts"), iceberg.rows_of(self.folder, "db.counts")):
            assert sorted(contents) == counts

    def term(self) -> list[str]:
        return [path.name for path in self.checkpoint.glob("lock*")]

    def keep(self, name: str) -> None:
        backups.put_back(self.checkpoint, self.folder / name)

    def put_back(self, name: str) -> None:
        backups.put_back(self.folder / name, self.checkpoint)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Whatever is done within to the checkpoint and the tables, they are then as they were."""
        with TemporaryDirectory() as copy:
            shutil.copytree(self.folder, copy, dirs_exist_ok=True)
            yield
            shutil.rmtree(self.folder)
            shutil.copytree(copy, self.folder)

    def versions(self) -> list[int | None]:
        tables = [DeltaTable(self.folder / name).version() for name in ("rows", "counts") if (self.folder / name / "_delta_log").exists()]
        snapshots = [iceberg.table(self.folder, name).metadata for name in TABLES if self.catalog().table_exists(name)]
        return [*tables, *(metadata.current_snapshot_id for metadata in snapshots)]

    def restore(self, versions: list[Any]) -> None:
        """As of then, by what the tables have for that."""
        for name, version in zip(("rows", "counts"), versions[:2], strict=True):
            DeltaTable(self.folder / name).restore(version)
        for name, snapshot in zip(TABLES, versions[2:], strict=True):
            iceberg.table(self.folder, name).manage_snapshots().rollback_to_snapshot(snapshot).commit()

    def catalog(self) -> Any:
        return load_catalog("default", **iceberg.catalog(self.folder))


@pytest.fixture
def drill(tmp_path: Path) -> Drill:
    drill = Drill(tmp_path)
    drill.put(4)
    drill.run()
    return drill


@pytest.mark.parametrize(
    ("ahead", "starts"), [(1, 2), pytest.param(4, 10, marks=pytest.mark.full), pytest.param(50, 1, marks=pytest.mark.full)]
)
def test_a_checkpoint_that_was_put_back(drill: Drill, ahead: int, starts: int) -> None:
    drill.keep("old")
    then = drill.versions()
    drill.put(ahead)
    drill.run()
    drill.keep("new")
    drill.put_back("old")
    drill.put(2)
    error = drill.refused(starts)
    held = "; ".join(f"{name} holds epoch {3 + ahead}" for name in ("delta", "delta by key", "iceberg", "iceberg by key"))
    assert error.code == "CHECKPOINT_BEHIND" and held in error.message
    drill.put_back("new")
    drill.run()
    drill.check()
    # both of then: the tables go on from there, and what the newer checkpoint has written is no more
    drill.keep("newest")
    drill.put_back("old")
    drill.restore(then)
    for _ in range(2):
        drill.put(1)
        drill.run(files_per_epoch=2)
        drill.check()
    drill.put_back("newest")
    assert drill.refused().code in ("CHECKPOINT_BEHIND", "TABLE_REPLACED")


def removed(drill: Drill) -> None:
    shutil.rmtree(drill.folder / "rows")


def dropped(drill: Drill) -> None:
    drill.catalog().drop_table("db.counts")


def emptied(drill: Drill) -> None:
    shutil.rmtree(drill.folder / "counts" / "_delta_log")


def recreated(drill: Drill) -> None:
    schema = iceberg.table(drill.folder, "db.rows").schema()
    drill.catalog().drop_table("db.rows")
    drill.catalog().create_table("db.rows", schema)


def put_back(drill: Drill) -> None:
    DeltaTable(drill.folder / "counts").restore(2)


def test_tables_that_are_gone(drill: Drill) -> None:
    """Between two runs. A fresh start writes them anew."""
    gone: dict[Callable[[Drill], None], str] = {
        removed: f"TABLE_MISSING: delta: {drill.folder}/rows no longer exists, but the job has written to it up to epoch 3",
        dropped: "TABLE_MISSING: iceberg by key: db.counts (<catalog>) no longer exists, but the job has written to it up to epoch 3",
        emptied: f"TABLE_MISSING: delta by key: {drill.folder}/counts no longer exists, but the job has written to it up to epoch 3",
        recreated: "TABLE_REPLACED: iceberg: db.rows (<catalog>) holds no epoch of this job, but the job has written epoch 3 there",
        put_back: f"TABLE_REPLACED: delta by key: {drill.folder}/counts ends with epoch 1, but the job has written epoch 3 there",
    }
    catalog = ", ".join(f"{name}={value}" for name, value in sorted(iceberg.catalog(drill.folder).items()))
    for lose, text in gone.items():
        with drill.kept():
            lose(drill)
            error = drill.refused()
            check_error(
                f"{text}\n"
                "  hint: restore it, write the following rows to another place, "
                "or start over with fresh=True, which writes all rows again. Nothing was changed.\n"
                f"  more: headrace error {error.code}",
                error,
                hide={catalog: "<catalog>"},
            )
    for lose in (removed, dropped, recreated, put_back):
        lose(drill)
    drill.run(fresh=True)
    drill.check()


@pytest.mark.full
def test_tables_that_go_during_a_run(drill: Drill, monkeypatch: pytest.MonkeyPatch) -> None:
    drill.put(1)
    for sink, key, lose, what in (
        (Delta, (), removed, f"delta: {drill.folder}/rows"),
        (Iceberg, ("k",), dropped, "iceberg by key: db.counts"),
    ):
        commit = sink.commit

        def late(self: Any, *epoch: Any, commit: Any = commit, key: Any = key, lose: Any = lose) -> None:
            if self.key == key:
                lose(drill)
            commit(self, *epoch)

        with drill.kept():
            with monkeypatch.context() as patch:
                patch.setattr(sink, "commit", late)
                with pytest.raises(HeadraceError) as caught:
                    drill.run()
            expected = ("TABLE_MISSING", f"{what} is gone, and the rows of earlier epochs with it")
            assert (caught.value.code, caught.value.message) == expected
            assert drill.refused().code == "TABLE_MISSING"
    drill.run()
    drill.check()
