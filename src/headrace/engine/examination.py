"""The condition of a checkpoint, and whether a job can continue from it. Changes nothing; `examine` needs no JVM."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headrace.durable.manifest import Manifest
from headrace.engine.job import Job
from headrace.engine.state import stored_job
from headrace.errors import HeadraceError
from headrace.spark.checkpoint.examine import whole
from headrace.spark.checkpoint.folder import query_folder
from headrace.spark.checkpoint.history import History
from headrace.spark.checkpoint.lease import held_by
from headrace.spark.checkpoint.record import recorded
from headrace.spark.run.start import looked_at


@dataclass(frozen=True)
class Examination:
    """The condition of a checkpoint: its job, the next epoch of each query, and what is wrong.

    `again`: queries whose next epoch was begun and interrupted. `holder`: the process that works there now. `compared`: whether the job
    itself was available, to look at its sinks. If so, `refusal` is the error that its start would raise, `losses` is what its sinks have
    lost.
    """

    folder: str
    job: str
    next_epochs: dict[str, int]
    again: tuple[str, ...]
    problems: tuple[str, ...]
    holder: str | None
    compared: bool = False
    refusal: HeadraceError | None = None
    losses: tuple[HeadraceError, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether a job can continue from here, as far as the checkpoint shows, and its sinks if they were `compared`."""
        return not self.problems and self.refusal is None and not self.losses

    def to_json(self) -> dict[str, Any]:
        plain = {name: value for name, value in vars(self).items() if name not in ("refusal", "losses")}
        return {
            **plain,
            "losses": [loss.to_json() for loss in self.losses],
            "refusal": self.refusal and self.refusal.to_json(),
            "sound": self.sound,
        }


def examine(folder: Path) -> Examination:
    """Examine a checkpoint. Raises NOT_A_CHECKPOINT, CHECKPOINT_FORMAT or CHECKPOINT_UNREADABLE for its `job.json`."""
    stored = stored_job(folder)
    names = [query.name for query in stored.identity.queries]
    histories = {name: History(folder / "epochs" / name, query_folder(folder, name), "", stored.adopted.get(name, -1)) for name in names}
    next_epochs = {name: max(history.logged("commits") + 1, 0) for name, history in histories.items()}
    again = tuple(name for name, history in histories.items() if history.logged("offsets") >= next_epochs[name])
    problems = [problem for name in names for problem in _problems(folder, name, histories[name])]
    holder = held_by(folder)
    return Examination(str(folder), stored.job, next_epochs, again, tuple(problems), None if holder is None else str(holder))


def examine_job(job: Job, checkpoint: str | None = None) -> Examination:
    """Examine the checkpoint of a job, and whether its sinks and the job itself agree with it. Starts the session; changes nothing."""
    seen = examine(job.checkpoint(checkpoint).absolute())
    if seen.problems or seen.holder is not None:
        return seen
    refusal, losses = looked_at(job._compiled(), Path(seen.folder))
    return replace(seen, compared=True, refusal=refusal, losses=losses)


def _problems(folder: Path, name: str, history: History) -> Iterator[str]:
    if history.logged("offsets") < 0 and not (folder / "epochs" / name).exists():
        return
    for damage in whole(query_folder(folder, name)):
        yield damage.error().message
    for look in (
        lambda: history.check(recorded(folder / "record", name).epoch),
        lambda: list(Manifest(folder / "dead_letters" / name).entries()),
    ):
        try:
            look()
        except HeadraceError as error:
            yield error.message
