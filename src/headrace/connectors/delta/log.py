"""The log of a Delta table as a source reads it: first the files of one version, then what each later one adds and takes away."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from headrace.connectors.delta.place import Place
from headrace.errors import ConnectorError

if TYPE_CHECKING:
    from deltalake import DeltaTable

File = dict[str, Any]
Position = dict[str, Any]

# Reading files needs to know nothing of these.
_FEATURES = {"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck", "deletionVectors"}


class Log:
    """A table's versions from `start` on: None for all that is there and then what comes, a version, a time, or "latest".

    A position is (version, file): the files of all versions before it are read, and so many of its own. `begin` is the position at which
    reading began, `whole` says that the version is read as a whole and not for what it changed.
    """

    def __init__(self, place: Place, start: int | str | None, *, changes: bool, follow: bool, limit: int | None) -> None:
        self._place = place
        self._start = start
        self._changes = changes
        self._follow = follow
        self._limit = limit
        self._table = place.table()
        check(place.path, self._table)
        self._id = str(self._table.metadata().id)
        self._files = place.files()
        self._of_version = lru_cache(64)(self._read)
        self._of_whole = lru_cache(1)(self._listed)

    def latest(self, start: Position | None) -> Position | None:
        if self._follow:
            self._table.update_incremental()
        if start is None:
            begin = self._begin()
            return self._until({**begin, "table": self._id, "file": 0, "begin": begin})
        if start["table"] != self._id:
            raise ConnectorError(
                "TABLE_REPLACED",
                f"{self._place.path} is another table than the one that the checkpoint has read",
                hint="start over with fresh=True, or give the job the table that it read",
            )
        end = self._until(start)
        return None if end == start else end

    def files(self, start: Position | None, end: Position) -> list[File]:
        at = start or {**end["begin"], "file": 0}
        found: list[File] = []
        for version, whole in self._versions(at, end["version"] if end["file"] else end["version"] - 1):
            files = self._of(version, whole)
            first = at["file"] if version == at["version"] else 0
            last = end["file"] if (version, whole) == (end["version"], end["whole"]) else len(files)
            found += files[first:last]
            if version < self._table.version():
                self._all_there(version, files[first:last])
        return found

    def waiting(self, start: Position | None) -> int:
        """How many files lie behind a position."""
        at = start or {**self._begin(), "file": 0}
        return sum(len(self._of(version, whole)) for version, whole in self._versions(at, self._table.version())) - at["file"]

    def _begin(self) -> Position:
        """Where reading begins, for one that has read nothing."""
        now = self._table.version()
        if self._start is None:
            return {"version": now, "whole": True}
        if self._start == "latest":
            return {"version": now + 1, "whole": False}
        if isinstance(self._start, int):
            return {"version": self._start, "whole": False}
        return {"version": self._since(self._start), "whole": False}

    def _since(self, moment: str) -> int:
        """The first version that was written at a time or later."""
        from datetime import UTC, datetime

        given = datetime.fromisoformat(moment)
        asked = (given if given.tzinfo is not None else given.replace(tzinfo=UTC)).timestamp() * 1000
        later = [one["version"] for one in self._table.history() if one["timestamp"] >= asked]
        return int(min(later)) if later else int(self._table.version()) + 1

    def _until(self, at: Position) -> Position:
        """Up to where an epoch reads that begins at a position."""
        newest = self._table.version()
        if self._limit is None:
            return at if at["version"] > newest else {**at, "version": newest + 1, "whole": False, "file": 0}
        room = self._limit
        for version, whole in self._versions(at, newest):
            count = len(self._of(version, whole))
            first = at["file"] if (version, whole) == (at["version"], at["whole"]) else 0
            if count - first > room:
                return {**at, "version": version, "whole": whole, "file": first + room}
            room -= count - first
        return at if at["version"] > newest else {**at, "version": newest + 1, "whole": False, "file": 0}

    @staticmethod
    def _versions(at: Position, last: int) -> Iterator[tuple[int, bool]]:
        """The versions from a position on, and whether each is read as a whole."""
        for version in range(at["version"], last + 1):
            yield version, at["whole"] and version == at["version"]

    def _of(self, version: int, whole: bool) -> tuple[File, ...]:
        return self._of_whole(version) if whole else self._of_version(version)

    def _listed(self, version: int) -> tuple[File, ...]:
        """All files of a version."""
        import pyarrow as pa

        table = self._table if self._table.version() == version else self._place.table(version)
        if table.deletion_vectors().read_all().num_rows:
            raise _deleted(self._place.path, version)
        found = pa.table(table.get_add_actions())
        names = found.column_names
        parts = found["partition"].to_pylist() if "partition" in names else [{}] * found.num_rows
        each = sorted(zip(found["path"].to_pylist(), found["size_bytes"].to_pylist(), parts, strict=True), key=lambda one: str(one[0]))
        return tuple(
            {"path": self._place.file(path), "bytes": size, "values": _texts(values), "change": "insert"} for path, size, values in each
        )

    def _read(self, version: int) -> tuple[File, ...]:
        """The files that a version added and took away; where it has a feed of its changes, the files of that."""
        path = f"_delta_log/{version:020}.json"
        try:
            with self._files.open_input_file(path) as file:
                actions = [json.loads(line) for line in file.read().decode().splitlines() if line.strip()]
        except FileNotFoundError:
            raise ConnectorError(
                "VERSION_GONE", f"version {version} of {self._place.path} is no longer in the table's log", hint=GONE
            ) from None
        fed = [action["cdc"] for action in actions if "cdc" in action]
        added = [action["add"] for action in actions if action.get("add", {}).get("dataChange")]
        removed = [action["remove"] for action in actions if action.get("remove", {}).get("dataChange")]
        if any(one.get("deletionVector") for one in (*added, *removed)):
            raise _deleted(self._place.path, version)
        if not self._changes:
            if removed:
                raise ConnectorError(
                    "TABLE_CHANGED",
                    f"version {version} of {self._place.path} takes rows away, and they are only added here",
                    hint="read what changes: hr.read.delta(..., changes=True)",
                )
            return tuple(self._file(one, "insert") for one in added)
        if fed:
            return tuple(self._file(one, "rows") for one in fed)
        return (*(self._file(one, "delete") for one in removed), *(self._file(one, "insert") for one in added))

    def _file(self, action: dict[str, Any], change: str) -> File:
        size = action.get("size")
        if size is None:
            size = self._files.get_file_info(unquote(action["path"])).size
        values = {name: text for name, text in (action.get("partitionValues") or {}).items() if text}
        return {"path": self._place.file(action["path"]), "bytes": size, "values": values, "change": change}

    def _all_there(self, version: int, files: tuple[File, ...]) -> None:
        """A version that is not the newest may have lost its files."""
        from pyarrow.fs import FileType

        root = f"{self._place.hadoop}/"
        names = [file["path"].removeprefix(root) for file in files if file["path"].startswith(root)]
        gone = [info.path for info in self._files.get_file_info(names) if info.type == FileType.NotFound]
        if gone:
            raise ConnectorError(
                "VERSION_GONE",
                f"version {version} of {self._place.path} names files that are gone: {gone[0]}" + (" and others" if len(gone) > 1 else ""),
                hint=GONE,
            )


GONE = "a vacuum or the log's clean-up took it before it was read: start over with fresh=True, and keep old versions for longer"


def check(path: str, table: DeltaTable) -> None:
    """Complain of a table that says in other ways than by its files what its rows are."""
    asks = [f"the feature {name}" for name in table.protocol().reader_features or () if name not in _FEATURES]
    asks += ["column mapping"] if table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none" else []
    if asks:
        raise ConnectorError(
            "TABLE_FEATURE",
            f"the table {path} asks readers for what this source does not do: {', '.join(dict.fromkeys(asks))}",
            hint="read a copy of the table without that",
        )


def _deleted(path: str, version: int) -> ConnectorError:
    return ConnectorError(
        "TABLE_FEATURE",
        f"version {version} of {path} marks rows of a file as deleted (deletion vectors), which this source does not read",
        hint="set delta.enableDeletionVectors to false in the table, rewrite its files, and start behind that version",
    )


def _texts(values: dict[str, Any]) -> dict[str, str]:
    """The values of a partition as the log has them."""
    found = {}
    for name, value in values.items():
        if value is not None:
            found[name] = (
                value.isoformat() if hasattr(value, "isoformat") else str(value).lower() if isinstance(value, bool) else str(value)
            )
    return found
