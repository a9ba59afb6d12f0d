"""The history of a query: the identity of each epoch, and whether the parts of its checkpoint are of one moment.

epochs/QUERY/7.json    the identity of epoch 7, drawn once, after its offsets are logged and before its tasks; the first of a version that a
                       deploy has made also has those that it continues, and the first of a fork the one that it has in the parent
epochs/QUERY/7.NAME    a file of the checkpoint as it was after epoch 7 (`earlier.py`)

An identity covers the previous epoch, the plan, the logged offsets and time, and a random value: two copies of a checkpoint that run
separately are two histories, although their epochs have the same numbers.
"""

from __future__ import annotations

import hashlib
import secrets
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from headrace.durable.atomic import create, replace
from headrace.durable.filelog import last_of, logs_read
from headrace.durable.links import link
from headrace.durable.marks import Mark, named
from headrace.durable.sums import CURE, read, text_of, unreadable
from headrace.errors import HeadraceError

FORMAT = 1
KEPT = 100
"""How many epochs keep their identity and their files: as many as Spark keeps logs."""


class History:
    """The identities of the epochs of one query. `folder`: `epochs/QUERY` of the checkpoint. `query`: Spark's own folder of the query.
    `plan`: the fingerprint of the job's plan. Epochs up to `adopted` were begun by a version without identities.
    """

    def __init__(self, folder: Path, query: Path, plan: str, adopted: int = -1) -> None:
        self._folder = folder
        self._query = query
        self._plan = plan
        self.adopted = adopted

    def begin(self, epoch: int) -> str:
        """Return the identity of an epoch whose offsets are logged: drawn now, or by an earlier attempt."""
        if epoch <= self.adopted:
            return ""
        offsets = _digest(self._query / "offsets" / str(epoch))
        entry = self._entry(epoch) or self._drawn(epoch, offsets)
        if entry["offsets"] != offsets:
            raise incomplete(self._query / "offsets" / str(epoch), "is not the log with which this epoch began")
        return str(entry["identity"])

    def names(self, epoch: int) -> list[str]:
        """Return the identities under which sinks may know an epoch: its own, and for the first one of a new version those that it
        continues.
        """
        entry: Mapping[str, Any] = self._entry(epoch) or {}
        return [name for name in (entry.get("identity", ""), *entry.get("continues", ())) if name]

    def of(self, epoch: int) -> str:
        """Return the identity of an epoch; empty if it has none, or none is kept."""
        entry = self._entry(epoch)
        return "" if entry is None else entry["identity"]

    def pending(self) -> Mark | None:
        """Return the epoch that was begun and not finished, if its tasks may have begun."""
        logged, ended = self.logged("offsets"), self.logged("commits")
        if logged <= ended or (logged > self.adopted and not self.of(logged)):
            return None
        return Mark(logged, self.of(logged))

    def logged(self, log: str) -> int:
        """Return the last epoch in one of Spark's logs of the query, `offsets` or `commits`; -1 if there is none."""
        return logged(self._query, log)

    def check(self, recorded: int) -> None:
        """Raise CHECKPOINT_INCOMPLETE unless Spark's logs, the identities and the record, which ends with `recorded`, are of one moment."""
        logged, ended, drawn = self.logged("offsets"), self.logged("commits"), _newest(self._folder, ".json")
        offsets = self._query / "offsets"
        if recorded > logged:
            raise incomplete(offsets, f"ends with {named(logged)}, but the job has recorded {named(recorded)}")
        if drawn > logged:
            raise incomplete(offsets, f"ends with {named(logged)}, but {named(drawn)} has begun")
        if logged > ended + 1:
            raise incomplete(self._query / "commits", f"ends with {named(ended)}, but {named(logged)} has begun")
        if recorded < ended:
            raise incomplete(self._query / "commits", f"ends with {named(ended)}, but the job has recorded {named(recorded)}")
        if recorded > max(self.adopted, drawn):
            raise incomplete(self._folder, f"ends with {named(drawn)}, but the job has recorded {named(recorded)}")
        if drawn == logged > self.adopted:
            # compares the log from which the query continues
            self.begin(drawn)
        for source, needed in logs_read(offsets / str(logged)).items():
            log = self._query / "sources" / source
            if needed > (newest := last_of(log)):
                raise incomplete(log, f"lists the files of epochs up to {newest}, but the query has read up to {needed}")

    def tidy(self) -> None:
        """Remove outdated identities that an earlier run has left."""
        newest = _newest(self._folder, ".json")
        for epoch, file in self._files():
            if epoch <= newest - KEPT:
                file.unlink(missing_ok=True)

    def keep(self, epoch: int, files: Mapping[str, Path]) -> None:
        """Keep files as they are after an epoch, by names: links, because a file that changes is replaced by another. The last one shows
        that all are there.
        """
        for name, file in files.items():
            with suppress(FileExistsError, FileNotFoundError):  # kept before a replay of the epoch; a part that the checkpoint lacks
                link(file, self.kept(epoch, name))
            self.kept(epoch - KEPT, name).unlink(missing_ok=True)

    def kept(self, epoch: int, name: str) -> Path:
        """Return the path of a file that is kept of an epoch."""
        return self._folder / f"{epoch}.{name}"

    def cut(self, epoch: int) -> None:
        """Remove what is kept of later epochs, their identities too."""
        for number, file in self._files():
            if number > epoch:
                file.unlink()

    def branch(self, epoch: int, before: Iterable[str]) -> None:
        """Draw the identity of an epoch with which a new version of a query begins; `before` are those of the epochs that it continues."""
        continues = list(before)
        self._drawn(epoch, _digest(self._query / "offsets" / str(epoch)), "/".join(continues), {"continues": continues})

    def fork(self, epoch: int, parent: str) -> None:
        """Draw the identity of the epoch with which a fork begins; `parent` is its identity in the parent. A sink that knows the epoch by
        that one holds the parent's rows, so `names` does not have it.
        """
        self._drawn(epoch, _digest(self._query / "offsets" / str(epoch)), parent, {"forked": parent})

    def forked(self) -> int:
        """Return the epoch with which a fork began; -1 if it is kept no more, or if the job is no fork."""
        for epoch in numbers(self._folder, ".json")[:1]:
            if "forked" in (self._entry(epoch) or {}):
                return epoch
        return -1

    def _drawn(self, epoch: int, offsets: str, before: str | None = None, about: Mapping[str, Any] | None = None) -> dict[str, Any]:
        parts = (self.of(epoch - 1) if before is None else before, str(epoch), self._plan, offsets, secrets.token_hex(16))
        identity = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
        self._folder.mkdir(parents=True, exist_ok=True)
        # Of two processes one wins, and both use its identity.
        create(self._file(epoch), text_of({"format": FORMAT, "identity": identity, "offsets": offsets, **(about or {})}))
        self._file(epoch - KEPT).unlink(missing_ok=True)
        entry = self._entry(epoch)
        assert entry is not None  # just made
        return entry

    def _entry(self, epoch: int) -> dict[str, Any] | None:
        entry = read(self._file(epoch))
        if entry is not None and not entry.keys() >= {"identity", "offsets"}:
            raise unreadable(self._file(epoch), "it is not the identity of an epoch")
        return entry

    def _file(self, epoch: int) -> Path:
        return self.kept(epoch, "json")

    def _files(self) -> Iterator[tuple[int, Path]]:
        for file in list(self._folder.glob("*")):
            number = file.name.partition(".")[0]
            if number.isdigit():
                yield int(number), file


