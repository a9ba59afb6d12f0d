"""Brings sinks back to the epoch with which their checkpoint ends: `headrace rewind`.

A checkpoint that was restored from a backup is behind its sinks, and no start continues from it. If each of these sinks can undo later
epochs, this makes checkpoint and sinks one history again. Sinks are brought back one after the other, each in one step. After an
interruption the job is refused as before, and the next call continues.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.masking import leaving
from headrace.ops.sink import restored_sink
from headrace.plan import DisplayNames, Plan
from headrace.spark.checkpoint.compare import identified, with_frozen_schemas
from headrace.spark.checkpoint.folder import Checkpoint, Stored, migrated
from headrace.spark.checkpoint.record import place_of
from headrace.spark.compile.job import SparkJob
from headrace.spark.run.ahead import Rewound, planned
from headrace.spark.run.outlets import each, outlets_of, provide

LOG = "rewound.jsonl"
"""The log of what was done, in the checkpoint."""

TERMS = 1000
"""How far the term is moved on: the copy that went on may have had as many starts, whose terms the sinks know."""


@dataclass(frozen=True)
class Rewinding:
    """The report of `Job.rewind`: what was done, or would be done, to bring the sinks back to the checkpoint. It prints as text.

    * `job`, `checkpoint`: the name of the job and its checkpoint.
    * `sinks`: each sink that was ahead, with its `place`; `held`, its last epoch; `to`, the epoch that it returns to (-1: before the
      first); and `how`, the means.
    * `dry_run`: whether nothing was changed.
    * `left_out`: name and place of the sinks that the checkpoint knows and this version of the job does not write; they stay as they are.
    * `repairable`: the sources to which rows may have been replayed since the backup was made. Replay them again.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 7)], "card string, amount int", name="charges")
        >>> job = hr.job("back", charges.write.files("out", format="json"))
        >>> _ = job.run(progress=False)
        >>> rewinding = job.rewind()
        >>> rewinding.dry_run, rewinding.sinks
        (True, ())
    """

    job: str
    checkpoint: Path
    sinks: tuple[Rewound, ...]
    dry_run: bool
    left_out: tuple[tuple[str, str], ...] = ()
    repairable: tuple[str, ...] = ()

    def __str__(self) -> str:
        stays = [f"  {name}: this version of the job does not write to {place}, where later epochs stay" for name, place in self.left_out]
        if not self.sinks:
            return "\n".join([f"{self.job}: the sinks hold what {self.checkpoint} has written, nothing later", *stays])
        does = "would rewind" if self.dry_run else "rewound"
        end = "nothing was changed; dry_run=False (--yes) rewinds them" if self.dry_run else "the next start continues from there"
        count = f"{len(self.sinks)} sink{'' if len(self.sinks) == 1 else 's'}"
        return "\n".join(
            [f"{self.job}: {does} {count} to {self.checkpoint}", *(f"  {one}" for one in self.sinks), *self._repairs(), *stays, end]
        )

    def _repairs(self) -> list[str]:
        """Return the rows that are removed and that the sources will not bring again."""
        names = ", ".join(self.repairable)
        fed = f"rows that `headrace letters replay` has fed to {names} since the checkpoint was copied"
        return [f"  {fed} are withdrawn, too: replay their files again"] if self.repairable else []


@leaving()
def rewind(job: SparkJob, folder: Path, *, dry_run: bool) -> Rewinding:
    """Bring the sinks of a job back to the epoch with which its checkpoint ends; with `dry_run`, only describe it. If one of them cannot
    come back, all is refused and nothing is changed.
    """
    folder = folder.absolute()
    if not folder.is_dir():
        raise _nothing(f"{folder} is not a folder")
    provide(job)
    checkpoint = Checkpoint(folder)
    with closing(checkpoint):
        begun = False
        try:
            if checkpoint.migrated is not None:
                raise migrated(checkpoint.folder, checkpoint.migrated)
            stored = checkpoint.stored
            if stored is None or not checkpoint.begun:
                raise _nothing(f"no run has been started in {folder}")
            job = with_frozen_schemas(job, stored)
            identity, names = identified(job, stored, checkpoint.folder)
            outlets = {
                name: outlets_of(job, query, identity.query(name), checkpoint.dead_letters(name)) for query, name in each(job, names)
            }
            if not dry_run:
                checkpoint.lease.skip(TERMS)
            steps = tuple(replace(one, shown=job.shown(one.sink)) for one in planned(job, checkpoint, outlets))
            for step in () if dry_run else steps:
                checkpoint.lease.check()
                begun = True
                _note(checkpoint.folder, step, "begins")
                step.rewind.work()
                _note(checkpoint.folder, step, "done")
            places = [place_of(one.sink) for sinks in outlets.values() for one in sinks]
            return Rewinding(job.plan.job, checkpoint.folder, steps, dry_run, left_out(stored, places), repairable(job))
        finally:
            if not begun:
                checkpoint.lease.decline()


def left_out(stored: Stored, places: Collection[str]) -> tuple[tuple[str, str], ...]:
    """Return the sinks of the checkpoint's last version that write to none of these places: the name of each, and its place."""
    shown = DisplayNames({})
    with suppress(HeadraceError):  # a plan that cannot be read has no display names
        shown = DisplayNames.of(Plan.from_json(stored.plan))
    omitted: list[tuple[str, str]] = []
    for node in stored.plan["nodes"]:
        if node["op"] != "sink":
            continue
        try:
            sink = restored_sink(node["connector"], node["options"])
        except HeadraceError:  # its connector may not be installed here
            omitted.append((shown(node["name"]), node["connector"]))
            continue
        if sink.traits.lasting and sink.traits.repeatable and place_of(sink) not in places:
            omitted.append((shown(node["name"]), place_of(sink)))
    return tuple(omitted)


def repairable(job: SparkJob) -> tuple[str, ...]:
    """Return the sources of a job that accept repaired rows, by their display names."""
    return tuple(job.shown(str(source.name)) for source in job.sources if source.connect().repairs is not None)


def _note(folder: Path, step: Rewound, what: str) -> None:
    entry = {"at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}+00:00", "sink": step.sink, "place": step.place}
    with (folder / LOG).open("a", encoding="utf-8") as log:
        log.write(json.dumps({**entry, "from": step.held, "to": step.to, "how": step.how, "what": what}) + "\n")


def _nothing(what: str) -> HeadraceError:
    why = f"{what}, so there is no epoch to rewind to"
    return HeadraceError("NOTHING_TO_REWIND", why, hint="set checkpoint= to the folder in which the job keeps its state")
