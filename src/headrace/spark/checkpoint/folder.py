"""The checkpoint folder of a job.

job.json       the plan, settings, partitions and identity under which this checkpoint was written
queries/NAME   Spark's checkpoint of a query
epochs/NAME     the identity of each epoch of a query, and what a return to it needs
record/NAME.TERM.json  the counts of the query's epochs
dead_letters/NAME   failed rows that no sink of the job takes, as JSON
repaired/SOURCE     repaired dead letters, read as rows of their source
refused/NAME        rows that the target of a sink rejected
foreach_batch/NAME  rows of an epoch on their way to a function
errors.log     the Java traces of failures
rewound.jsonl  the sinks that were brought back to this checkpoint
clearing       the folder and the outputs are being emptied, to start over
sealing        the flush at the end of bounded input has begun, so the watermark may be at the end of time
sealed         that flush is done
migrated       the checkpoint in which the job continues (of a version before deploys)
savepoints/NAME  copies of the checkpoint, which a fresh start keeps
commands       commands to the process that works here, and their answers
history.jsonl  the commands and deploys that were carried out
forked.json    of a fork: the jobs it was forked from, and their sinks
next, switch   the parts of a new version that is being deployed
candidate      what a deploy prepares while the job runs
lock.TERM      the process that works here now; TERM counts the starts
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headrace.durable import private
from headrace.durable.atomic import replace
from headrace.durable.sums import read, text_of, unreadable
from headrace.errors import HeadraceError
from headrace.plan.codec import refuse_unwritten, short, typed
from headrace.plan.meaning import settings_of
from headrace.plan.naming import spelled, valid_name
from headrace.spark.checkpoint import candidate
from headrace.spark.checkpoint.channel import COMMANDS
from headrace.spark.checkpoint.copying import CANDIDATE, CANDIDATE_LOCK, SAVEPOINTS
from headrace.spark.checkpoint.history import History, last_logged
from headrace.spark.checkpoint.lease import SILENCE, Lease, is_lock
from headrace.spark.checkpoint.record import Record
from headrace.spark.checkpoint.switch import finish
from headrace.spark.compile.identity import Identity

FORMAT = 5
"""Format 1 has no identities of epochs; format 2 has no hash of the steps of the rows of sinks and operators (`origin`); format 3 has no
`home` of sinks that a deploy has moved and no `shards` of joins without keys; format 4 has no `corrections`.
"""
MIGRATED = "migrated"
_CLEARING = "clearing"
_BESIDE = (SAVEPOINTS, COMMANDS, CANDIDATE, CANDIDATE_LOCK)
"""What a fresh start keeps, and what others may make before the first start is done."""


@dataclass(frozen=True)
class Stored:
    """`job.json`: the job and the settings that wrote the state of this checkpoint. `id` names the checkpoint to the sinks it feeds."""

    id: str
    job: str
    plan: Mapping[str, Any]
    settings: Mapping[str, str]
    partitions: int
    identity: Identity
    adopted: Mapping[str, int] = field(default_factory=dict)
    """The last epoch of each query that was begun by a version without identities of epochs."""

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "id": self.id,
            "job": self.job,
            "settings": dict(self.settings),
            "partitions": self.partitions,
            "identity": self.identity.to_json(),
            "adopted": dict(self.adopted),
            "plan": dict(self.plan),
        }


def stored_in(folder: Path, file: Path | None = None) -> Stored | None:
    """Read the `job.json` of a folder, or another `file` that had this name there; None if there is none. Takes no lock."""
    path = file or folder / "job.json"
    value = read(path) if folder.is_dir() else None
    if value is None:
        return None
    try:
        refuse_unwritten(value)
        if value["format"] not in range(1, FORMAT + 1):
            raise HeadraceError(
                "CHECKPOINT_FORMAT",
                f"{path} has format {short(value['format'])}; this version of headrace reads formats 1 to {FORMAT}",
                hint="use the version of headrace that wrote it, or start over with fresh=True",
            )
        return _stored(value, folder)
    except HeadraceError as problem:
        if problem.code == "CHECKPOINT_FORMAT":
            raise
        raise unreadable(path, problem.message) from None
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError) as problem:
        raise unreadable(path, f"it is not a job.json of headrace ({type(problem).__name__}: {problem})") from None


def _stored(value: Any, folder: Path) -> Stored:
    """Parse a `job.json`, and check that the names in it are names, because readers rely on that."""
    plan, identity = value["plan"], Identity.from_json(value["identity"])
    for node in plan["nodes"]:
        spelled(node["name"])
    id, job = valid_name(value["id"]), valid_name(value["job"])
    begun = last_logged(folder) if value["format"] == 1 else {str(name): typed(epoch, int) for name, epoch in value["adopted"].items()}
    return Stored(id, job, plan, settings_of(value["settings"]), typed(value["partitions"], int), identity, begun)


def is_checkpoint(folder: Path) -> bool:
    """Return whether a job keeps, or kept, its state in a folder."""
    return (folder / "job.json").is_file() or is_clearing(folder)


def is_clearing(folder: Path) -> bool:
    """Return whether a clearing of the checkpoint in a folder has begun and must be finished."""
    return (folder / _CLEARING).exists()


def query_folder(folder: Path, name: str) -> Path:
    """Return the folder of Spark's checkpoint of a query."""
    return folder / "queries" / name