def logged(query: Path, log: str) -> int:
    """Return the last epoch in one of Spark's logs of a query, `offsets` or `commits`; -1 if there is none."""
    return _newest(query / log, "")


def renew_id(query: Path) -> None:
    """Give a query an id of its own: Spark ends a query when another one of its id starts in the session."""
    (query / ".metadata.crc").unlink(missing_ok=True)
    replace(query / "metadata", f'{{"id":"{uuid.uuid4()}"}}')


def last_logged(folder: Path) -> Mapping[str, int]:
    """Return the last epoch that each query of a checkpoint has begun."""
    return {query.name: logged(query, "offsets") for query in sorted((folder / "queries").glob("*")) if query.is_dir()}


def incomplete(what: Path, why: str) -> HeadraceError:
    """Return the error for a part of a checkpoint that is missing, or is of another moment."""
    return HeadraceError(
        "CHECKPOINT_INCOMPLETE",
        f"{what} {why}",
        hint=f"parts of the checkpoint are missing, or were copied at different times.\n{CURE}.",
    )


def numbers(log: Path, suffix: str = "") -> list[int]:
    """Return the epochs in one of the logs of a query, in order; `suffix` ends the names of its files."""
    names = (file.name.removesuffix(suffix) for file in log.glob(f"*{suffix}"))
    return sorted(int(name) for name in names if name.isdigit())


def _newest(folder: Path, suffix: str) -> int:
    return max(numbers(folder, suffix), default=-1)


def _digest(file: Path) -> str:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except FileNotFoundError:
        raise incomplete(file, "is gone") from None
