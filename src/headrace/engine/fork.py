"""hr.fork: a second job that continues from the state of a first one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from headrace.engine.flags import refuse_others
from headrace.engine.job import Job
from headrace.engine.loading import refuse_while_loading
from headrace.engine.paths import with_paths
from headrace.engine.state import no_checkpoint, stored_job
from headrace.errors import HeadraceError, here
from headrace.plan import Plan, displayed
from headrace.plan.naming import valid_name
from headrace.settings import settings
from headrace.spark.checkpoint.earlier import Earlier
from headrace.spark.checkpoint.folder import Stored, is_checkpoint
from headrace.spark.checkpoint.savepoints import savepoint
from headrace.spark.deploy.fork import Fork
from headrace.spark.deploy.fork import fork as forked
from headrace.spark.deploy.request import compiled


def fork(
    parent: Job | str | os.PathLike[str],
    job: Job,
    *,
    at: str | int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    partitions: int | None = None,
    on_change: Mapping[str, str] | None = None,
    dry_run: bool = False,
) -> Fork:
    """Makes a second job that continues from the state of a first one, as `headrace fork` does.

    The first job, the parent, stays as it is. The fork has the parent's state and positions, a checkpoint of its own, and its sinks are at
    other places. Another plan gets what it gets from a [deploy](../../guides/checkpoints.md#deploy-a-new-version). [Fork a
    job](../../guides/checkpoints.md#fork-a-job) says what a sink of the fork holds.

    Args:
        parent: The first job: a job, or the folder of its checkpoint.
        job: The fork, with a name of its own and sinks at other places.
        at: The savepoint of the parent from which the fork continues; a number is one of the last hundred
            [epochs](../../guides/checkpoints.md#earlier-epochs). Default: its current checkpoint, on which no process may work.
        checkpoint: The new checkpoint, which must not exist. Default: as for `Job.run` of the fork.
        partitions: The tasks of each [level](../../concepts/levels.md) of the fork. Default: the setting, else as in the parent.
        on_change: As for `Job.deploy`.
        dry_run: Only reports the verdict on each part, and what would be refused.

    Raises:
        CheckpointError: `SINK_OF_PARENT` for a sink at the place of one of the parent's; `FORK_EXISTS` for a name or checkpoint in use;
            `UNKNOWN_SAVEPOINT`, `UNKNOWN_EPOCH`; `CHECKPOINT_IN_USE` without `at` if a process works on the parent's checkpoint;
            `NO_STATE`, `NOT_A_CHECKPOINT`, `EPOCH_UNFINISHED`; those of `Job.deploy`.
        ConfigError: `BAD_SETTING` for an invalid number of partitions or `on_change`.
        PlanError: `BAD_INPUT` for another argument.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 7), ("a", 900)], "card string, amount int", name="charges")
        >>> def job(name, limit):
        ...     large = charges.filter(f"amount > {limit}").group_by("card").agg(n="count(*)")
        ...     return hr.job(name, large.write.files(f"out/{name}", format="json", mode="changes", name="out"))
        >>> _ = job("large", 500).run(progress=False)
        >>> _ = job("large", 500).savepoint("monday")
        >>> fork = hr.fork(".headrace/large", job("larger", 800), at="monday")
        >>> fork.parent, fork.savepoint, fork.epochs
        ('large', 'monday', {'main': 0})
        >>> print(job("larger", 800).run(progress=False))
        larger: ...
    """
    refuse_while_loading("hr.fork")
    refuse_others(dry_run=dry_run)
    _refuse_others(parent, job)
    home = (parent.checkpoint() if isinstance(parent, Job) else Path(parent).expanduser()).absolute()
    moment(home, at)
    chosen = settings(job.name, job._settings, checkpoint=checkpoint, partitions=partitions)
    with displayed(job.plan):
        return forked(job._compiled(), home, chosen.checkpoint, at=at, partitions=chosen.partitions, on_change=on_change, dry_run=dry_run)


def _refuse_others(parent: object, job: object) -> None:
    if not isinstance(job, Job):
        raise HeadraceError("BAD_INPUT", f"hr.fork makes a job, got {job!r}", hint="pass the job that the fork is", site=here())
    if not isinstance(parent, Job | str | os.PathLike):
        hint = 'pass a job, or the folder of a checkpoint: hr.fork(".headrace/fraud", job)'
        raise HeadraceError("BAD_INPUT", f"hr.fork forks a job or a checkpoint, got {parent!r}", hint=hint, site=here())


def moment(home: Path, at: str | int | None) -> Stored:
    """Return the job of a savepoint, an epoch or the current checkpoint. Raises NOT_A_CHECKPOINT, UNKNOWN_SAVEPOINT, UNKNOWN_EPOCH."""
    if not isinstance(at, str):
        stored = stored_job(home)
        return stored if at is None else Earlier.at(home, at).stored
    if not is_checkpoint(home):
        raise no_checkpoint(home)
    return stored_job(savepoint(home, at).folder)


def stored_version(stored: Stored, paths: Mapping[str, str], name: str) -> Job:
    """Return the job that a checkpoint has stored, under another name and with other paths of sources and sinks."""
    plan = with_paths(Plan.from_json(stored.plan), paths)
    plan = Plan(valid_name(name), plan.nodes, plan.sinks, plan.settings)
    return Job(plan, compiled=compiled(plan, stored.identity))


def named(job: Job, name: str) -> Job:
    """Return a job under another name, and so with another checkpoint."""
    plan = job.plan
    return Job(Plan(valid_name(name), plan.nodes, plan.sinks, plan.settings), job._settings)
