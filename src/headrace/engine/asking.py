"""Questions about the rows that a job has read: to a job that has run, or to the folder of its checkpoint."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from headrace.engine.job import Job
from headrace.engine.loading import refuse_while_loading
from headrace.engine.state import stored_job
from headrace.errors import HeadraceError, here
from headrace.plan import Plan, displayed
from headrace.spark.compile.job import SparkJob, compile

MOST = 100_000
"""The most rows in an answer."""

Compiled: TypeAlias = Callable[[Mapping[str, Any]], SparkJob]


@contextmanager
def answerable(job: Job | str | os.PathLike[str], call: str, rows: int) -> Iterator[tuple[Path, Compiled]]:
    """Give the checkpoint of a job, and a function that compiles its stored plan.

    Args:
        job: A job that has run, or the folder of its checkpoint.
        call: The question, as the user writes it: `hr.why`.
        rows: The most rows in the answer, which the user wrote.
    """
    refuse_while_loading(call)
    home = (job.checkpoint() if isinstance(job, Job) else _folder(job, call)).absolute()
    if type(rows) is not int or not 1 <= rows <= MOST:
        raise HeadraceError("BAD_INPUT", f"rows cannot be {rows!r}", hint=f"write a number from 1 to {MOST:,}", site=here())

    def compiled(stored: Mapping[str, Any]) -> SparkJob:
        plan = Plan.from_json(stored)
        version = compile(job.plan if isinstance(job, Job) else plan)
        if isinstance(job, Job) and version.plan.fingerprint != plan.fingerprint:
            raise HeadraceError(
                "CHECKPOINT_OTHER_VERSION",
                f"the checkpoint {home} is of another version of the job {job.name}",
                hint="pass the folder of the checkpoint, or run or deploy this version first",
            )
        return version

    with displayed(Plan.from_json(stored_job(home).plan)):
        yield home, compiled


def _folder(job: object, call: str) -> Path:
    if not isinstance(job, str | os.PathLike):
        raise HeadraceError(
            "BAD_INPUT",
            f"{call} takes a job or the folder of its checkpoint, got {job!r}",
            hint=f'pass one: {call}(".headrace/fraud", ...)',
            site=here(),
        )
    return Path(job).expanduser()
