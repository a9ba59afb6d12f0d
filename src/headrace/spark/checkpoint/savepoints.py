"""Savepoints: copies of a checkpoint as of a moment between two epochs, each complete by itself.

savepoints/NAME/savepoint.json    its job, epochs and versions
savepoints/NAME/...               job.json, queries, epochs and everything else of a checkpoint

Files that are written once are hard links, so the time of a savepoint depends on their number, not on their size. Where the file system has
no links they are copied. Nothing in a savepoint changes later: a run needs a copy of it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path
from typing import Any

from headrace.durable import atomic, private
from headrace.durable.sums import read, text_of, unreadable
from headrace.errors import HeadraceError
from headrace.plan import Plan
from headrace.plan.codec import typed
from headrace.plan.naming import valid_name
from headrace.spark.checkpoint.copying import SAVEPOINTS, copy
from headrace.spark.checkpoint.earlier import Earlier
from headrace.spark.checkpoint.folder import Stored, query_folder, stored_in
from headrace.spark.checkpoint.history import logged
from headrace.spark.checkpoint.lease import newest_term
from headrace.spelling import suggestion

FORMAT = 1
BEFORE_DEPLOY = "before-deploy-"
_KEPT = 3
"""The number of savepoints of deploys that are kept."""
FILE = "savepoint.json"
_UNFINISHED, _DELETED = ".unfinished", ".deleted"


@dataclass(frozen=True)
class Savepoint:
    """A savepoint of a job, as `Job.savepoints` lists it. It prints as a line.

    * `name`, `folder`: its name, and the folder with its files.
    * `job`, `at`: the name of the job, and when it was made.
    * `epochs`: the last epoch of each streaming query.
    * `plan`: the fingerprint of the plan that ran, after optimization.
    * `headrace`, `spark`: the versions that wrote it.
    * `pinned`: whether `headrace savepoint prune` keeps it.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 7), ("a", 900)], "card string, amount int", name="charges")
        >>> job = hr.job("spent", charges.group_by("card").agg(spent="sum(amount)").write.memory(name="per_card"))
        >>> _ = job.run(progress=False)
        >>> print(job.savepoint("before-black-friday"))
        before-black-friday: spent after epoch 0, made ... with headrace ... and Spark ...
        >>> [one.name for one in job.savepoints()]
        ['before-black-friday']
        >>> job.savepoints()[0].to_json()["epochs"]
        {'main': 0}
    """

    name: str
    folder: Path
    job: str
    at: datetime
    epochs: Mapping[str, int]
    plan: str
    headrace: str
    spark: str
    pinned: bool = False

    def to_json(self) -> dict[str, Any]:
        """Returns the savepoint as data that `json.dumps` takes."""
        return {**vars(self), "folder": str(self.folder), "at": self.at.isoformat(), "epochs": dict(self.epochs)}

    def __str__(self) -> str:
        epochs = listed(self.epochs)
        after = f" after epoch {epochs}" if epochs else " before its first epoch"
        pinned = ", pinned" if self.pinned else ""
        how = f"made {self.at:%Y-%m-%d %H:%M:%S} UTC with headrace {self.headrace} and Spark {self.spark}"
        return f"{self.name}: {self.job}{after}, {how}{pinned}"


def listed(epochs: Mapping[str, int]) -> str:
    """Return the last epochs of queries in words; the query is named if there are several.

    >>> listed({"main": 3}), listed({"main": 3, "other": 7})
    ('3', '3 of main, 7 of other')
    """
    return ", ".join(f"{epoch}" if len(epochs) == 1 else f"{epoch} of {query}" for query, epoch in epochs.items())


def take(folder: Path, name: str, *, at: int | None = None, pinned: bool = False, command: str = "") -> Savepoint:
    """Make a savepoint of the checkpoint in `folder`, whose queries are all between two epochs; a repeated `command` returns it. `at`: an
    earlier epoch with which it ends.
    """
    place = folder / SAVEPOINTS / valid_name(name)
    if place.exists():
        if command and (read(place / FILE) or {}).get("command") == command:
            return _read(place)
        raise HeadraceError(
            "SAVEPOINT_EXISTS", f"{folder} has a savepoint {name} already", hint="choose another name, or delete that savepoint first"
        )
    stored = stored_in(folder)
    if stored is None:
        raise unreadable(folder / "job.json", "it is gone")
    earlier = None if at is None else Earlier.at(folder, at)
    private.folder(folder / SAVEPOINTS)
    _tidy(folder, _DELETED, _UNFINISHED)
    fresh = place.with_name(f".{name}{_UNFINISHED}")
    copy(folder, fresh)
    if earlier is not None:
        earlier.cut(fresh)
        stored = earlier.stored
    # A copy of it continues with later terms, as one of the whole checkpoint would.
    (fresh / f"lock.{newest_term(folder)}").touch()
    savepoint = Savepoint(
        name,
        place,
        stored.job,
        datetime.now(UTC).replace(microsecond=0),
        _epochs(fresh, stored),
        Plan.from_json(stored.plan).fingerprint,
        _version("headrace"),
        _version("pyspark"),
        pinned,
    )
    about = {key: value for key, value in savepoint.to_json().items() if key not in ("name", "folder")}
    atomic.replace(fresh / FILE, text_of({"format": FORMAT, **about, "command": command}))
    fresh.rename(place)
    return savepoint


def savepoints(folder: Path) -> tuple[Savepoint, ...]:
    """Return the savepoints of a checkpoint, the oldest first."""
    return tuple(sorted((_read(folder / SAVEPOINTS / name) for name in names(folder)), key=lambda one: (one.at, one.name)))


def names(folder: Path) -> list[str]:
    """Return the names of the savepoints of a checkpoint, also of damaged ones."""
    place = folder / SAVEPOINTS
    return [path.name for path in place.iterdir() if not path.name.startswith(".")] if place.is_dir() else []


def before_deploys(folder: Path) -> list[str]:
    """Return the savepoints of a checkpoint that deploys have made, the oldest first."""
    of_deploys = [name for name in names(folder) if re.fullmatch(rf"{BEFORE_DEPLOY}\d+", name)]
    return sorted(of_deploys, key=lambda name: int(name.removeprefix(BEFORE_DEPLOY)))


def take_before_deploy(folder: Path) -> None:
    """Save the version that a deploy replaces, and delete all but the newest savepoints of earlier deploys."""
    earlier = before_deploys(folder)
    number = int(earlier[-1].removeprefix(BEFORE_DEPLOY)) if earlier else 0
    take(folder, f"{BEFORE_DEPLOY}{number + 1}")
    for name in earlier[: 1 - _KEPT]:
        delete(folder, name)


def savepoint(folder: Path, name: str) -> Savepoint:
    """Return a savepoint by its name."""
    place = folder / SAVEPOINTS / valid_name(name)
    if not (place / FILE).is_file():
        known = [one.name for one in savepoints(folder)]
        hint = suggestion(name, known, f"it has: {', '.join(known)}" if known else "it has none")
        raise HeadraceError("UNKNOWN_SAVEPOINT", f"{folder} has no savepoint {name}", hint=hint)
    return _read(place)


def delete(folder: Path, name: str) -> Savepoint:
    """Delete a savepoint."""
    gone = savepoint(folder, name)
    _tidy(folder, _DELETED)
    gone.folder.rename(gone.folder.with_name(f".{name}{_DELETED}"))
    _tidy(folder, _DELETED)
    return gone


def prune(folder: Path, *, keep: int | None, older_than: timedelta | None) -> tuple[Savepoint, ...]:
    """Delete savepoints that are not pinned, and return them: all but the newest `keep`, and all `older_than` a duration."""
    _tidy(folder, _DELETED)
    free = [one for one in savepoints(folder) if not one.pinned]
    by_number = free[: len(free) - keep] if keep is not None else []
    by_age = [one for one in free if older_than is not None and datetime.now(UTC) - one.at > older_than]
    return tuple(delete(folder, one.name) for one in free if one in by_number or one in by_age)


def _read(place: Path) -> Savepoint:
    file = place / FILE
    value = read(file)
    try:
        if value is None or value["format"] != FORMAT:
            raise ValueError("format")
        texts = {field: typed(value[field], str) for field in ("job", "plan", "headrace", "spark")}
        epochs = {str(query): typed(epoch, int) for query, epoch in value["epochs"].items()}
        at = datetime.fromisoformat(value["at"])
        return Savepoint(place.name, place, at=at, epochs=epochs, pinned=typed(value["pinned"], bool), **texts)
    except (AttributeError, KeyError, TypeError, ValueError) as problem:
        raise unreadable(file, f"it is not a savepoint of this version ({type(problem).__name__}: {problem})") from None


def _tidy(folder: Path, *suffixes: str) -> None:
    """Remove what an interrupted command has left. Only the process that makes savepoints may remove an unfinished one."""
    for path in (folder / SAVEPOINTS).glob(".*"):
        if path.name.endswith(suffixes):
            shutil.rmtree(path, ignore_errors=True)


def _epochs(folder: Path, stored: Stored) -> dict[str, int]:
    last = {query.name: logged(query_folder(folder, query.name), "commits") for query in stored.identity.queries}
    return {name: epoch for name, epoch in last.items() if epoch >= 0}


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "(not installed)"
