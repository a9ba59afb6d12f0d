"""Tables of lakes that are brought back to an earlier epoch, in one commit and by nobody else's cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from headrace import ports
from headrace.connectors import delta
from headrace.connectors.lake.sink import TableSink
from headrace.errors import HeadraceError
from headrace.ports import Mark
from tests.unit.connectors.delta.tasks import context
from tests.unit.connectors.iceberg import tasks as of_iceberg
from tests.unit.connectors.test_lake_marks import IDENTITIES, KEYS, OTHER, Lake
from tests.unit.connectors.test_takeover import TABLES, rows_of


class Rewound(Lake):
    def sink(self) -> TableSink:
        return delta.Sink(self.folder / "t", key=self.key) if self.kind == "delta" else of_iceberg.sink(self.folder, key=self.key)

    def rewind(self, epoch: int, term: int = 9, **changes: Any) -> ports.Rewind:
        mark = Mark(epoch, IDENTITIES[epoch]) if epoch >= 0 else Mark()
        return self.sink().rewind(context(self.folder, term=term, **changes), mark)

    def refused(self, epoch: int) -> str:
        before = self.newest()
        with pytest.raises(HeadraceError) as caught:
            self.rewind(epoch)
        assert (caught.value.code, self.newest()) == ("CANNOT_REWIND", before)
        return caught.value.message


@TABLES
@KEYS
def test_a_table_comes_back(tmp_path: Path, kind: str, key: str | None) -> None:
    lake = Rewound(kind, tmp_path, key)
    assert lake.sink().traits.rewinds
    lake.write(lake.started(1), 0, 1)
    lake.append()
    second = lake.started(2)
    newest = lake.newest()
    lake.write(second, 2)
    later = lake.started(3)
    lake.write(later, 3, 4)
    before = lake.newest()
    rewind = lake.rewind(1)
    assert rewind.first == 2 and lake.newest() == before and lake.holds(4)
    versions = "version" if kind == "delta" else "snapshot"
    assert rewind.how == f"{lake.sink().place.name} is restored to {versions} {newest}, without 4 later commits"
    rewind.work()
    # what another writer has added before stays
    assert lake.holds(1) and lake.rows() == sorted([*rows_of(0, 1), ("other", 0)])
    # the process of the newer checkpoint is refused, and a start of the older one goes on, as often as one likes
    with pytest.raises(HeadraceError, match=r"TABLE_REPLACED|SINK_FENCED"):
        lake.write(later, 5)
    lake.write(lake.started(10), 2, 3, identity=OTHER)
    lake.write(lake.started(11), 4)
    assert lake.holds(4) and lake.rows() == sorted([*rows_of(0, 1, 2, 3, 4), ("other", 0)])
    lake.rewind(1, term=12).work()
    assert lake.holds(1) and lake.rows() == sorted([*rows_of(0, 1), ("other", 0)])


@TABLES
@KEYS
def test_a_table_comes_back_to_its_beginning(tmp_path: Path, kind: str, key: str | None) -> None:
    lake = Rewound(kind, tmp_path, key)
    lake.write(lake.started(1), 3, 4)
    assert lake.rewind(-1).first == 3
    lake.rewind(-1).work()
    assert lake.mark() == Mark() and lake.rows() == []
    lake.write(lake.started(10), 3, identity=OTHER)
    assert lake.holds(3, OTHER) and lake.rows() == rows_of(3)


@TABLES
@KEYS
def test_a_table_that_others_have_changed_since(tmp_path: Path, kind: str, key: str | None) -> None:
    lake = Rewound(kind, tmp_path, key)
    sink = lake.started(1)
    lake.write(sink, 0, 1, 2)
    lake.append()
    assert lake.refused(1) == f"sink: {sink.place.name} cannot be restored: another writer has changed the table since"
    rows = lake.rows()
    lake.write(sink, 3)
    assert "another writer has changed the table since" in lake.refused(1) and "another writer" in lake.refused(0)
    lake.rewind(2).work()
    assert lake.holds(2) and lake.rows() == rows


@TABLES
def test_an_epoch_that_the_log_does_not_tell(tmp_path: Path, kind: str) -> None:
    lake = Rewound(kind, tmp_path)
    sink = lake.started(1)
    lake.write(sink, 0, 1, identity=OTHER)
    lake.write(sink, 2)
    versions = "version" if kind == "delta" else "snapshot"
    why = f"its log no longer shows which {versions} was the last one of epoch 1 of this checkpoint"
    assert lake.refused(1) == f"sink: {sink.place.name} cannot be restored: {why}"


@TABLES
def test_a_table_that_changes_between_the_look_and_the_work(tmp_path: Path, kind: str) -> None:
    lake = Rewound(kind, tmp_path)
    sink = lake.started(1)
    lake.write(sink, 0, 1)
    rewind = lake.rewind(0)
    lake.write(sink, 2)
    with pytest.raises(HeadraceError, match="TABLE_BUSY"):
        rewind.work()
    assert lake.holds(2) and lake.rows() == rows_of(0, 1, 2)


def test_files_of_an_epoch_that_a_vacuum_has_removed(tmp_path: Path) -> None:
    lake = Rewound("delta", tmp_path, "k")
    lake.write(lake.started(1), 0, 1)
    DeltaTable(tmp_path / "t").optimize.compact()
    lake.write(lake.started(2), 2)
    DeltaTable(tmp_path / "t").vacuum(0, dry_run=False, enforce_retention_duration=False)
    assert "a file of epoch 0, was removed from the table" in lake.refused(0)
    lake.rewind(1).work()
    assert lake.holds(1) and lake.rows() == rows_of(0, 1)


def test_snapshots_that_have_expired(tmp_path: Path) -> None:
    lake = Rewound("iceberg", tmp_path)
    lake.write(lake.started(1), 0, 1, 2)
    table = of_iceberg.table(tmp_path)
    for one in table.metadata.snapshots:
        if one.snapshot_id != lake.newest():
            table.maintenance.expire_snapshots().by_id(one.snapshot_id).commit()
            table.refresh()
    assert "its log no longer shows which snapshot was the last one of epoch 1" in lake.refused(1)