class Checkpoint:
    """An open checkpoint folder, locked by this process until `close`. Opening changes only the lock.

    `fresh`: ignore what is stored. `waits` is called with the holder that a standby waits for; `silence` is its patience; `answers`: this
    process runs the job (`Lease`).
    `clearing`: a clearing has begun, now or before a crash, and must be finished.
    """

    def __init__(
        self,
        folder: Path,
        *,
        fresh: bool = False,
        waits: Callable[[str], None] | None = None,
        silence: float = SILENCE,
        answers: bool = False,
    ) -> None:
        self.folder = folder.absolute()
        try:
            self._created = not self.folder.exists()
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            _must_be_ours(self.folder)
            # all that Python and Spark write below contains rows: only this user may enter
            private.folder(self.folder)
            self.lease = Lease(self.folder, waits, silence, answers=answers)
        except OSError as problem:
            raise unusable(self.folder, str(problem.strerror)) from None
        try:
            self._finish_switch()
            self.stored = None if fresh or self.clearing else stored_in(self.folder)
            # the sinks know the checkpoint by this id
            self.id = self.stored.id if self.stored is not None else uuid.uuid4().hex
        except BaseException:
            self.lease.release()
            raise

    def _finish_switch(self) -> None:
        try:
            finish(self.folder)
            candidate.sweep(self.folder)
        except OSError as problem:
            raise unusable(self.folder, problem.strerror or str(problem)) from None

    @property
    def clearing(self) -> bool:
        """Whether a clearing has begun and must be finished."""
        return is_clearing(self.folder)

    def begin_clearing(self) -> None:
        """Make the checkpoint count as empty from now on, whatever happens before `end_clearing`."""
        (self.folder / _CLEARING).touch()
        self.stored = None
        self.id = uuid.uuid4().hex

    @property
    def begun(self) -> bool:
        """Whether a query was ever started here; before that nothing depends on what is stored."""
        return any(any(self.folder.glob(trace)) for trace in ("queries/*/offsets", "epochs/*/*.json", "record/*.json"))

    def empty(self) -> None:
        """Remove everything but the lock, the savepoints and waiting commands, if a clearing has begun."""
        for path in self.folder.iterdir() if self.clearing else ():
            if not is_lock(path.name) and path.name not in (_CLEARING, *_BESIDE):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def end_clearing(self) -> None:
        """Make what is stored from now on count again."""
        (self.folder / _CLEARING).unlink(missing_ok=True)

    def store(self, job: str, plan: Mapping[str, Any], settings: Mapping[str, str], partitions: int, identity: Identity) -> Stored:
        """Write `job.json` for the run that begins now."""
        adopted = {} if self.stored is None else self.stored.adopted
        stored = Stored(self.id, job, plan, settings, partitions, identity, adopted)
        replace(self.folder / "job.json", text_of(stored.to_json(), indent=1))
        self.stored = stored
        return stored

    def reload(self) -> Stored:
        """Read `job.json` again, which a deploy has replaced."""
        stored = stored_in(self.folder)
        if stored is None:
            raise unreadable(self.folder / "job.json", "it is gone")
        self.stored = stored
        return stored

    def put_back(self, stored: Stored) -> None:
        """Undo `store`, if no query has begun with what it wrote."""
        if self.stored is not stored:
            replace(self.folder / "job.json", text_of(stored.to_json(), indent=1))
            self.stored = stored

    def query(self, name: str) -> Path:
        return query_folder(self.folder, name)

    def unfinished(self, name: str) -> int | None:
        """Return the epoch of a query that was begun and not finished, and will be replayed; None if there is none."""
        history = self.history(name)
        begun = history.logged("offsets")
        return begun if begun > history.logged("commits") else None

    def history(self, name: str, plan: str = "") -> History:
        """Return the identities of a query's epochs; `plan` is the fingerprint of the plan under which new epochs begin."""
        adopted = -1 if self.stored is None else self.stored.adopted.get(name, -1)
        return History(self.folder / "epochs" / name, self.query(name), plan, adopted)

    def record(self, name: str) -> Record:
        return Record(self.folder / "record", name, self.lease.term)

    def dead_letters(self, name: str) -> Path:
        return self.folder / "dead_letters" / name

    @property
    def errors(self) -> Path:
        return self.folder / "errors.log"

    @property
    def sealed(self) -> bool:
        # If no flush ever began, no time was brought to its end.
        return self.sealing and (self.folder / "sealed").exists()

    @property
    def sealing(self) -> bool:
        return (self.folder / "sealing").exists()

    @property
    def migrated(self) -> Path | None:
        """The checkpoint in which the job continues, if an offline rewrite has made one from this."""
        try:
            return Path((self.folder / MIGRATED).read_text(encoding="utf-8").strip())
        except FileNotFoundError:
            return None

    def begin_seal(self) -> None:
        (self.folder / "sealing").touch()

    def seal(self) -> None:
        (self.folder / "sealed").touch()

    def close(self) -> None:
        """Unlock. Deletes the folder if this process made it and stored nothing in it."""
        self.lease.release()
        if self._created and self.stored is None and all(is_lock(path.name) or path.name in _BESIDE for path in self.folder.iterdir()):
            shutil.rmtree(self.folder, ignore_errors=True)


