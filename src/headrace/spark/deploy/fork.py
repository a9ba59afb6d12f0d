"""A fork: a second job that continues from the state of a first one, and leaves that one alone.

savepoint, or checkpoint at rest ─► a copy beside the new checkpoint ─► an identity of its own (`checkpoint/forked.py`)
    ─► the fork's version is deployed to the copy ─► one rename

Nothing of the parent is opened, so nothing of it changes. Files that are written once are linked; the rest is copied.
"""

from __future__ import annotations

import re
import shutil
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headrace.errors import HeadraceError
from headrace.masking import leaving
from headrace.points import point
from headrace.spark.checkpoint import channel
from headrace.spark.checkpoint.channel import Command
from headrace.spark.checkpoint.copying import SAVEPOINTS
from headrace.spark.checkpoint.folder import query_folder, stored_in
from headrace.spark.checkpoint.forked import FORK, separate, settle, store
from headrace.spark.checkpoint.lease import held_by
from headrace.spark.checkpoint.savepoints import delete, listed
from headrace.spark.checkpoint.schema_paths import mend
from headrace.spark.compile.job import SparkJob
from headrace.spark.deploy.beside import LOG, beside, reveal
from headrace.spark.deploy.deployment import Diff, Verdict
from headrace.spark.deploy.parent import Parent
from headrace.spark.deploy.replacement import Replacement
from headrace.spark.deploy.request import Request
from headrace.spark.run.commands import take_savepoint


