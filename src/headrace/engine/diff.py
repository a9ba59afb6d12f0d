"""hr.diff: the difference between two versions of a job: which state the new one keeps."""

from __future__ import annotations

import os
from pathlib import Path

from headrace.engine.job import Job
from headrace.engine.loading import refuse_while_loading
from headrace.engine.state import stored_job
from headrace.errors import HeadraceError, here
from headrace.plan import Plan, displayed
from headrace.spark.compile.job import SparkJob, compile
from headrace.spark.deploy.deployment import Diff
from headrace.spark.deploy.diff import OF_THE_VERSION, Comparison, Version


def diff(old: Job | str | os.PathLike[str], new: Job | str | os.PathLike[str]) -> Diff:
    """Compares two versions of a job: what would become of each part if the new one took the place of the old one. Changes nothing.

    The verdicts are those of a [deploy](../../guides/checkpoints.md#deploy-a-new-version). The sinks, the name of the job, positions and
    watermarks are not checked, so a deploy may still be refused.

    Args:
        old: The earlier version: a job, the folder of a checkpoint, or that of a savepoint.
        new: The later version, as for `old`.

    Raises:
        CheckpointError: `NOT_A_CHECKPOINT`, `CHECKPOINT_FORMAT`, `CHECKPOINT_UNREADABLE`.
        PlanError: `BAD_INPUT` for another argument.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 7), ("a", 900)], "card string, amount int", name="charges")
        >>> def job(text):
        ...     return hr.job("sums", charges.group_by("card").agg(total=text).write.memory(name="out"))
        >>> _ = job("sum(amount)").run(progress=False)
        >>> print(hr.diff(".headrace/sums", job("sum(amount)")))
        from ....headrace/sums to the job sums
          kept      source   charges
          kept      operator aggregate(charges)
          kept      sink     out
          out shows the output of this run, from epoch 1 on
        >>> [(one.name, one.verdict) for one in hr.diff(".headrace/sums", job("max(amount)")).verdicts if one.part == "operator"]
        [('aggregate(charges)', 'new'), ('aggregate(charges)', 'dropped')]
    """
    refuse_while_loading("hr.diff")
    version, was = _old(old)
    job, now = _new(new)
    with displayed(job.plan):
        comparison = Comparison(version, job)
        try:
            return comparison.diff(was, now, comparison.refuse())
        except HeadraceError as error:
            if error.code not in (*OF_THE_VERSION, "SETTINGS_CHANGED"):
                raise
            return comparison.diff(was, now, refusals=(error, *error.also))


def _old(version: Job | str | os.PathLike[str]) -> tuple[Version, str]:
    if isinstance(version, Job):
        return Version.of(version._compiled()), f"the job {version.name}"
    folder = _folder(version)
    return Version.kept(folder, stored_job(folder)), str(folder)


def _new(version: Job | str | os.PathLike[str]) -> tuple[SparkJob, str]:
    if isinstance(version, Job):
        return version._compiled(), f"the job {version.name}"
    folder = _folder(version)
    return compile(Plan.from_json(stored_job(folder).plan)), str(folder)


def _folder(version: object) -> Path:
    if not isinstance(version, str | os.PathLike):
        hint = 'pass a job, or the folder of a checkpoint: hr.diff(".headrace/fraud", job)'
        raise HeadraceError("BAD_INPUT", f"hr.diff compares jobs and checkpoints, got {version!r}", hint=hint, site=here())
    return Path(version).expanduser().absolute()
