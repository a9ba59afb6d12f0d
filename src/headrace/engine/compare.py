"""hr.compare: the rows of a job's sinks that another version of it computes differently."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from headrace.engine.job import Job
from headrace.engine.loading import refuse_while_loading
from headrace.engine.paths import at_places_of
from headrace.engine.state import stored_job
from headrace.errors import HeadraceError, here
from headrace.plan import Plan, displayed
from headrace.spark.checkpoint.ancestors import ancestors
from headrace.spark.checkpoint.folder import Stored
from headrace.spark.compile.job import SparkJob, compile
from headrace.spark.deploy.compare import compare as compared
from headrace.spark.deploy.request import compiled
from headrace.spark.deploy.rows_diff import RowsDiff

MOST = 10_000
"""The most examples of a sink."""


def compare(
    old: Job | str | os.PathLike[str],
    new: Job | str | os.PathLike[str],
    *,
    examples: int = 10,
    progress: Callable[[str], object] | None = None,
) -> RowsDiff:
    """Compares the rows that the sinks of a job hold with those of another version of it, as `headrace compare` does. Changes nothing.

    Both versions have the same input: all that the job has read up to a moment between two epochs. A running job goes on. [Compare the
    rows](../../guides/checkpoints.md#compare-the-rows-of-two-versions) says which sinks can be compared.

    Args:
        old: The job: a job that has run, or the folder of its checkpoint.
        new: The other version: a job of the same name, the folder of one of its savepoints, or the checkpoint of a fork of it.
        examples: The most rows of each sink in the report, 0 to 10,000.
        progress: A function that is called with a line about each step.

    Raises:
        CheckpointError: `NO_STATE` before the first epoch; `CHECKPOINT_OTHER_JOB` for another job; `HISTORY_GONE` if rows cannot be read
            again; `CHECKPOINT_IN_USE` during a deploy; `NOT_A_CHECKPOINT`, `EPOCH_UNFINISHED`, `CHECKPOINT_BEHIND`, `SETTINGS_CHANGED`.
        PlanError: `BAD_INPUT` for another argument.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 7), ("a", 900), ("b", 3)], "card string, amount int", name="charges")
        >>> def job(limit):
        ...     spent = charges.filter(f"amount > {limit}").group_by("card").agg(spent="sum(amount)")
        ...     return hr.job("spending", spent.write.files("spending", format="json", mode="changes", name="per_card"))
        >>> _ = job(0).run(progress=False)
        >>> rows = hr.compare(".headrace/spending", job(5))
        >>> print(rows)
        spending: from ....headrace/spending to the job spending, over the rows read up to epoch 0
          differs   per_card: 1 row is equal, 1 only in the old version, 0 only in the new one
                    - card="b", spent=3
        nothing was changed; done in ... s
    """
    refuse_while_loading("hr.compare")
    home = (old.checkpoint() if isinstance(old, Job) else _folder(old)).absolute()
    if type(examples) is not int or not 0 <= examples <= MOST:
        raise HeadraceError("BAD_INPUT", f"examples cannot be {examples!r}", hint=f"write a number from 0 to {MOST:,}", site=here())
    stored = stored_job(home)
    version, called = _new(new, home, stored)
    with displayed(version.plan):
        return compared(version, home, called, examples=examples, look=progress or (lambda line: None))


def _new(new: Job | str | os.PathLike[str], home: Path, stored: Stored) -> tuple[SparkJob, str]:
    """Return the new version, with its sinks where those of the `stored` one are, and what it is called."""
    before = Plan.from_json(stored.plan)
    if isinstance(new, Job):
        return compile(at_places_of(new.plan, before)), f"the job {new.name}"
    folder = _folder(new).absolute()
    other = stored_job(folder)
    if other.job != stored.job and stored.id not in (one.id for one in ancestors(folder)):
        raise HeadraceError(
            "CHECKPOINT_OTHER_JOB",
            f"{folder} is of the job {other.job}, which is no fork of the job {stored.job} in {home}",
            hint=f"compare it with another version of {stored.job}: a file, a savepoint, or a fork",
        )
    plan = at_places_of(Plan.from_json(other.plan), before)
    return compiled(Plan(stored.job, plan.nodes, plan.sinks, plan.settings), other.identity), str(folder)


def _folder(version: object) -> Path:
    if not isinstance(version, str | os.PathLike):
        hint = 'pass a job, or the folder of a checkpoint: hr.compare(".headrace/fraud", job)'
        raise HeadraceError("BAD_INPUT", f"hr.compare compares jobs and checkpoints, got {version!r}", hint=hint, site=here())
    return Path(version).expanduser()