def unusable(folder: Path, reason: str) -> HeadraceError:
    """Return the error for a folder that the system does not let this process use."""
    return HeadraceError(
        "CHECKPOINT_UNUSABLE",
        f"the checkpoint folder {folder} cannot be used: {reason}",
        hint="set checkpoint= to a local folder that this user can write to",
    )


def migrated(folder: Path, to: Path) -> HeadraceError:
    """Return the error for a migrated checkpoint: of two with one id only one may continue, as sinks could not tell their epochs apart."""
    return HeadraceError(
        "CHECKPOINT_MIGRATED",
        f"the checkpoint {folder} was migrated to {to}",
        hint=f"continue with checkpoint={to}\nto undo the migration, delete {to} and the file {folder / MIGRATED}",
    )


def _must_be_ours(folder: Path) -> None:
    """Refuse a savepoint, and a folder with other contents as a checkpoint: fresh=True would remove them."""
    if folder.parent.name == SAVEPOINTS and is_checkpoint(folder.parent.parent):
        raise HeadraceError(
            "NOT_A_CHECKPOINT",
            f"{folder} is a savepoint, which must not change",
            hint="copy it to another folder, and set checkpoint= to that folder",
        )
    # a first start may have been killed while it wrote its job.json or its lock
    names = {path.name for path in folder.iterdir() if not path.name.startswith((".job.json.", ".lock.")) and not is_lock(path.name)}
    if names - {_CLEARING, *_BESIDE} and not names & {"job.json", _CLEARING}:
        raise HeadraceError(
            "NOT_A_CHECKPOINT",
            f"{folder} is not a checkpoint: it is not empty and has no job.json",
            hint="set checkpoint= to an empty or new folder",
        )
