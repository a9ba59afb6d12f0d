"""How Spark starts for a command that is over soon: Java compiles with its first compiler alone, which takes less processor time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.jvm.launch import SHORT_LIVED
from headrace.settings import JOBS
from headrace.spark.checkpoint.folder import stored_in
from headrace.spark.deploy.diff import Version

_FEW = 1_000_000
"""With fewer rows, Spark starts for a short life. A deploy that reads 770,000 rows again then takes a third less processor time, and is
faster. Where the second compiler begins to pay off was not measured.
"""
_OPTIONS = "SPARK_SUBMIT_OPTS"


@contextmanager
def short_life(checkpoint: str | None) -> Iterator[None]:
    """Start Spark for a short life if a deploy has few rows to read again. `checkpoint`: the folder of the job's checkpoint.

    Without it the job is unknown until its file is loaded. Then all jobs in the default folder must have read few rows. Options that the
    user has set come last, and win.
    """
    before = os.environ.get(_OPTIONS)
    if _is_short(checkpoint):
        os.environ[_OPTIONS] = f"{SHORT_LIVED} {before or ''}".strip()
    try:
        yield
    finally:
        os.environ.pop(_OPTIONS, None)
        if before is not None:
            os.environ[_OPTIONS] = before


def _is_short(checkpoint: str | None) -> bool:
    if checkpoint is not None:
        return _rows_read(Path(checkpoint)) < _FEW
    jobs = list(JOBS.glob("*"))
    return bool(jobs) and all(_rows_read(job) < _FEW for job in jobs)


def _rows_read(folder: Path) -> int:
    """Return the number of rows that a job has read; 0 without a checkpoint that can be read: the command then fails, and says why."""
    try:
        stored = stored_in(folder)
        if stored is None:
            return 0
        return Version.kept(folder, stored).rows
    except (HeadraceError, OSError):
        return 0
