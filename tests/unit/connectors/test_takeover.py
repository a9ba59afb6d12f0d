"""A process that falls asleep between its claim and its mending, and wakes up behind its successor."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from headrace import ports
from headrace.connectors import delta, files, foreach_batch, jdbc
from headrace.connectors.lake.sink import TableSink
from headrace.durable.manifest import committed_files
from headrace.errors import CheckpointError, HeadraceError
from headrace.schema import Struct
from tests.unit.connectors.delta import tasks as of_delta
from tests.unit.connectors.delta.tasks import context
from tests.unit.connectors.iceberg import tasks as of_iceberg
from tests.unit.connectors.staged import stage

TABLES = pytest.mark.parametrize("kind", ["delta", "iceberg"])


class Table:
    """A table of either kind in a folder, and its sinks."""

    def __init__(self, kind: str, folder: Path, key: str | None = None) -> None:
        self.kind, self.folder, self.key = kind, folder, key

    def claimed(self, term: int, held: Callable[[], None] = lambda: None) -> TableSink:
        sink: TableSink = (
            delta.Sink(self.folder / "t", key=self.key) if self.kind == "delta" else of_iceberg.sink(self.folder, key=self.key)
        )
        sink.open(context(self.folder, term=term, mode="upsert" if self.key else "append", held=held))
        return sink

    def started(self, term: int) -> TableSink:
        sink = self.claimed(term)
        sink.recover()
        return sink

    def stage(self, sink: TableSink, epoch: int, identity: str = "", weight: int = 1) -> ports.Staged:
        rows = pa.table({"k": [f"a{epoch}", f"b{epoch}"], "n": pa.array([epoch, epoch], pa.int64())})
        weighed = rows.append_column("_weight", pa.array([weight, weight], pa.int64())) if self.key else rows
        return stage(sink, epoch, weighed, identity=identity)

    def there(self) -> bool:
        """Whether the table has all its files, and no other file lies in it."""
        if self.kind == "delta":
            return of_delta.data_files(self.folder / "t") == of_delta.live_files(self.folder / "t")
        return of_iceberg.data_files(self.folder) == of_iceberg.live_files(self.folder)

    def rows(self) -> list[Any]:
        return sorted(of_delta.rows_of(self.folder / "t") if self.kind == "delta" else of_iceberg.rows_of(self.folder))


def rows_of(*epochs: int) -> list[tuple[str, int]]:
    return sorted((f"{k}{epoch}", epoch) for k in "ab" for epoch in epochs)


@TABLES
@pytest.mark.parametrize("key", [None, "k"])
def test_a_table_sink_that_wakes_up_behind_its_claim(tmp_path: Path, kind: str, key: str | None) -> None:
    table = Table(kind, tmp_path, key)
    old = table.claimed(1)
    new = table.started(2)
    for epoch in range(2):
        new.commit(epoch, table.stage(new, epoch))
    staged = table.stage(new, 2)
    with pytest.raises(HeadraceError, match="SINK_FENCED"):
        old.recover()
    new.commit(2, staged)
    assert table.rows() == rows_of(0, 1, 2)


@TABLES
@pytest.mark.parametrize("key", [None, "k"])
def test_a_table_sink_that_wakes_up_behind_its_look(tmp_path: Path, kind: str, key: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(kind, tmp_path, key)
    dead = table.started(1)
    table.stage(dead, 0)
    old = table.claimed(2)
    look = old._epochs.check_term
    successors: list[tuple[TableSink, ports.Staged]] = []

    def asleep() -> None:
        look()
        new = table.started(3)
        new.commit(0, table.stage(new, 0))
        successors.append((new, table.stage(new, 1)))

    monkeypatch.setattr(old._epochs, "check_term", asleep)
    old.recover()
    [(new, staged)] = successors
    new.commit(1, staged)
    assert table.rows() == rows_of(0, 1)
    assert key or table.there()


@TABLES
def test_a_table_sink_that_lost_its_lease_removes_nothing(tmp_path: Path, kind: str) -> None:
    table = Table(kind, tmp_path)
    dead = table.started(1)
    left = table.stage(dead, 0)
    old = table.claimed(2, lost)
    with pytest.raises(CheckpointError, match="LEASE_LOST"):
        old.recover()
    dead._epochs.refresh()
    root = tmp_path / "t" if kind == "delta" else next((tmp_path / "wh").rglob("data"))
    assert all((root / file["path"]).exists() for file in left.files)


def test_a_fresh_start_that_lost_its_lease_leaves_the_table_of_its_successor(tmp_path: Path) -> None:
    table = Table("iceberg", tmp_path)
    sink = table.started(1)
    sink.commit(0, table.stage(sink, 0))
    with pytest.raises(CheckpointError, match="LEASE_LOST"):
        of_iceberg.sink(tmp_path).open(context(tmp_path, held=lost, fresh=True, checkpoint_id="c2"))
    assert table.rows() == rows_of(0)


@TABLES
def test_an_attempt_of_a_task_that_its_epoch_did_without_goes_at_the_next_start(tmp_path: Path, kind: str) -> None:
    table = Table(kind, tmp_path)
    sink = table.started(1)
    for epoch in range(3):
        table.stage(sink, epoch)  # of an executor that was killed
        sink.commit(epoch, table.stage(sink, epoch))
    assert not table.there()
    table.started(2)
    assert table.there() and table.rows() == rows_of(0, 1, 2)


def test_files_that_were_compacted_stay_for_readers_of_old_versions(tmp_path: Path) -> None:
    table = Table("delta", tmp_path)
    sink = table.started(1)
    killed = table.stage(sink, 0)
    for epoch in range(2):
        sink.commit(epoch, table.stage(sink, epoch))
    of_delta.DeltaTable(tmp_path / "t").optimize.compact()
    before = of_delta.data_files(tmp_path / "t")
    table.started(2)
    assert before - of_delta.data_files(tmp_path / "t") == {file["path"] for file in killed.files}


@TABLES
def test_attempts_of_an_epoch_that_the_log_no_longer_tells_of_stay(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(kind, tmp_path)
    sink = table.started(1)
    table.stage(sink, 0)
    sink.commit(0, table.stage(sink, 0))
    later = table.claimed(2)
    monkeypatch.setattr(later._epochs, "named", lambda epochs: set())
    later.recover()
    assert table.rows() == rows_of(0) and not table.there()


def lost() -> None:
    raise CheckpointError("LEASE_LOST", "another process works on the checkpoint now")


def put(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}")
    return path


def test_a_files_sink_that_lost_its_lease_removes_nothing(tmp_path: Path) -> None:
    sink = files.Sink(tmp_path / "out", format="json")
    sink.open(context(tmp_path, held=lost))
    staged = put(tmp_path / "out/_headrace/staging/0-0-1-run/part-0.json")
    with pytest.raises(CheckpointError, match="LEASE_LOST"):
        sink.recover()
    assert staged.exists()
    with pytest.raises(CheckpointError, match="LEASE_LOST"):
        files.Sink(tmp_path / "out", format="json").open(context(tmp_path, held=lost, fresh=True, checkpoint_id="c2"))
    assert staged.exists()


def test_a_files_sink_that_wakes_up_behind_its_look_leaves_what_its_successor_stages(tmp_path: Path) -> None:
    staged: list[Path] = []

    def asleep() -> None:
        staged.append(put(tmp_path / "out/_headrace/staging/0-0-2-run/part-0.json"))

    sink = files.Sink(tmp_path / "out", format="json")
    sink.open(context(tmp_path, held=asleep))
    dead = put(tmp_path / "out/_headrace/staging/0-0-1-run/part-0.json")
    sink.recover()
    assert staged[0].exists() and not dead.exists() and committed_files(tmp_path / "out") == []


def test_a_start_of_foreach_batch_leaves_what_a_later_one_has_staged(tmp_path: Path) -> None:
    sinks = [foreach_batch.Sink(print) for _ in range(3)]
    placed = []
    for term, sink in enumerate(sinks, 1):
        sink.open(context(tmp_path, term=term))
        placed.append(put(Path(sink.stage()["folder"].removeprefix("file://")) / "_headrace/staging/0-0/part-0.parquet"))
    sinks[1].recover()
    assert [file.exists() for file in placed] == [False, True, True]


def test_a_start_of_a_database_sink_leaves_what_a_later_one_has_staged() -> None:
    server = sqlite3.connect(":memory:")
    for term in (1, 2, 10):
        server.execute(f"CREATE TABLE stage_{term} (n int)")
    operations = {"query": lambda sql, *values: server.execute(sql, values).fetchall(), "update": server.execute}
    database = SimpleNamespace(**operations, steadily=lambda action, _: action())
    sink = jdbc.Sink("sqlite:out.db", "t")
    sink._context = context(Path(), Struct(()), term=2)
    target = SimpleNamespace(columns=[])
    vars(sink).update(_database=database, _target=target, _whole=("t",), _prefix="stage_", _stage="stage_2", _statements=lambda _: [])
    sink.recover()
    tables = server.execute("SELECT name FROM sqlite_master ORDER BY name").fetchall()
    assert [name for (name,) in tables] == ["stage_10", "stage_2"]
