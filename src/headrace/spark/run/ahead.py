"""Sinks that are ahead of their checkpoint, from which no start continues, and how each comes back to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from headrace import ports
from headrace.durable.marks import Mark, named
from headrace.errors import HeadraceError
from headrace.spark.checkpoint.agreement import Strange, agree, strange
from headrace.spark.checkpoint.examine import needed
from headrace.spark.checkpoint.folder import Checkpoint
from headrace.spark.checkpoint.record import place_of
from headrace.spark.compile.identity import DEAD_LETTERS
from headrace.spark.compile.job import SparkJob
from headrace.spark.run.outlets import Outlet, at


@dataclass(frozen=True)
class Rewound:
    """A sink that is brought back: its place, the epoch that it holds, the epoch to return to (-1 for none), how, and its display name."""

    sink: str
    place: str
    held: int
    to: int
    how: str
    rewind: ports.Rewind = field(repr=False)
    shown: str = ""

    def __str__(self) -> str:
        return f"{self.shown or self.sink}, from {named(self.held)} to {named(self.to)}: {self.how}"


def refuse_other_history(job: SparkJob, checkpoint: Checkpoint, query: str, outlets: Mapping[str, Sequence[Outlet]]) -> bool:
    """Refuse a checkpoint that was restored from a backup, is incomplete, or whose sinks are not as the job left them. Returns whether an
    epoch is pending that no sink holds.
    """
    for damage in needed(checkpoint.query(query)):
        raise damage.error()

    def rewinds() -> bool:
        # whatever keeps a sink from coming back, the start is refused for the reason already found
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
    """Plan how each sink that is ahead of the checkpoint comes back. Raises CANNOT_REWIND, which names all that cannot."""
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
        problems += [f"{name}: it has no mark of its epochs, and would receive rows again" for name in silent]
    if problems:
        raise HeadraceError(
            "CANNOT_REWIND",
            "; ".join(problems),
            hint="nothing was changed. Continue from the newest checkpoint; or restore all sinks from a backup of the moment at which the "
            "checkpoint was copied; or start over with fresh=True.",
        )
    return tuple(steps)


def _step(sink: ports.Sink, context: ports.SinkContext, one: Strange, recorded: int) -> Rewound:
    to = one.last if one.last is not None else Mark()
    withdrawal = sink.rewind(context, to)
    if one.last is None and withdrawal.first <= recorded:
        raise ports.cannot_rewind(
            one.sink, f"the checkpoint has written nothing at {one.place}, which already holds epoch {withdrawal.first}"
        )
    return Rewound(one.sink, one.place, one.held.epoch, to.epoch, withdrawal.how, withdrawal)


def _marks(job: SparkJob, checkpoint: Checkpoint, query: str, outlets: Sequence[Outlet]) -> dict[str, tuple[str, Mark | None]]:
    """Return the place and the mark of each sink."""
    # dead letters are part of the checkpoint itself
    sinks = [one for one in outlets if one.name != DEAD_LETTERS]
    marks: dict[str, tuple[str, Mark | None]] = {}
    for one in sinks:
        with at(one.node):
            marks[one.name] = place_of(one.sink), one.sink.mark(one.context(job, checkpoint, query))
    return marks
