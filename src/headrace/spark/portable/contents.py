"""The folder of a portable savepoint.

portable.json    the savepoint, its operators and tables, and the size and SHA-256 of every other file
checkpoint/      the checkpoint without the state of its queries
state/op=N/      the state of an operator, from which it is restored: Parquet
tables/NAME/     the same state as `headrace state` shows it: Parquet

Nothing in it names the folder, so it can be copied anywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from headrace.durable import atomic
from headrace.durable.sums import read, text_of
from headrace.errors import HeadraceError
from headrace.plan.codec import short, typed
from headrace.plan.naming import valid_name
from headrace.spark.checkpoint.savepoints import listed
from headrace.spark.run.failures import reason_of

FORMAT = 1
FILE, CHECKPOINT, STATE, TABLES = "portable.json", "checkpoint", "state", "tables"


@dataclass(frozen=True)
class Operator:
    """An operator whose state is in a portable savepoint: its number, its keys, the pages of its bags, and the bytes of all that."""

    op: int
    keys: int
    pages: int
    bytes: int


@dataclass(frozen=True)
class Portable:
    """A portable savepoint, as `hr.export_savepoint` returns it. It prints as a line.

    * `name`, `folder`: the name of the savepoint that it was made from, and the folder with its files.
    * `job`, `at`: the name of the job, and when the savepoint was made.
    * `epochs`: the last epoch of each streaming query.
    * `plan`: the fingerprint of the plan that ran, after optimization.
    * `headrace`, `spark`: the versions that wrote the savepoint.
    * `keys`: the number of keys of each operator that keeps state.
    * `tables`: the columns of each table of its state, as DDL.
    * `bytes`: the size of all files.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 7), ("a", 900), ("b", 3)], "card string, amount int", name="charges")
        >>> job = hr.job("moves", charges.group_by("card").agg(spent="sum(amount)").named("spent").write.memory(name="per_card"))
        >>> _ = job.run(progress=False)
        >>> _ = job.savepoint("before-the-move")
        >>> portable = hr.export_savepoint(".headrace/moves", "before-the-move", "moves-portable")
        >>> print(portable)
        before-the-move: moves after epoch 0, with 2 keys of 1 operator, ... KB in .../moves-portable
        >>> portable.keys, portable.to_json()["tables"]
        ({'spent': 2}, {'spent': 'key struct<card: string>, rows bigint, spent bigint'})
    """

    name: str
    folder: Path
    job: str
    at: datetime
    epochs: Mapping[str, int]
    plan: str
    headrace: str
    spark: str
    keys: Mapping[str, int]
    tables: Mapping[str, str]
    bytes: int

    def to_json(self) -> dict[str, Any]:
        """Returns the savepoint as data that `json.dumps` takes."""
        mappings = {"epochs": dict(self.epochs), "keys": dict(self.keys), "tables": dict(self.tables)}
        return {**vars(self), **mappings, "folder": str(self.folder), "at": self.at.isoformat()}

    def __str__(self) -> str:
        epochs = listed(self.epochs)
        after = f"after epoch {epochs}" if epochs else "before its first epoch"
        keys, operators = sum(self.keys.values()), len(self.keys)
        what = f"with {keys:,} key{'s'[: keys != 1]} of {operators} operator{'s'[: operators != 1]}"
        return f"{self.name}: {self.job} {after}, {what}, {max(self.bytes // 1000, 1):,} KB in {self.folder}"


@dataclass(frozen=True)
class Contents:
    """A portable savepoint, its operators by name, and its files: the size and SHA-256 of each, by its path in the folder."""

    portable: Portable
    operators: Mapping[str, Operator]
    files: Mapping[str, tuple[int, str]]


def write(folder: Path, about: Mapping[str, Any], operators: Mapping[str, Operator], tables: Mapping[str, str]) -> None:
    """Write the description of a portable savepoint, whose other files are all there. `about`: what it says of the savepoint."""
    files = {str(path.relative_to(folder)): [path.stat().st_size, _sha256(path)] for path in _files(folder, CHECKPOINT, STATE, TABLES)}
    described = {name: vars(one) for name, one in operators.items()}
    value = {"format": FORMAT, **about, "operators": described, "tables": dict(tables), "files": files}
    atomic.replace(folder / FILE, text_of(value, indent=1))


def contents(folder: Path) -> Contents:
    """Read what a portable savepoint has. Raises UNKNOWN_SAVEPOINT if the folder is none, CHECKPOINT_FORMAT, CHECKPOINT_UNREADABLE."""
    file = folder / FILE
    try:
        value = read(file) if folder.is_dir() else None
    except OSError as problem:
        raise _damaged(file, reason_of(problem)) from None
    except HeadraceError:
        raise _damaged(file, "its checksum is not that of what was written") from None
    if value is None:
        hint = "name the folder that headrace savepoint export wrote"
        raise HeadraceError("UNKNOWN_SAVEPOINT", f"{folder} has no portable savepoint", hint=hint)
    if value.get("format") != FORMAT:
        raise HeadraceError(
            "CHECKPOINT_FORMAT",
            f"{file} has format {short(value.get('format'))}; this version of headrace reads format {FORMAT}",
            hint="use the version of headrace that wrote it",
        )
    try:
        texts = {field: typed(value[field], str) for field in ("name", "job", "plan", "headrace", "spark")}
        valid_name(texts["job"])
        operators = {str(name): Operator(**{key: typed(n, int) for key, n in one.items()}) for name, one in value["operators"].items()}
        files = {str(path): (typed(size, int), typed(digest, str)) for path, (size, digest) in value["files"].items()}
        portable = Portable(
            folder=folder,
            at=datetime.fromisoformat(value["at"]),
            epochs={str(query): typed(epoch, int) for query, epoch in value["epochs"].items()},
            keys={name: one.keys for name, one in operators.items()},
            tables={str(name): typed(columns, str) for name, columns in value["tables"].items()},
            bytes=sum(size for size, _ in files.values()),
            **texts,
        )
    except (AttributeError, HeadraceError, KeyError, TypeError, ValueError) as problem:
        raise _damaged(file, f"it does not describe a portable savepoint ({type(problem).__name__}: {problem})") from None
    return Contents(portable, operators, files)


def check(folder: Path, files: Mapping[str, tuple[int, str]]) -> None:
    """Raise CHECKPOINT_UNREADABLE for a file that is gone, changed or new, among those that an import reads."""
    there = {str(path.relative_to(folder)): path for path in _files(folder, CHECKPOINT, STATE)}
    for name, (size, digest) in files.items():
        if name.startswith(f"{TABLES}/"):
            continue
        if name not in there:
            raise _damaged(folder / name, "it is gone")
        try:
            same = there[name].stat().st_size == size and _sha256(there[name]) == digest
        except OSError as problem:
            raise _damaged(folder / name, reason_of(problem)) from None
        if not same:
            raise _damaged(folder / name, "it is not what was exported")
    for name in there.keys() - files.keys():
        raise _damaged(folder / name, "it was not exported", cure="remove it")


def _damaged(file: Path, why: str, *, cure: str = "copy the portable savepoint again, or export it again") -> HeadraceError:
    return HeadraceError("CHECKPOINT_UNREADABLE", f"{file} cannot be read: {why}", hint=cure)


def _files(folder: Path, *own: str) -> Iterator[Path]:
    """Yield the files in some folders of a portable savepoint."""
    yield from (path for name in own for path in sorted((folder / name).rglob("*")) if path.is_file())


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
