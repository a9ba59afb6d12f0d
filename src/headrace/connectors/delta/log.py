"""The log of a Delta table as a source reads it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from headrace.connectors.delta.place import Place
from headrace.connectors.lake.versions import File, Versions, goes, gone, millis_of
from headrace.errors import ConnectorError

if TYPE_CHECKING:
    from deltalake import DeltaTable

# Features that do not stop this source from reading. Deletion vectors are refused only in a version that has some.
_FEATURES = {"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck", "deletionVectors"}


class Log(Versions):
    """A table's versions from `start` on: None for all present rows and then later ones, a version, a time, or "latest"."""

    def __init__(self, place: Place, start: int | str | None, *, changes: bool, follow: bool, limit: int | None, time_zone: str) -> None:
        super().__init__(place.path, changes=changes, limit=limit)
        self.pause = 0 if place.local else 1
        self._place = place
        self._start = start
        self._time_zone = time_zone
        self._follow = follow
        self._table = place.table()
        check(place.path, self._table)
        self.constant = self._table.metadata().partition_columns
        self._files = place.files()

    @property
    def id(self) -> str:
        return str(self._table.metadata().id)

    def look(self) -> None:
        if self._follow:
            self._table.update_incremental()

    def newest(self) -> int:
        return int(self._table.version())

    def begin(self) -> tuple[int, bool]:
        if self._start is None:
            return self.newest(), True
        if self._start == "latest":
            return self.newest() + 1, False
        if isinstance(self._start, int):
            return self._start, False
        start_ms = millis_of(self._start, self._time_zone)
        later = [int(one["version"]) for one in self._table.history() if one["timestamp"] >= start_ms]
        return min(later, default=self.newest() + 1), False

    def all(self, version: int) -> Iterable[File]:
        import pyarrow as pa

        table = self._table if self._table.version() == version else self._place.table(version)
        if table.deletion_vectors().read_all().num_rows:
            raise _deleted(self.path, version)
        actions = pa.table(table.get_add_actions())
        parts = actions["partition"].to_pylist() if "partition" in actions.column_names else [{}] * actions.num_rows
        each = sorted(zip(actions["path"].to_pylist(), actions["size_bytes"].to_pylist(), parts, strict=True), key=lambda one: str(one[0]))
        for path, size, values in each:
            yield {"path": self._place.file(path), "bytes": size, "values": _texts(values), "change": "insert"}

    def changed(self, version: int) -> Iterable[File]:
        """The files with a version's changes: those of its change data feed if it has one, else those added and removed."""
        try:
            each = actions(self._files, version)
        except FileNotFoundError:
            raise gone(self.path, version) from None
        fed = [action["cdc"] for action in each if "cdc" in action]
        added = [action["add"] for action in each if action.get("add", {}).get("dataChange")]
        removed = [action["remove"] for action in each if action.get("remove", {}).get("dataChange")]
        if any(one.get("deletionVector") for one in (*added, *removed)):
            raise _deleted(self.path, version)
        if removed and not self.changes:
            raise goes(self.path, version, "hr.read.delta")
        if fed and self.changes:
            return [self._file(one, "rows") for one in fed]
        return [*(self._file(one, "delete") for one in removed), *(self._file(one, "insert") for one in added)]

    def missing(self, version: int, files: tuple[File, ...]) -> list[str]:
        from pyarrow.fs import FileType

        root = f"{self._place.hadoop}/"
        names = [file["path"].removeprefix(root) for file in files if file["path"].startswith(root)]
        return [info.path for info in self._files.get_file_info(names) if info.type == FileType.NotFound]

    def _file(self, action: dict[str, Any], change: str) -> File:
        size = action.get("size")
        if size is None:
            size = self._files.get_file_info(unquote(action["path"])).size
        values = {name: text for name, text in (action.get("partitionValues") or {}).items() if text}
        return {"path": self._place.file(action["path"]), "bytes": size, "values": values, "change": change}


def actions(files: Any, version: int) -> list[dict[str, Any]]:
    """The actions of a commit; the log of an old one may be gone."""
    with files.open_input_file(entry(version)) as file:
        return [json.loads(line) for line in file.read().decode().splitlines() if line.strip()]


def entry(version: int) -> str:
    """The file of a commit in the log of a table."""
    return f"_delta_log/{version:020}.json"


def check(path: str, table: DeltaTable) -> None:
    """Raise if a table's rows depend on more than its files."""
    asks = [f"the feature {name}" for name in table.protocol().reader_features or () if name not in _FEATURES]
    asks += ["column mapping"] if table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none" else []
    if asks:
        raise ConnectorError(
            "TABLE_FEATURE",
            f"the table {path} requires features that this source does not support: {', '.join(dict.fromkeys(asks))}",
            hint="read a copy of the table without them",
        )


def _deleted(path: str, version: int) -> ConnectorError:
    return ConnectorError(
        "TABLE_FEATURE",
        f"version {version} of {path} marks rows of a file as deleted (deletion vectors), which this source cannot read",
        hint="set delta.enableDeletionVectors to false in the table, rewrite its files, and start after that version",
    )


def _texts(values: dict[str, Any]) -> dict[str, str]:
    """The values of a partition as in the log."""
    texts = {}
    for name, value in values.items():
        if value is not None:
            texts[name] = (
                value.isoformat() if hasattr(value, "isoformat") else str(value).lower() if isinstance(value, bool) else str(value)
            )
    return texts