@dataclass(frozen=True)
class Fork:
    """The report of `hr.fork`: what the fork has, or would have, of each part of its parent. It prints as text.

    * `job`, `checkpoint`: the name of the fork and its checkpoint.
    * `parent`, `origin`: the name of the parent and its checkpoint.
    * `savepoint`: the savepoint that was forked; None for the checkpoint, after the epoch that was asked for or as it was.
    * `epochs`: the last epoch of each streaming query of the parent at that moment.
    * `diff`: a [`Diff`](#Diff) of the two versions; `verdicts` are its verdicts.
    * `partitions`: the number of tasks of each level; `before`: that of the parent.
    * `dry_run`: whether it was only a preview.
    * `seconds`: the duration.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 7), ("a", 900)], "card string, amount int", name="charges")
        >>> spent = charges.group_by("card").agg(spent="sum(amount)").named("spent")
        >>> _ = hr.job("spending", spent.write.memory(name="per_card")).run(progress=False, flush=False)
        >>> fork = hr.fork(".headrace/spending", hr.job("what-if", spent.write.memory(name="per_card")))
        >>> print(fork)
        what-if: was forked from spending after epoch 0 to ....headrace/what-if
          kept      source   charges
          kept      operator spent
          kept      sink     per_card
          ...
        done in ... s; the next run continues from there
        >>> [one.verdict for one in fork.verdicts], fork.to_json()["parent"]
        (['kept', 'kept', 'kept'], 'spending')
    """

    job: str
    checkpoint: Path
    parent: str
    origin: Path
    savepoint: str | None
    epochs: Mapping[str, int]
    diff: Diff
    partitions: int
    before: int
    dry_run: bool
    seconds: float

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts of `diff`."""
        return self.diff.verdicts

    def to_json(self) -> dict[str, Any]:
        """Returns the report as data that `json.dumps` takes."""
        return {
            **vars(self),
            "checkpoint": str(self.checkpoint),
            "origin": str(self.origin),
            "epochs": dict(self.epochs),
            "diff": self.diff.to_json(),
            "seconds": round(self.seconds, 3),
        }

    def __str__(self) -> str:
        done = "cannot be forked" if self.diff.refusals else "would be forked" if self.dry_run else "was forked"
        epochs = listed(self.epochs)
        savepoint = "" if self.savepoint is None else f", savepoint {self.savepoint},"
        end = "nothing was changed" if self.dry_run else f"done in {self.seconds:.1f} s; the next run continues from there"
        first = f"{self.job}: {done} from {self.parent} after epoch {epochs}{savepoint} to {self.checkpoint}"
        return "\n".join([first, *str(self.diff).splitlines()[1:], end])


@leaving()
def fork(
    job: SparkJob,
    home: Path,
    folder: Path,
    *,
    at: str | int | None = None,
    partitions: int | None = None,
    on_change: Mapping[str, str] | None = None,
    dry_run: bool = False,
) -> Fork:
    """Make the checkpoint `folder` of a fork of the job whose checkpoint is `home`, `at` a savepoint, an epoch or as it is.

    `partitions`, `on_change`, `dry_run`: as for `deploy`. Either all of the new checkpoint is there at the end, or nothing.
    """
    began = time.monotonic()
    home, folder = home.absolute(), folder.absolute()
    with _moment(home, at) as parent:
        shown = parent.folder if isinstance(at, str) else home
        _refuse_taken(job, parent, folder)
        with beside(folder) as copy, _parents_paths(copy, shown):
            line = parent.copy(copy)
            point("after the copy")
            separate(copy, parent.stored, job.plan.job, line, of_savepoint=parent.savepoint is not None)
            with Request(job, partitions, on_change or {}).opened(copy) as replacement:
                lines, refusals = replacement.check(starts=True, dry_run=dry_run)
                # a fork has written nothing before
                notices = tuple(re.sub(r"; what it wrote .* stays in .*", "", one) for one in lines)
                switches = replacement.changed and not dry_run
                counts = replacement.switch() if switches else {}
                comparison = replacement.comparison
                diff = comparison.diff(str(shown), job.plan.job, notices, refusals, counts)
                report = Fork(
                    job.plan.job,
                    folder,
                    parent.stored.job,
                    home,
                    at if isinstance(at, str) else None,
                    parent.epochs,
                    diff,
                    comparison.partitions,
                    parent.stored.partitions,
                    dry_run,
                    0.0,
                )
            report = replace(report, seconds=time.monotonic() - began)
            if not dry_run:
                _finish(copy, replacement, parent, report)
                _reveal(copy, folder)
            return report


@contextmanager
def _moment(home: Path, at: str | int | None) -> Iterator[Parent]:
    """Give the parent as of a moment. A process that runs it makes a savepoint of an epoch, for as long as that is needed."""
    if isinstance(at, int) and held_by(home) is not None:
        name = f"fork-of-epoch-{at}-{uuid.uuid4().hex[:8]}"
        take_savepoint(home, name, at=at)
        try:
            yield Parent.at(home, name)
        finally:
            delete(home, name)
    else:
        yield Parent.at(home, at)


def _finish(copy: Path, replacement: Replacement, parent: Parent, report: Fork) -> None:
    """Remove from the copy what only the deploy needed, and note where it comes from."""
    stored = stored_in(copy)
    assert stored is not None  # `separate` wrote it
    # a version that differs in the places of its sinks alone needs no deploy
    job = replacement.job
    store(copy, replace(stored, plan=job.plan.to_json(), settings=job.settings))
    settle(copy, stored)
    # the version before the deploy has the parent's sinks, so nothing may return to it
    shutil.rmtree(copy / SAVEPOINTS, ignore_errors=True)
    about = {"parent": report.parent, "checkpoint": str(report.origin), "savepoint": report.savepoint, "epochs": dict(report.epochs)}
    channel.note(copy, Command.make(FORK, **about, lineage=[one.id for one in parent.line]), report.to_json())


def _reveal(copy: Path, folder: Path) -> None:
    """Put the checkpoint in its place, in one step."""
    for query in (copy / "queries").glob("*"):
        mend(query, query_folder(folder, query.name))
    point("before the fork")
    try:
        reveal(copy, folder)
    except FileExistsError:
        raise _exists(folder) from None


def _refuse_taken(job: SparkJob, parent: Parent, folder: Path) -> None:
    """Refuse a name or a checkpoint that another job has, and a checkpoint inside the parent's."""
    name = job.plan.job
    if name in (one.job for one in parent.line):
        whose = "the same name" if name == parent.stored.job else f"the name of an ancestor, {name}"
        raise HeadraceError(
            "FORK_EXISTS",
            f"the fork of the job {parent.stored.job} has {whose}",
            hint='give it another name, because sinks tell jobs apart by their names: hr.job("NAME", ...), or --as NAME',
        )
    if folder.exists() or folder.is_symlink():
        raise _exists(folder)
    if folder.resolve().is_relative_to(parent.home.resolve()):
        raise HeadraceError(
            "FORK_EXISTS",
            f"the checkpoint {folder} of the fork would be inside that of its parent",
            hint="give the fork a checkpoint elsewhere with checkpoint=",
        )


def _exists(folder: Path) -> HeadraceError:
    hint = "give the fork another name, or another checkpoint with checkpoint="
    return HeadraceError("FORK_EXISTS", f"the checkpoint {folder} of the fork already exists", hint=hint)


@contextmanager
def _parents_paths(copy: Path, parent: Path) -> Iterator[None]:
    """Name the parent's files in errors in place of their copies, except a log that only the copy has."""
    try:
        yield
    except HeadraceError as error:
        for one in (error, *error.also):
            one.message = one.message.replace(str(copy), str(parent))
            one.args = (one.code, one.message)
            if one.hint and str(copy / LOG) not in one.hint:
                one.hint = one.hint.replace(str(copy), str(parent))
        raise
