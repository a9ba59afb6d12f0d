"""Sinks that are brought back to the epoch with which their checkpoint ends: `headrace rewind`.

A checkpoint that was put back from a backup is behind its sinks, and no start goes on there. Where each of these sinks can take back what
came later, this makes checkpoint and sinks one history again. Sinks are brought back one after the other, each in one step; cut off in
between, the job is refused as before, and the next call goes on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from headrace import ports
from headrace.errors import HeadraceError
from headrace.marks import Mark, named
from headrace.masking import leaving
from headrace.spark.checkpoint.agreement import Strange, agree, strange
from headrace.spark.checkpoint.compare import identified, with_frozen_schemas
from headrace.spark.checkpoint.examine import needed
from headrace.spark.checkpoint.folder import Checkpoint, migrated
from headrace.spark.compile.identity import DEAD_LETTERS
from headrace.spark.compile.job import SparkJob
from headrace.spark.run.epochs import place_of
from headrace.spark.run.outlets import Outlet, at, each, outlets_of, provide

LOG = "rewound.jsonl"
"""What was done, in the checkpoint."""

TERMS = 1000
"""So many starts may the copy that went on have seen, whose terms the sinks know."""


@dataclass(frozen=True)
class Rewound:
    """A sink that is brought back: where it writes, the epoch that it holds, that to which it comes back, -1 for none, and how."""

    sink: str
    place: str
    held: int
    to: int
    how: str
    rewind: ports.Rewind = field(repr=False)

    def __str__(self) -> str:
        return f"{self.sink}, from {named(self.held)} to {named(self.to)}: {self.how}"


@dataclass(frozen=True)
class Rewinding:
    """What was done, or with `dry_run` would be, to bring the sinks of a job back to its checkpoint."""

    job: str
    checkpoint: Path
    sinks: tuple[Rewound, ...]
    dry_run: bool

    def __str__(self) -> str:
        if not self.sinks:
            return f"{self.job}: the sinks hold what {self.checkpoint} has written, and nothing later"
        does = "would bring" if self.dry_run else "has brought"
        end = "nothing was changed; --yes does it" if self.dry_run else "the next start goes on from there"
        count = f"{len(self.sinks)} sink{'' if len(self.sinks) == 1 else 's'}"
        return "\n".join([f"{self.job}: {does} {count} back to {self.checkpoint}", *(f"  {one}" for one in self.sinks), end])


@leaving()
def rewind(job: SparkJob, folder: Path, *, dry_run: bool) -> Rewinding:
    """Bring the sinks of a job back to the epoch with which its checkpoint ends; with `dry_run` say how. All is refused where one of them
    cannot come back, and nothing is touched then.
    """
    folder = folder.absolute()
    if not folder.is_dir():
        raise _nothing(f"{folder} is no folder")
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
            _, names = identified(job, stored, checkpoint.folder)
            outlets = {name: outlets_of(job, query, checkpoint.dead_letters(name)) for query, name in each(job, names)}
            if not dry_run:
                checkpoint.lease.skip(TERMS)
            steps = planned(job, checkpoint, outlets)
            for step in () if dry_run else steps:
                checkpoint.lease.check()
                begun = True
                _note(checkpoint.folder, step, "begins")
                step.rewind.work()
                _note(checkpoint.folder, step, "done")
            return Rewinding(job.plan.job, checkpoint.folder, steps, dry_run)
        finally:
            if not begun:
                checkpoint.lease.decline()


def refuse_other_history(job: SparkJob, checkpoint: Checkpoint, query: str, outlets: Mapping[str, Sequence[Outlet]]) -> bool:
    """Refuse a checkpoint that was put back, is not whole, or whose sinks are not as the job left them. The answer is whether an epoch is
    pending that no sink holds.
    """
    for damage in needed(checkpoint.query(query)):
        raise damage.error()

    def rewinds() -> bool:
        # whatever keeps a sink from coming back, the start is refused for what was found before
        with suppress(Exception):
            return bool(planned(job, checkpoint, outlets))
        return False

    marks = _marks(job, checkpoint, query, outlets[query])
    history, totals = checkpoint.history(query), checkpoint.record(query).totals
    agree(checkpoint.folder, checkpoint.query(query), history, totals, marks, rewinds)
    pending = history.logged("offsets")
    if pending <= max(history.logged("commits"), totals.epoch):
        return False
    letters = [one.sink.mark(one.context(job, checkpoint, query)) for one in outlets[query] if one.name == DEAD_LETTERS]
    return all(mark is None or mark.epoch < pending for mark in (*letters, *(mark for _, mark in marks.values())))


def planned(job: SparkJob, checkpoint: Checkpoint, outlets: Mapping[str, Sequence[Outlet]]) -> tuple[Rewound, ...]:
    """How each sink that is ahead of the checkpoint comes back. Raises CANNOT_REWIND, which names all that do not."""
    steps: list[Rewound] = []
    problems: list[str] = []
    silent: list[str] = []
    for query, sinks in outlets.items():
        for damage in needed(checkpoint.query(query)):
            raise damage.error()
        history, totals = checkpoint.history(query), checkpoint.record(query).totals
        history.check(totals.epoch)
        marks = _marks(job, checkpoint, query, sinks)
        silent += [one.name for one in sinks if one.name in marks and marks[one.name][1] is None and one.sink.traits.repeatable]
        by_name = {one.name: one for one in sinks}
        for one in strange(history, totals, marks):
            outlet = by_name[one.sink]
            try:
                steps.append(_step(outlet.sink, outlet.context(job, checkpoint, query), one, totals.epoch))
            except HeadraceError as error:
                if error.code != "CANNOT_REWIND":
                    raise
                problems.append(error.message)
    if steps or problems:
        problems += [f"{name}: it holds no mark of its epochs, and would be sent rows again" for name in silent]
    if problems:
        raise HeadraceError(
            "CANNOT_REWIND",
            "; ".join(problems),
            hint="nothing was changed. Go on from the newest checkpoint; or put back all sinks from a backup of the moment at which the "
            "checkpoint was copied; or start over with fresh=True.",
        )
    return tuple(steps)


def _step(sink: ports.Sink, context: ports.SinkContext, one: Strange, recorded: int) -> Rewound:
    to = one.last if one.last is not None else Mark()
    found = sink.rewind(context, to)
    if one.last is None and found.first <= recorded:
        raise ports.cannot_rewind(one.sink, f"the checkpoint has written nothing at {one.place}, which holds epoch {found.first} already")
    return Rewound(one.sink, one.place, one.held.epoch, to.epoch, found.how, found)


def _marks(job: SparkJob, checkpoint: Checkpoint, query: str, outlets: Sequence[Outlet]) -> dict[str, tuple[str, Mark | None]]:
    """Of each sink its place and what it holds."""
    # dead letters are a part of the checkpoint itself
    sinks = [one for one in outlets if one.name != DEAD_LETTERS]
    found: dict[str, tuple[str, Mark | None]] = {}
    for one in sinks:
        with at(one.node):
            found[one.name] = place_of(one.sink), one.sink.mark(one.context(job, checkpoint, query))
    return found


def _note(folder: Path, step: Rewound, what: str) -> None:
    told = {"at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}+00:00", "sink": step.sink, "place": step.place}
    with (folder / LOG).open("a", encoding="utf-8") as log:
        log.write(json.dumps({**told, "from": step.held, "to": step.to, "how": step.how, "what": what}) + "\n")


def _nothing(what: str) -> HeadraceError:
    why = f"{what}, so there is no epoch to which sinks could come back"
    return HeadraceError("NOTHING_TO_REWIND", why, hint="--checkpoint names the folder in which the job keeps its state.")
