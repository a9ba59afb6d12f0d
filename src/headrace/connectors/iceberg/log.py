"""The snapshots of an Iceberg table as a source reads them; their sequence numbers are its versions."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from headrace.connectors.iceberg.place import Place
from headrace.connectors.lake.stores import hadoop
from headrace.connectors.lake.versions import File, Versions, goes, gone, millis_of
from headrace.errors import ConnectorError

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

_DAY = dt.date(1970, 1, 1)
_MOMENT = dt.datetime(1970, 1, 1)


class Log(Versions):
    """A table's snapshots from `start` on: None for all present rows and then later ones, the id of a snapshot, a time, or "latest"."""

    def __init__(self, place: Place, start: int | str | None, *, changes: bool, follow: bool, limit: int | None, time_zone: str) -> None:
        super().__init__(place.name, changes=changes, limit=limit)
        self.pause = 0.5 if follow else 0
        self._start = start
        self._time_zone = time_zone
        self._follow = follow
        self._table = place.table()
        self.constant = check(place.name, self._table)

    @property
    def id(self) -> str:
        return str(self._table.metadata.table_uuid)

    def look(self) -> None:
        if self._follow:
            self._table.refresh()

    def newest(self) -> int:
        snapshot = self._table.current_snapshot()
        return 0 if snapshot is None else _number(snapshot)

    def begin(self) -> tuple[int, bool]:
        if self._start is None:
            return (self.newest(), True) if self.newest() else (1, False)
        if self._start == "latest":
            return self.newest() + 1, False
        if isinstance(self._start, int):
            known = self._table.metadata.snapshot_by_id(self._start)
            if known is None:
                raise gone(self.path, self._start)
            return _number(known), False
        start_ms = millis_of(self._start, self._time_zone)
        later = [_number(one) for one in self._ancestors() if one.timestamp_ms >= start_ms]
        return min(later, default=self.newest() + 1), False

    def numbers(self, first: int, last: int) -> Iterable[int]:
        ancestors = self._ancestors()
        oldest = ancestors[0] if ancestors else None
        if oldest is not None and oldest.parent_snapshot_id is not None and first < _number(oldest) and first <= last:
            raise gone(self.path, first)
        return [number for number in map(_number, ancestors) if first <= number <= last]

    def all(self, version: int) -> Iterable[File]:
        tasks = list(self._table.scan(snapshot_id=self._of_number(version).snapshot_id).plan_files())
        if any(task.delete_files for task in tasks):
            raise _deleted(self.path, version)
        return [self._file(task.file, "insert") for task in sorted(tasks, key=lambda task: str(task.file.file_path))]

    def changed(self, version: int) -> Iterable[File]:
        from pyiceberg.manifest import ManifestContent, ManifestEntryStatus
        from pyiceberg.table.snapshots import Operation

        snapshot = self._of_number(version)
        if snapshot.summary is not None and snapshot.summary.operation == Operation.REPLACE:
            return []  # the same rows in other files
        added: list[File] = []
        removed: list[File] = []
        for manifest in snapshot.manifests(self._table.io):
            if manifest.added_snapshot_id != snapshot.snapshot_id:
                continue
            for entry in manifest.fetch_manifest_entry(self._table.io, discard_deleted=False):
                if entry.snapshot_id != snapshot.snapshot_id:
                    continue
                if manifest.content == ManifestContent.DELETES:
                    raise _deleted(self.path, version)
                if entry.status == ManifestEntryStatus.ADDED:
                    added.append(self._file(entry.data_file, "insert"))
                elif entry.status == ManifestEntryStatus.DELETED:
                    removed.append(self._file(entry.data_file, "delete"))
        if removed and not self.changes:
            raise goes(self.path, version, "hr.read.iceberg")
        return [*removed, *added]

    def missing(self, version: int, files: tuple[File, ...]) -> list[str]:
        return [file["path"] for file in files if not self._table.io.new_input(file["at"]).exists()]

    def _ancestors(self) -> list[Snapshot]:
        """The snapshots that led to the current one, oldest first, as far as they are kept."""
        ancestors: list[Snapshot] = []
        snapshot = self._table.current_snapshot()
        while snapshot is not None:
            ancestors.append(snapshot)
            parent = snapshot.parent_snapshot_id
            snapshot = None if parent is None else self._table.metadata.snapshot_by_id(parent)
        return ancestors[::-1]

    def _of_number(self, version: int) -> Snapshot:
        for snapshot in self._ancestors():
            if _number(snapshot) == version:
                return snapshot
        raise gone(self.path, version)

    def _file(self, file: Any, change: str) -> File:
        values = {}
        spec = self._table.specs()[file.spec_id]
        for number, field in enumerate(spec.fields):
            name = self._table.schema().find_column_name(field.source_id)
            if name in self.constant and file.partition[number] is not None:
                kind = self._table.schema().find_type(field.source_id)
                values[name] = _text(file.partition[number], str(kind))
        at = str(file.file_path)
        return {"path": hadoop(at), "at": at, "bytes": file.file_size_in_bytes, "values": values, "change": change}


def check(name: str, table: Table) -> list[str]:
    """The columns that may be missing from the files. Raises if the table's files cannot be read by column names."""
    names: dict[int, str] = {}
    ids: dict[str, int] = {}
    for schema in table.metadata.schemas:
        for number, column in schema._lazy_id_to_name.items():
            if names.setdefault(number, column) != column or ids.setdefault(column, number) != number:
                raise _feature(name, f"had column {column} under another name, or another column under that name")
    if table.metadata.format_version < 2:
        raise _feature(name, "has format version 1, whose snapshots are not numbered")
    specs = table.specs().values()
    if len(specs) > 1:
        return []
    return [
        str(table.schema().find_column_name(field.source_id))
        for spec in specs
        for field in spec.fields
        if str(field.transform) == "identity"
    ]


def _feature(name: str, why: str) -> ConnectorError:
    return ConnectorError("TABLE_FEATURE", f"the table {name} {why}", hint="read a copy of the table")


def _deleted(name: str, version: int) -> ConnectorError:
    return ConnectorError(
        "TABLE_FEATURE",
        f"snapshot number {version} of {name} marks rows of a file as deleted (merge on read), which this source cannot read",
        hint='set write.delete.mode, write.update.mode and write.merge.mode to "copy-on-write" in the table',
    )


def _number(snapshot: Snapshot) -> int:
    return int(snapshot.sequence_number or 0)


def _text(value: Any, kind: str) -> str:
    """A value of a partition as text that Spark casts."""
    if kind == "date" and isinstance(value, int):
        return (_DAY + dt.timedelta(days=value)).isoformat()
    if kind in ("timestamp", "timestamptz") and isinstance(value, int):
        return (_MOMENT + dt.timedelta(microseconds=value)).isoformat() + ("Z" if kind == "timestamptz" else "")
    return str(value).lower() if isinstance(value, bool) else str(value)
