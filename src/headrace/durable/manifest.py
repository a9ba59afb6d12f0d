"""The manifests of a files sink, one per epoch with rows: they alone decide which files belong to the result.

    out/
      part-00000000000000000003-00000.parquet     a committed file
      _headrace/owner.json                        the job that writes here
      _headrace/00000000000000000003.json         the manifest of epoch 3
      _headrace/…-….1.jsonl                       merged manifests (`segments`)
      _headrace/staging/3-0-17/...                files of an epoch that is not committed yet
      _headrace/withdrawn/…24-5f1c77ab/...        epochs from 24 on, withdrawn with their manifests
      _headrace/withdrawn/before-…31/...          epochs before 31, which replaced their rows

A commit writes the manifest atomically, then moves the epoch's files from the staging folder to their visible names. The move can be
repeated, so `Manifest.recover` repairs a crash between the two. Readers skip names that begin with `_`, so they never see a staged file; a
reader that must not see half of the newest epoch uses `committed_files`.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from headrace.durable import sums
from headrace.durable.atomic import create, replace
from headrace.durable.marks import Mark, readable
from headrace.durable.segments import FORMAT, REPLACING, End, Segments, Span, current, moment, of_this_format
from headrace.durable.sums import text_of
from headrace.errors import CheckpointError, ConnectorError
from headrace.points import point

CONTROL = "_headrace"
STAGING = "staging"


@dataclass(frozen=True)
class Owner:
    """The writer of a folder: the job, its sink, the identity of its checkpoint, and the query whose epochs the manifests number."""

    job: str
    sink: str
    checkpoint: str
    query: str = "main"


@dataclass(frozen=True)
class StagedFile:
    """A file that a task has staged: its path below the output folder, its rows and bytes."""

    path: str
    rows: int
    bytes: int


class Manifest:
    """The epochs of one output folder.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> manifest = Manifest(folder)
    >>> manifest.claim(Owner("job", "sink", "c1"))
    >>> staged = folder / "_headrace/staging/0-0-1/part-0.json"
    >>> staged.parent.mkdir(parents=True); _ = staged.write_text("{}")
    >>> manifest.commit(0, [StagedFile("_headrace/staging/0-0-1/part-0.json", 1, 2)])
    >>> [path.name for path in committed_files(folder)]
    ['part-00000000000000000000-00000.json']
    """

    def __init__(self, folder: Path, term: int = 1) -> None:
        self.folder = folder
        self.term = term
        self.control = folder / CONTROL
        self.staging = self.control / STAGING
        self._segments = Segments(self.control)
        self._gone: tuple[int, Path] | None = None
        self._last: int | None = None
        self._sink = ""

    def claim(self, owner: Owner) -> None:
        """Marks the folder as written by `owner`. A sink with another name may take over within the same query of the same checkpoint,
        where the epoch numbers continue. Otherwise raises FOLDER_OWNED.
        """
        self._sink = owner.sink
        present = self.owner()
        may_write(self.folder, present, owner)
        if present != owner:
            self.control.mkdir(parents=True, exist_ok=True)
            replace(self.control / "owner.json", text_of({"format": FORMAT, **asdict(owner)}, indent=1))

    def owner(self) -> Owner | None:
        text = read(self.control / "owner.json")
        return None if text is None else Owner(text["job"], text["sink"], text["checkpoint"], text.get("query", "main"))

    def entries(self) -> Iterator[dict[str, Any]]:
        """Returns the manifests of the committed epochs, in order. Raises OUTPUT_MISSING if one of them is gone."""
        return self._segments.entries(linked=True)

    def complete(self) -> list[dict[str, Any]]:
        """Returns the manifests that count, without the newest one while its files are being moved to their visible names."""
        entries = list(self.entries())
        if entries and not all((self.folder / file["path"]).exists() for file in entries[-1]["files"]):
            entries.pop()
        return current(entries)

    def mark(self) -> Mark:
        """Returns the last committed epoch."""
        newest = self._segments.last()
        return Mark(exists=self.folder.is_dir()) if newest is None else Mark(newest["epoch"], newest.get("identity", ""))

    def keeps(self, mark: Mark) -> bool:
        """Returns whether the epoch of a mark still has its manifest, and its rows count."""
        entry = next(iter(current(self._segments.entries(mark.epoch - 1))), None)
        return entry is not None and entry["epoch"] == mark.epoch and mark.agrees(entry.get("identity", ""))

    def commit(self, epoch: int, staged: Iterable[StagedFile], identity: str = "", *, whole: bool = False) -> None:
        """Makes the staged files the output of `epoch`; does nothing without files. An epoch that is already committed keeps its output.
        `whole`: these files replace those of all earlier epochs, also if there are none.

        The exception is a manifest by a process that was asleep while this one took over: if its staged files are gone, the files staged
        now replace them.
        """
        if self._gone and epoch > self._gone[0]:
            raise _missing(*self._gone)
        path = self.path(epoch)
        files = sorted(staged, key=lambda file: file.path)
        if not (files or whole):
            return
        entries = [self.entry(epoch, number, file) for number, file in enumerate(files)]
        entry: dict[str, Any] = {
            "format": REPLACING if whole else FORMAT,
            "epoch": epoch,
            "after": -1 if whole else self._before(epoch),
            "identity": identity,
            "term": self.term,
            "at": moment(time.time()),
            "files": entries,
            **({"whole": True} if whole else {}),
        }
        if not create(path, text_of(entry, indent=1)):
            stored = read(path)
            if stored is not None and stored.get("term", 1) > self.term:
                raise replaced(self.folder, epoch)
            if stored is not None:
                Mark(epoch, stored.get("identity", "")).holds(epoch, identity, str(self.folder))
            if stored is not None and self._lost(stored) is None:
                entry = stored
            else:
                replace(path, text_of(entry, indent=1))
        self._gone, self._last = None, epoch
        point("in sink commit", self._sink)
        self._show(entry)
        self._segments.compact()
        self._sweep({*(file.path for file in files), *(file["staged"] for file in entry["files"])})

    def recover(self, held: Callable[[], None] = lambda: None) -> None:
        """After a crash: finishes the newest commit and removes files staged for an epoch that was never committed. `held` raises if
        another process has taken over; the folders are listed before, so files that the other process stages later are left alone.
        """
        left = list(self.staging.iterdir()) if self.staging.is_dir() else []
        held()
        self.put_aside()
        self._segments.check_newest()
        newest = self._segments.last()
        if newest is not None:
            lost = self._lost(newest)
            # A replay of this epoch writes the file again. A commit of a later epoch shows that it is lost.
            self._gone = None if lost is None else (newest["epoch"], lost)
            if lost is None:
                self._show(newest)
        self._remove(left)

    def clear(self) -> None:
        """Removes the files that the manifests name, and the folder `_headrace`; nothing else."""
        self.put_aside()
        # A missing manifest must not prevent this, so the links are not checked.
        for entry in self._segments.entries():
            for file in entry["files"]:
                (self.folder / file["path"]).unlink(missing_ok=True)
                remove_empty((self.folder / file["path"]).parent, self.folder)
        shutil.rmtree(self.control, ignore_errors=True)
        self._last = None

    def later(self, epoch: int) -> list[dict[str, Any]]:
        """Returns the manifests of the epochs after `epoch`."""
        return list(self._segments.entries(epoch))

    def withdraw(self, epoch: int, tag: str) -> None:
        """Removes the epochs after `epoch` from the result in one step, then moves their files and manifests aside, under a name with this
        tag. After a crash `recover` finishes it.
        """
        create(self.control / End(epoch + 1, tag).name, "")
        self.put_aside()

    def put_aside(self) -> None:
        """Finishes a `withdraw` that was begun."""
        self._last = None
        while (end := self._segments.end()) is not None:
            aside = self.aside(end.first - 1, end.tag)
            aside.mkdir(parents=True, exist_ok=True)
            for entry in self._segments.entries(end.first - 1, withdrawn=True):
                self._move(entry, aside)
            self._segments.cut(end)
            (self.control / end.name).unlink(missing_ok=True)

    def _move(self, entry: dict[str, Any], aside: Path) -> None:
        """Moves the files of an epoch to a folder, and copies its manifest there."""
        replace(aside / Span(entry["epoch"], entry["epoch"], 0).name, text_of(entry, indent=1))
        for file in entry["files"]:
            for place in (self.folder / file["staged"], self.folder / file["path"]):
                if place.exists():
                    (aside / file["path"]).parent.mkdir(parents=True, exist_ok=True)
                    os.replace(place, aside / file["path"])
                    if not place.is_relative_to(self.control):
                        remove_empty(place.parent, self.folder)

    def _show(self, entry: dict[str, Any]) -> None:
        """Moves the files of an epoch to their visible names, and those that it replaces aside."""
        self.reveal(entry)
        if entry.get("whole"):
            aside = self.control / "withdrawn" / f"before-{entry['epoch']:020}"
            # The newest goes first: the manifests that are left have no gap, for a reader that lists them meanwhile.
            for span in self._segments.before(entry["epoch"]):
                aside.mkdir(parents=True, exist_ok=True)
                for one in reversed(self._segments.read(span)):
                    self._move(one, aside)
                self._segments.remove(span)

    def aside(self, epoch: int, tag: str) -> Path:
        """Returns the folder of the withdrawn epochs after `epoch`."""
        return self.control / "withdrawn" / f"{epoch + 1:020}-{tag}"

    def files(self) -> list[Path]:
        """Returns the files of all committed epochs, ordered by epoch."""
        return [self.folder / file["path"] for entry in current(self.entries()) for file in entry["files"]]

    def lost(self) -> list[Path]:
        """Returns the files of committed epochs that are gone or whose length has changed."""
        return [self.folder / file["path"] for entry in current(self.entries()) for file in entry["files"] if not self._whole(file)]

    def _whole(self, file: dict[str, Any]) -> bool:
        # Staged first: a writer may be moving the file.
        for path in (self.folder / file["staged"], self.folder / file["path"]):
            with suppress(FileNotFoundError):
                return bool(path.stat().st_size == file["bytes"])
        return False

    def _before(self, epoch: int) -> int:
        """Returns the last epoch before this one that has a manifest, -1 if none has."""
        if self._last is None or self._last >= epoch:
            newest = self._segments.last()
            self._last = -1 if newest is None else newest["epoch"]
        if self._last < epoch:
            return self._last
        stored = read(self.path(epoch))
        return -1 if stored is None else int(stored.get("after", -1))

    def path(self, epoch: int) -> Path:
        return self.control / Span(epoch, epoch, 0).name

    def entry(self, epoch: int, number: int, file: StagedFile) -> dict[str, Any]:
        staged = PurePosixPath(file.path)
        partition = staged.relative_to(PurePosixPath(CONTROL, STAGING)).parts[1:-1]
        suffix = "".join(staged.suffixes[-2:]) if staged.suffix in (".gz", ".zst", ".bz2") else staged.suffix
        final = PurePosixPath(*partition, f"part-{epoch:020}-{number:05}{suffix}")
        return {"path": str(final), "staged": file.path, "rows": file.rows, "bytes": file.bytes}

    def reveal(self, entry: dict[str, Any]) -> None:
        """Moves the files of an epoch to their visible names."""
        lost = self._lost(entry)
        if lost is not None:
            raise _missing(entry["epoch"], lost)
        for file in entry["files"]:
            staged, final = self.folder / file["staged"], self.folder / file["path"]
            if staged.exists():
                final.parent.mkdir(parents=True, exist_ok=True)
                os.replace(staged, final)

    def _sweep(self, staged: Iterable[str]) -> None:
        """Removes the folders in which tasks staged these files. Other folders may belong to a process that has taken over."""
        self._remove(self.staging / task for task in {PurePosixPath(path).parts[2] for path in staged})

    def _remove(self, tasks: Iterable[Path]) -> None:
        for task in tasks:
            shutil.rmtree(task, ignore_errors=True)
        with suppress(OSError):
            self.staging.rmdir()

    def _lost(self, entry: dict[str, Any]) -> Path | None:
        """Returns the first file of an epoch that is neither staged nor visible, if there is one."""
        for file in entry["files"]:
            staged, final = self.folder / file["staged"], self.folder.joinpath(file["path"])
            if not staged.exists() and not final.exists():
                return final
        return None


def files_gone(files: Sequence[object]) -> ConnectorError:
    """Returns the error for files of committed epochs that are gone or cut off."""
    named = ", ".join(map(str, files[:5]))
    more = f" and {len(files) - 5} more" if len(files) > 5 else ""
    verb = "belongs" if len(files) == 1 else "belong"
    return ConnectorError(
        "OUTPUT_MISSING",
        f"{named}{more} {verb} to committed epochs, but {'is' if len(files) == 1 else 'are'} missing or truncated",
        hint="restore the missing files, or start the job that wrote them with fresh=True to write the output again",
    )


def _missing(epoch: int, file: Path) -> ConnectorError:
    return ConnectorError(
        "OUTPUT_MISSING",
        f"{file} belongs to epoch {epoch}, but is missing",
        hint="restore the file, or start with fresh=True to write the output again",
    )


def committed_files(folder: str | os.PathLike[str]) -> list[Path]:
    """Lists the data files of all complete epochs in the local folder of a files sink, oldest epoch first.

    Reading exactly these files gives every row once, and never a part of an epoch, also while the job runs and after it was killed.

    Args:
        folder: The folder that the sink writes. Without any manifest in it, the list is empty.

    Raises:
        ConnectorError: `OUTPUT_MISSING` if a manifest other than the newest is missing.
        CheckpointError: `MANIFEST_FORMAT` for a manifest of a later version, `CHECKPOINT_UNREADABLE` for a damaged one.

    Examples:
        >>> import headrace as hr
        >>> import tempfile
        >>> hr.committed_files(tempfile.mkdtemp())
        []
    """
    manifest = Manifest(Path(folder))
    return [manifest.folder / file["path"] for entry in manifest.complete() for file in entry["files"]]


def read(path: Path) -> dict[str, Any] | None:
    """Returns a manifest, or the owner of a folder; None if there is no such file."""
    value = sums.read(path)
    return None if value is None else of_this_format(value, path)


def may_write(folder: object, present: Owner | None, owner: Owner) -> None:
    """Raises FOLDER_OWNED for a folder that another job, checkpoint or query has written."""
    if present is None or (present.checkpoint, present.query) == (owner.checkpoint, owner.query):
        return
    holds = f"{folder} holds the output of sink {readable(present.sink, owner.sink)} of job {present.job}"
    if present.job != owner.job:
        raise CheckpointError(
            "FOLDER_OWNED",
            f"{holds}, but this is job {owner.job}",
            hint=f"write to another folder; if the job {present.job} no longer exists, delete the folder by hand: fresh=True does not, "
            "as another job wrote it",
        )
    other = "checkpoint" if present.checkpoint != owner.checkpoint else "query of this job"
    raise CheckpointError(
        "FOLDER_OWNED",
        f"{holds}, written from another {other}",
        hint="write to another folder, continue from the checkpoint that wrote it, or start with fresh=True, "
        "which deletes the files it wrote",
    )


def clears(present: Owner, owner: Owner) -> bool:
    """Returns whether a fresh start of `owner` removes a folder's output: the same job wrote it before, from another checkpoint. Output
    with this checkpoint's own id was written after the fresh start.
    """
    return present.job == owner.job and present.checkpoint != owner.checkpoint


def replaced(folder: object, epoch: int | None = None) -> CheckpointError:
    """Returns the error for a process that another has replaced."""
    does = f"is now writing {folder}" if epoch is None else f"has written epoch {epoch} of {folder}"
    return CheckpointError(
        "LEASE_LOST",
        f"another process {does}: this one gave no sign of life for too long",
        hint="nothing is lost or duplicated, and the other process continues",
    )


def remove_empty(folder: Path, root: Path) -> None:
    """Removes partition folders that have become empty, up to but not including the root."""
    while folder != root and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
