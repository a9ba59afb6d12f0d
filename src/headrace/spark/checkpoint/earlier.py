"""An earlier epoch of a job: what the checkpoint keeps for a return to it, and a copy that ends with it.

epochs/QUERY/7.job, 7.sealing, 7.record    `job.json`, `sealing` and the counts as they were after epoch 7

Spark's logs, the state and the identities of epochs are kept by their numbers anyway. Dead letters have the number of their epoch. Logs of
files that sources have read stay whole: what an earlier epoch has not read is input that the next one reads.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from headrace.durable import atomic
from headrace.durable.manifest import Manifest
from headrace.durable.sums import text_in, unreadable
from headrace.errors import HeadraceError
from headrace.ports import aside
from headrace.spark.checkpoint.channel import forget
from headrace.spark.checkpoint.examine import state_files
from headrace.spark.checkpoint.folder import Stored, query_folder, stored_in
from headrace.spark.checkpoint.history import History, numbers
from headrace.spark.checkpoint.offsets import Offsets
from headrace.spark.checkpoint.record import newest
from headrace.spark.compile.identity import QueryIdentity
from headrace.spark.compile.shapes import SINK
from headrace.spelling import ranges

_JOB, _SEALING, _RECORD = "job", "sealing", "record"


def keep(folder: Path, query: str, epoch: int) -> None:
    """Keep what a return to an epoch of a query needs. The epoch is recorded, and no other has begun."""
    record = newest(folder / "record", query)
    assert record is not None  # the epoch is recorded
    _history(folder, query).keep(epoch, {_JOB: folder / "job.json", _SEALING: folder / "sealing", _RECORD: record})


@dataclass(frozen=True)
class Earlier:
    """An epoch of the only streaming query of a job. `stored`: its `job.json` of that moment; `sinks`: those that it has had so far."""

    query: str
    epoch: int
    stored: Stored
    sinks: tuple[str, ...]

    @classmethod
    def at(cls, folder: Path, epoch: int) -> Earlier:
        """Return an epoch of the job whose checkpoint is in a folder. Raises UNKNOWN_EPOCH. If the job runs, it is between two epochs."""
        now = stored_in(folder)
        if now is None:
            raise unreadable(folder / "job.json", "it is gone")
        running = _running(now)
        if len(running) != 1:
            names = ", ".join(query.name for query in running)
            raise HeadraceError(
                "UNKNOWN_EPOCH",
                f"epoch {epoch} is not one moment of the job {now.job}: its streaming queries {names} count their own epochs",
                hint=f"make a savepoint of the present moment: headrace savepoint create {folder} NAME",
            )
        (query,) = running
        stored = _kept(folder, query.name, epoch)
        if stored is None:
            raise _unknown(folder, query.name, epoch)
        sinks = tuple(entry.shape.name for entry in query.entries if entry.shape.kind == SINK)
        return cls(query.name, epoch, stored, sinks)

    def cut(self, copy: Path) -> None:
        """Make a copy of the checkpoint end with the epoch. It may share files with the checkpoint, so files are removed or replaced."""
        place, history = query_folder(copy, self.query), _history(copy, self.query)
        is_sealing = history.kept(self.epoch, _SEALING).exists()
        is_last = numbers(place / "commits")[-1] == self.epoch
        for flag, holds in (("sealing", is_sealing), ("sealed", is_sealing and is_last)):
            if not holds:
                (copy / flag).unlink(missing_ok=True)
        record = newest(copy / "record", self.query)
        assert record is not None  # the epoch is recorded
        for name, file in ((_JOB, copy / "job.json"), (_RECORD, record)):
            atomic.replace(file, text_in(history.kept(self.epoch, name)))
        following = next((epoch for epoch in numbers(place / "offsets") if epoch > self.epoch), None)
        if following is not None:
            forget(copy, Offsets.read(place, following).epoch["batchTimestampMs"])
        history.cut(self.epoch)
        _cut_logs(place, self.epoch)
        _cut_state(place, self.epoch)
        self._cut_letters(copy)

    def _cut_letters(self, copy: Path) -> None:
        letters = Manifest(copy / "dead_letters" / self.query)
        if letters.later(self.epoch):
            letters.withdraw(self.epoch, "later")
            shutil.rmtree(letters.aside(self.epoch, "later").parent)
        for sink in self.sinks:
            for file in (copy / aside.FOLDER / sink).glob("*.json"):
                if int(file.name.partition("-")[0]) > self.epoch:
                    file.unlink()


def _running(stored: Stored) -> list[QueryIdentity]:
    """Return the queries of a version: a checkpoint also knows those that were left out."""
    sinks = set(stored.plan["sinks"])
    return [query for query in stored.identity.queries if not sinks.isdisjoint(query.live())]


def _history(folder: Path, query: str) -> History:
    return History(folder / "epochs" / query, query_folder(folder, query), "")


def _kept(folder: Path, query: str, epoch: int) -> Stored | None:
    """Return the `job.json` with which a job's only query committed an epoch; None unless all that a return needs is there."""
    place, history = query_folder(folder, query), _history(folder, query)
    logs = ((place / log / f"{epoch}").exists() for log in ("offsets", "commits"))
    if not (all(logs) and history.of(epoch) and history.kept(epoch, _RECORD).exists()):
        return None
    stored = stored_in(folder, history.kept(epoch, _JOB))
    is_only = stored is not None and [one.name for one in _running(stored)] == [query]
    return stored if is_only and all(files for _, files in state_files(place, epoch)) else None


def _unknown(folder: Path, query: str, epoch: int) -> HeadraceError:
    there = [one for one in numbers(query_folder(folder, query) / "commits") if _kept(folder, query, one) is not None]
    kept = f"it keeps epochs {ranges(there)}" if there else "it keeps those that the job commits from now on"
    return HeadraceError("UNKNOWN_EPOCH", f"the checkpoint {folder} does not keep epoch {epoch}", hint=kept)


def _cut_logs(query: Path, epoch: int) -> None:
    for log in ("offsets", "commits"):
        for number in numbers(query / log):
            if number > epoch:
                for name in (f"{number}", f".{number}.crc"):
                    (query / log / name).unlink(missing_ok=True)


def _cut_state(query: Path, epoch: int) -> None:
    """Remove later state, and that of operators which have none yet. Spark counts the versions of stores from one."""
    known = {place.parent.parent for place, _ in state_files(query, epoch)}
    for operator in query.glob("state/*"):
        if operator not in known:
            shutil.rmtree(operator)
            continue
        for file in list(operator.glob("*/*_*")):
            version = file.name.removeprefix(".").partition("_")[0]
            if file.is_file() and version.isdigit() and int(version) > epoch + 1:
                file.unlink()
        for file in list(operator.glob("_metadata/v2/*")):
            batch = file.name.strip(".").partition(".")[0]
            if batch.isdigit() and int(batch) > epoch:
                file.unlink()
