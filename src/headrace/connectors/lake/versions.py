"""A table that grows version by version, as a source reads it: all files of one version, then the changes of each later one."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from typing import Any

from headrace.errors import ConnectorError
from headrace.ports.options import wrong
from headrace.schema.values import zone

File = dict[str, Any]
Position = dict[str, Any]

GONE = "it was cleaned up before it was read: start over with fresh=True, and keep old versions for longer"


class Versions(ABC):
    """The log of a table at `path`.

    A position is (version, file): the files of all earlier versions have been read, and `file` files of this one. `whole`: the version is
    read as a whole, not only its changes; `begin`: the start of reading. An epoch takes at most `limit` files, if given.
    """

    # Seconds between two looks at the log: a query asks a hundred times a second.
    pause: float = 0
    # The columns whose values are in the log, so that the files may lack them.
    constant: Sequence[str] = ()

    def __init__(self, path: str, *, changes: bool, limit: int | None) -> None:
        self.path = path
        self.changes = changes
        self._limit = limit
        self._next_look = 0.0
        self._of_version = lru_cache(64)(lambda version: tuple(self.changed(version)))
        self._of_whole = lru_cache(1)(lambda version: tuple(self.all(version)))

    @property
    @abstractmethod
    def id(self) -> str:
        """An identifier that differs for another table in the same place."""

    @abstractmethod
    def look(self) -> None:
        """Look for new versions, unless only those at the start are wanted."""

    @abstractmethod
    def newest(self) -> int:
        """The number of the newest version; -1 if there is none."""

    @abstractmethod
    def begin(self) -> tuple[int, bool]:
        """The version at which reading begins, and whether it is read as a whole."""

    @abstractmethod
    def all(self, version: int) -> Iterable[File]:
        """All files of a version."""

    @abstractmethod
    def changed(self, version: int) -> Iterable[File]:
        """The files that a version added, and in a source of changes those that it removed."""

    def numbers(self, first: int, last: int) -> Iterable[int]:
        """The numbers of the versions between two, both included."""
        return range(first, last + 1)

    def missing(self, version: int, files: tuple[File, ...]) -> list[str]:
        """The missing files of a version."""
        return []

    def latest(self, start: Position | None) -> Position | None:
        if time.monotonic() >= self._next_look:
            self.look()
            self._next_look = time.monotonic() + self.pause
        if start is None:
            version, whole = self.begin()
            begin = {"version": version, "whole": whole}
            return self._until({**begin, "table": self.id, "file": 0, "begin": begin})
        if start["table"] != self.id:
            raise ConnectorError(
                "TABLE_REPLACED",
                f"{self.path} is not the table that the checkpoint has read",
                hint="start over with fresh=True, or give the job the table that it read",
            )
        end = self._until(start)
        return None if end == start else end

    def files(self, start: Position | None, end: Position) -> list[File]:
        at = start or {**end["begin"], "file": 0}
        selected: list[File] = []
        for version, whole in self._from(at, end["version"] if end["file"] else end["version"] - 1):
            files = self._of(version, whole)
            first = at["file"] if version == at["version"] else 0
            last = end["file"] if (version, whole) == (end["version"], end["whole"]) else len(files)
            if version < self.newest() and (gone := self.missing(version, files[first:last])):
                others = " and others" if len(gone) > 1 else ""
                raise ConnectorError(
                    "VERSION_GONE", f"version {version} of {self.path} refers to deleted files: {gone[0]}{others}", hint=GONE
                )
            selected += files[first:last]
        return selected

    def waiting(self, start: Position | None) -> int:
        """The number of files after a position."""
        if start is None:
            version, whole = self.begin()
            start = {"version": version, "whole": whole, "file": 0}
        return sum(len(self._of(version, whole)) for version, whole in self._from(start, self.newest())) - int(start["file"])

    def _until(self, at: Position) -> Position:
        """The end of an epoch that begins at a position."""
        newest = self.newest()
        room = self._limit
        for version, whole in self._from(at, newest) if room is not None else ():
            count = len(self._of(version, whole))
            first = at["file"] if (version, whole) == (at["version"], at["whole"]) else 0
            if room is not None and count - first > room:
                return {**at, "version": version, "whole": whole, "file": first + room}
            room = None if room is None else room - (count - first)
        return at if at["version"] > newest else {**at, "version": newest + 1, "whole": False, "file": 0}

    def _from(self, at: Position, last: int) -> Iterator[tuple[int, bool]]:
        """The versions from a position on, and whether each is read as a whole."""
        for version in self.numbers(at["version"], last):
            yield version, at["whole"] and version == at["version"]

    def _of(self, version: int, whole: bool) -> tuple[File, ...]:
        return self._of_whole(version) if whole else self._of_version(version)


def gone(path: str, version: int) -> ConnectorError:
    return ConnectorError("VERSION_GONE", f"version {version} of {path} is no longer in the table's log", hint=GONE)


def goes(path: str, version: int, read: str) -> ConnectorError:
    return ConnectorError(
        "TABLE_CHANGED",
        f"version {version} of {path} deletes or updates rows, but the source reads inserted rows only",
        hint=f"read the changes: {read}(..., changes=True)",
    )


def start_of(verb: str, start: Any, version: str) -> int | str | None:
    """The start of reading, as a user gives it."""
    if start is None or start == "latest":
        return start  # type: ignore[no-any-return]  # None or "latest"
    if isinstance(start, int) and not isinstance(start, bool) and start >= 0:
        return start
    if isinstance(start, datetime):
        return start.isoformat(" ")
    with suppress(TypeError, ValueError):
        datetime.fromisoformat(start)
        return str(start)
    raise wrong(f"{verb}: start cannot be {start!r}", f'it is {version}, a time ("2026-01-31 12:00:00") or "latest"')


def millis_of(start: str, time_zone: str) -> float:
    """A start that is a time, in milliseconds since 1970."""
    time = datetime.fromisoformat(start)
    return (time if time.tzinfo is not None else time.replace(tzinfo=zone(time_zone))).timestamp() * 1000
