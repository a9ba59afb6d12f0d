"""What a table of a lake holds of a job, whatever becomes of the table between two starts and during a run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from pyiceberg.catalog import load_catalog

from headrace.connectors import delta
from headrace.connectors.lake.sink import TableSink
from headrace.errors import HeadraceError
from headrace.ports import Mark
from tests.unit.connectors.delta.tasks import context
from tests.unit.connectors.iceberg import tasks as of_iceberg
from tests.unit.connectors.test_takeover import TABLES, Table, rows_of
from tests.unit.errors import check_error

KEYS = pytest.mark.parametrize("key", [None, "k"])
# The first begins with zeros, which a number does not keep.
IDENTITIES = [f"0{epoch}dab7cefdab7cefdab7cefdab7cef{epoch}f" for epoch in range(8)]
OTHER = "0123456789abcdef0123456789abcdef"


class Lake(Table):
    """A table whose epochs have identities, and what others do to it."""

    def mark(self, **changes: Any) -> Mark | None:
        sink = delta.Sink(self.folder / "t") if self.kind == "delta" else of_iceberg.sink(self.folder)
        return sink.mark(context(self.folder, **changes))

    def holds(self, epoch: int, identity: str = "") -> bool:
        mark = self.mark()
        expected = identity or IDENTITIES[epoch]
        return mark is not None and (mark.epoch, mark.exists) == (epoch, True) and mark.identity != "" and mark.agrees(expected)

    def write(self, sink: TableSink, *epochs: int, identity: str = "") -> None:
        for epoch in epochs:
            sink.commit(epoch, self.stage(sink, epoch, identity or IDENTITIES[epoch]))

    def newest(self) -> int:
        """The version or snapshot of now."""
        if self.kind == "delta":
            return DeltaTable(self.folder / "t").version()
        snapshot = of_iceberg.table(self.folder).current_snapshot()
        assert snapshot is not None
        return snapshot.snapshot_id

    def restore(self, version: Any) -> None:
        if self.kind == "delta":
            DeltaTable(self.folder / "t").restore(version)
        else:
            of_iceberg.table(self.folder).manage_snapshots().set_current_snapshot(version).commit()

    def drop(self) -> None:
        if self.kind == "delta":
            shutil.rmtree(self.folder / "t")
        else:
            self.catalog().drop_table("db.t")

    def make(self) -> None:
        """By somebody else."""
        if self.kind == "delta":
            DeltaTable.create(self.folder / "t", pa.schema({"k": pa.string(), "n": pa.int64()}), mode="overwrite")
        else:
            self.catalog().create_table("db.t", pa.schema({"k": pa.string(), "n": pa.int64()}))

    def append(self) -> None:
        """By another writer."""
        rows = pa.table({"k": ["other"], "n": [0]})
        if self.kind == "delta":
            write_deltalake(self.folder / "t", rows, mode="append")
        else:
            of_iceberg.table(self.folder).append(rows)

    def catalog(self) -> Any:
        return load_catalog("default", **of_iceberg.catalog(self.folder))


@TABLES
@KEYS
def test_a_table_tells_the_last_epoch_and_its_identity(tmp_path: Path, kind: str, key: str | None) -> None:
    lake = Lake(kind, tmp_path, key)
    assert lake.mark() == Mark(exists=False) and not (tmp_path / "t").exists() and not (tmp_path / "wh").exists()
    sink = lake.started(1)
    assert lake.mark() == Mark()
    lake.write(sink, 0, 1, 2)
    lake.append()
    before = lake.newest()
    assert lake.holds(2) and lake.newest() == before
    assert lake.mark(checkpoint_id="c2") == lake.mark(query="other") == Mark()
    lake.started(2)
    assert lake.holds(2)


@TABLES
@KEYS
def test_an_epoch_of_another_history_is_not_taken_for_one_that_comes_again(tmp_path: Path, kind: str, key: str | None) -> None:
    lake = Lake(kind, tmp_path, key)
    lake.write(lake.started(1), 0, 1)
    again = lake.started(2)
    lake.write(again, 1, 2)
    refused = """
        CHECKPOINT_BEHIND: sink holds epoch {} of another history, but this job was about to write its own epoch {}
          hint: nothing was written: two copies of one checkpoint have written to this sink. Stop the other job, or give this one another sink.
          more: headrace error CHECKPOINT_BEHIND
    """
    check_error(refused.format(2, 2), lambda: lake.write(again, 2, identity=OTHER))
    check_error(refused.format(2, 1), lambda: lake.write(again, 1))
    assert lake.rows() == rows_of(0, 1, 2) and lake.holds(2)
    # a copy of the checkpoint, in a start of the same number, that has counted one epoch more without rows for this sink
    twin = lake.started(2)
    lake.write(again, 3)
    with pytest.raises(HeadraceError, match="TABLE_REPLACED"):
        lake.write(twin, 4, identity=OTHER)
    assert lake.rows() == rows_of(0, 1, 2, 3)


@TABLES
def test_an_epoch_that_changes_no_row_is_known(tmp_path: Path, kind: str) -> None:
    lake = Lake(kind, tmp_path, "k")
    sink = lake.started(1)
    sink.commit(0, lake.stage(sink, 0, IDENTITIES[0], weight=-1))
    assert lake.holds(0) and lake.rows() == []
    lake.write(sink, 1)
    sink.commit(2, lake.stage(sink, 2, IDENTITIES[2], weight=-1))
    assert lake.holds(2) and lake.rows() == rows_of(1)
    with pytest.raises(HeadraceError, match="CHECKPOINT_BEHIND"):
        lake.write(lake.started(2), 2, identity=OTHER)


@TABLES
def test_a_table_from_before_there_were_identities(tmp_path: Path, kind: str) -> None:
    lake = Lake(kind, tmp_path)
    rows = pa.table({"k": ["a0", "b0"], "n": [0, 0]})
    if kind == "delta":
        for carried in ({"": 3, "/term": 1}, {"/term": 2}):
            applications = [Transaction(f"headrace/c1/main{name}", version) for name, version in carried.items()]
            write_deltalake(tmp_path / "t", rows, mode="append", commit_properties=CommitProperties(app_transactions=applications))
            rows = rows.slice(2)
    else:
        lake.catalog().create_namespace("db")
        lake.make()
        with of_iceberg.table(tmp_path).transaction() as transaction:
            transaction.append(rows, {"headrace.epoch": "3", "headrace.term": "2", "headrace.job": "job"})
            transaction.set_properties({"headrace.epoch.c1.main": "3/2"})
    assert lake.mark() == Mark(3)
    with pytest.raises(HeadraceError, match="SINK_FENCED"):
        lake.started(1)
    sink = lake.started(3)
    assert lake.mark() == Mark(3)
    lake.write(sink, 3)
    assert lake.rows() == rows_of(0)
    lake.write(sink, 4)
    assert lake.holds(4) and lake.rows() == rows_of(0, 4)


@TABLES
@KEYS
def test_a_table_that_goes_while_it_is_written(tmp_path: Path, kind: str, key: str | None) -> None:
    lake = Lake(kind, tmp_path, key)
    sink = lake.started(1)
    lake.write(sink, 0, 1)
    lake.drop()
    staged = lake.stage(sink, 2, IDENTITIES[2]) if kind == "delta" else lake.stage(sink, 2)
    name = str(tmp_path / "t") if kind == "delta" else "db.t"
    hint = "nothing of this epoch was written. Restore it, or start over with fresh=True, which writes all rows again"
    for _ in range(2):
        check_error(
            f"TABLE_MISSING: sink: {name} is gone, and the rows of earlier epochs with it\n"
            f"  hint: {hint}\n"
            "  more: headrace error TABLE_MISSING",
            lambda: sink.commit(2, staged),
        )
    assert lake.mark() == Mark(exists=False)
    lake.make()
    check_error(
        f"TABLE_REPLACED: sink: {name} holds no epoch of this job, but the job has written epoch 1 there\n"
        "  hint: restore it, write the following rows to another place, or start over with fresh=True, which writes all rows again. Nothing was changed.\n"
        "  more: headrace error TABLE_REPLACED",
        lambda: sink.commit(2, staged),
    )
    assert lake.mark() == Mark() and lake.rows() == []


@TABLES
def test_a_table_that_goes_between_a_look_and_a_commit(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = Lake(kind, tmp_path)
    sink = lake.started(1)
    attempt = sink._epochs._attempt

    def late(write: Any, mark: Mark) -> bool:
        lake.drop()
        return attempt(write, mark)

    monkeypatch.setattr(sink._epochs, "_attempt", late)
    with pytest.raises(HeadraceError, match="TABLE_MISSING"):
        lake.write(sink, 0)
    assert lake.mark() == Mark(exists=False)


def test_a_table_whose_files_are_gone_and_that_its_catalog_names(tmp_path: Path) -> None:
    lake = Lake("iceberg", tmp_path)
    sink = lake.started(1)
    lake.write(sink, 0)
    staged = lake.stage(sink, 1)
    shutil.rmtree(tmp_path / "wh")
    with pytest.raises(HeadraceError, match=r"TABLE_MISSING: sink: db\.t is gone"):
        sink.commit(1, staged)
    assert lake.mark() == Mark(exists=False)
    check_error(
        """
        TABLE_MISSING: the catalog has the Iceberg table db.t, but its files are gone
          at test_lake_marks.py:*: lambda: of_iceberg.sink(tmp_path).open(context(tmp_path, checkpoint_id="c2", fresh=True)),
          hint: restore them, or drop the table from the catalog
          more: headrace error TABLE_MISSING
        """,
        lambda: of_iceberg.sink(tmp_path).open(context(tmp_path, checkpoint_id="c2", fresh=True)),
    )
    lake.drop()
    fresh = of_iceberg.opened(of_iceberg.sink(tmp_path), context(tmp_path, checkpoint_id="c2", fresh=True))
    lake.write(fresh, 0)
    assert lake.rows() == rows_of(0)


def of_version(lake: Lake, version: int) -> None:
    lake.restore(version)


def with_more_on_top(lake: Lake, version: int) -> None:
    lake.append()
    lake.restore(version)
    lake.append()


def of_files(lake: Lake, version: int) -> None:
    """As a copy of its folder that is put back."""
    for path in (lake.folder / "t" / "_delta_log").glob("*.json"):
        if int(path.stem) > version:
            path.unlink()


@KEYS
@pytest.mark.parametrize(
    ("kind", "restore"),
    [
        ("iceberg", of_version),
        ("iceberg", with_more_on_top),
        ("delta", of_version),
        ("delta", with_more_on_top),
        ("delta", of_files),
    ],
)
def test_a_table_that_is_put_back(tmp_path: Path, kind: str, key: str | None, restore: Callable[[Lake, int], None]) -> None:
    lake = Lake(kind, tmp_path, key)
    first = lake.started(1)
    lake.write(first, 0, 1)
    version = lake.newest()
    second = lake.started(2)
    lake.write(second, 2, 3)
    assert lake.holds(3)
    restore(lake, version)
    assert lake.holds(1)
    # of the run that it was taken from
    with pytest.raises(HeadraceError, match="TABLE_REPLACED"):
        lake.write(second, 4)
    # and with a checkpoint of that time: the numbers of its epochs and starts come a second time
    again = lake.started(2)
    assert lake.holds(1)
    lake.write(again, 2, identity=OTHER)
    assert lake.holds(2, OTHER)
    lake.started(3)
    assert [row for row in lake.rows() if row[0] != "other"] == rows_of(0, 1, 2)


@pytest.mark.parametrize("how", ["replaced", "restored by time"])
def test_a_table_of_which_its_log_tells_no_more(tmp_path: Path, how: str) -> None:
    lake = Lake("delta", tmp_path)
    sink = lake.started(1)
    lake.write(sink, 0, 1)
    if how == "replaced":
        lake.make()
    else:
        os.utime(tmp_path / "t" / "_delta_log" / f"{0:020}.json", (0, 0))
        lake.restore(datetime(2000, 1, 1, tzinfo=UTC))
    lake.append()
    assert lake.mark() == Mark()
    with pytest.raises(HeadraceError, match="TABLE_REPLACED"):
        lake.write(sink, 2)


def test_a_log_that_is_cleaned_up(tmp_path: Path) -> None:
    lake = Lake("delta", tmp_path)
    sink = lake.started(1)
    lake.write(sink, 0, 1)
    lake.append()
    DeltaTable(tmp_path / "t").create_checkpoint()
    for version in range(lake.newest()):
        (tmp_path / "t" / "_delta_log" / f"{version:020}.json").unlink()
    assert lake.holds(1)
    lake.write(sink, 2)
    assert lake.holds(2)


def test_snapshots_that_expire(tmp_path: Path) -> None:
    lake = Lake("iceberg", tmp_path)
    sink = lake.started(1)
    lake.write(sink, 0, 1)
    lake.append()
    table = of_iceberg.table(tmp_path)
    for one in table.metadata.snapshots:
        if one.snapshot_id != lake.newest():
            table.maintenance.expire_snapshots().by_id(one.snapshot_id).commit()
            table.refresh()
    assert lake.holds(1)
    lake.write(sink, 2)
    assert lake.holds(2)
