"""The epochs of a files sink in a store outside this machine's file systems. Only the manifests decide which files belong to the output.

    s3a://bucket/out/
      part-3-0-17-4f1c2d3e-00000-000.parquet    a file of epoch 3, written to its final place
      _headrace/owner.json                      the writer, its start, and the epoch up to which orphaned files were removed
      _headrace/00000000000000000003.json       the manifest of epoch 3

Nothing is renamed, because stores implement a rename as a copy. Each task writes files with unique names; a commit creates the manifest
that lists the files of the successful tasks, in one request that the store refuses if the manifest exists. Files of other tasks are in no
manifest, and the next start removes them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from headrace.connectors.reach import reach
from headrace.durable.manifest import CONTROL, Owner, StagedFile, may_write, replaced
from headrace.durable.marks import Mark
from headrace.durable.segments import FORMAT, REPLACING, current, link_gone, moment, of_this_format, unlinked
from headrace.errors import ConnectorError
from headrace.points import point

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PREFIX = "part"


class RemoteManifest:
    """The epochs of one output folder in a store."""

    def __init__(self, session: SparkSession, folder: str, term: int = 1) -> None:
        self.store = reach(session, folder)
        self.folder = self.store.folder
        self.term = term
        self._sink = ""
        self._last: int | None = None

    def claim(self, owner: Owner) -> None:
        """Marks the folder as written by `owner`, like `Manifest.claim`."""
        self._sink = owner.sink
        text = self._owner_text(owner, self._swept())
        if not self.store.create(_OWNER, text):
            current_owner = self.owner()
            may_write(self.folder, current_owner, owner)
            self._check_term()
            self.store.write(_OWNER, text)

    def owner(self) -> Owner | None:
        record = self._read(_OWNER)
        return None if record is None else Owner(record["job"], record["sink"], record["checkpoint"], record.get("query", "main"))

    def epochs(self) -> list[int]:
        """The committed epochs, in order."""
        names = (name.removesuffix(".json") for name in self.store.names(CONTROL))
        return sorted(int(name) for name in names if name.isdigit())

    def mark(self) -> Mark:
        """The last committed epoch."""
        # An unreadable manifest was left by a writer that died; the one before it is the last.
        entries = (self._read(_name(epoch)) for epoch in reversed(self.epochs()))
        newest = next((entry for entry in entries if entry is not None), None)
        return Mark(exists=self.store.exists()) if newest is None else Mark(newest["epoch"], newest.get("identity", ""))

    def keeps(self, mark: Mark) -> bool:
        """Whether the folder still holds the epoch of a mark, and its rows count."""
        newest = self.mark().epoch
        if newest > mark.epoch and (self._read(_name(newest)) or {}).get("whole"):
            return False
        entry = self._read(_name(mark.epoch))
        return entry is not None and mark.agrees(entry.get("identity", ""))

    def commit(self, epoch: int, staged: Iterable[StagedFile], identity: str = "", *, whole: bool = False) -> None:
        """Makes the files that tasks wrote the output of `epoch`; does nothing without files. An epoch that is committed already stays as
        it is. `whole`: these files replace those of all earlier epochs, which are deleted, also if there are none.

        One exception: if a process that this one has replaced committed the epoch late, with files that this one has removed, the epoch
        gets this process's files.
        """
        files = sorted(staged, key=lambda file: file.path)
        if not (files or whole):
            return
        self._check_there(epoch, files)
        entry = {
            "format": REPLACING if whole else FORMAT,
            "epoch": epoch,
            "after": -1 if whole else self._before(epoch),
            "identity": identity,
            "term": self.term,
            "at": moment(time.time()),
            "files": [{"path": file.path, "rows": file.rows, "bytes": file.bytes} for file in files],
            **({"whole": True} if whole else {}),
        }
        text = json.dumps(entry, indent=1)
        if not self.store.create(_name(epoch), text):
            # An unreadable one was left by a writer that died: some stores show objects that were not closed.
            existing = self._read(_name(epoch)) or {"files": [], "term": 0}
            if existing.get("term", 1) > self.term:
                raise replaced(self.folder, epoch)
            Mark(epoch, existing.get("identity", "")).holds(epoch, identity, self.folder)
            if existing.get("term", 1) and all(self.store.exists(file["path"]) for file in existing["files"]):
                named = {file["path"] for file in existing["files"]}
                for file in files:
                    if file.path not in named:
                        self.store.delete(file.path)
            else:
                self.store.write(_name(epoch), text)
        self._last = epoch
        point("in sink commit", self._sink)
        if whole:
            self._delete_before(epoch)

    def recover(self, held: Callable[[], None] = lambda: None) -> None:
        """After a start, removes the files that tasks wrote since the previous start and that no manifest names. `held` raises if another
        process has taken over; files that its tasks write later are not in the list, which is made first.
        """
        there = self.store.all()
        swept, epochs = self._swept(), self.epochs()
        named = {file["path"] for epoch in epochs if epoch >= swept for file in (self._read(_name(epoch)) or {"files": []})["files"]}
        held()
        self._check_term()
        for path in there:
            epoch = _epoch(path)
            if epoch is not None and epoch >= swept and path not in named:
                self.store.delete(path)
        if epochs and (self._read(_name(epochs[-1])) or {}).get("whole"):
            self._delete_before(epochs[-1])
        owner = self.owner()
        if owner is not None and epochs and epochs[-1] != swept:
            self.store.write(_OWNER, self._owner_text(owner, epochs[-1]))

    def clear(self) -> None:
        """Removes the files that tasks wrote, and the manifests; nothing else in the folder."""
        for path in self.store.all():
            if _epoch(path) is not None:
                self.store.delete(path)
        self.store.delete(CONTROL)
        self._last = None

    def files(self) -> list[str]:
        """The files of all committed epochs, in order of epoch. Raises OUTPUT_MISSING if a manifest is missing."""
        entries = self._entries()
        if unlinked(entries, -1) is not None:
            # a list made while a writer adds epochs may lack one
            entries = self._entries()
        if (lacking := unlinked(entries, -1)) is not None:
            raise link_gone(f"{self.folder}/{CONTROL}", lacking)
        return [f"{self.folder}/{file['path']}" for entry in current(entries) for file in entry["files"]]

    def lost(self) -> list[str]:
        """The missing files of committed epochs."""
        there = set(self.store.all())
        return [file for file in self.files() if file.removeprefix(f"{self.folder}/") not in there]

    def _entries(self) -> list[dict[str, Any]]:
        entries = (self._read(_name(epoch)) for epoch in self.epochs())
        return [entry for entry in entries if entry is not None]

    def _delete_before(self, epoch: int) -> None:
        """Deletes the files and manifests of earlier epochs, the newest first, so that those left have no gap."""
        for one in reversed(self.epochs()):
            if one < epoch:
                for file in (self._read(_name(one)) or {"files": []})["files"]:
                    self.store.delete(file["path"])
                self.store.delete(_name(one))

    def _before(self, epoch: int) -> int:
        """The last epoch before this one that has a manifest, -1 for none."""
        if self._last is None or self._last >= epoch:
            earlier = (self._read(_name(one)) for one in reversed(self.epochs()) if one < epoch)
            self._last = next((entry["epoch"] for entry in earlier if entry is not None), -1)
        return self._last

    def _read(self, name: str) -> dict[str, Any] | None:
        text = self.store.read(name)
        try:
            return None if text is None else of_this_format(json.loads(text), f"{self.folder}/{name}")
        except json.JSONDecodeError:
            return None

    def _swept(self) -> int:
        record = self._read(_OWNER)
        return 0 if record is None else int(record.get("swept", 0))

    def _check_term(self) -> None:
        record = self._read(_OWNER)
        if record is not None and int(record.get("term", 0)) > self.term:
            raise replaced(self.folder)

    def _check_there(self, epoch: int, files: Iterable[StagedFile]) -> None:
        """Raise if a file for a manifest is missing: readers could not read the folder from then on."""
        gone = next((file.path for file in files if not self.store.exists(file.path)), None)
        if gone is not None:
            self._check_term()
            raise ConnectorError(
                "OUTPUT_MISSING",
                f"{self.folder}/{gone}, which a task wrote for epoch {epoch}, was deleted before the epoch was committed",
                hint="nothing of the epoch was committed; the next start writes it again",
            )

    def _owner_text(self, owner: Owner, swept: int) -> str:
        return json.dumps({"format": FORMAT, **asdict(owner), "swept": swept, "term": self.term}, indent=1)


_OWNER = f"{CONTROL}/owner.json"


def _name(epoch: int) -> str:
    return f"{CONTROL}/{epoch:020}.json"


def _epoch(path: str) -> int | None:
    """The epoch of a file that a task wrote, from its name; None for any other file."""
    parts = path.rpartition("/")[2].split("-")
    is_ours = len(parts) >= 6 and parts[0] == PREFIX and parts[1].isdigit() and not path.startswith(f"{CONTROL}/")
    return int(parts[1]) if is_ours else None
