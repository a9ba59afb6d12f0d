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

_FEW = 2_000_000
"""The number of rows from which the second compiler pays off. With 770,000 rows the first one alone takes a third less processor time."""
_OPTIONS = "SPARK_SUBMIT_OPTS"


@contextmanager
def brief(checkpoint: str | None) -> Iterator[None]:
    """Start Spark for a short life, if a job has read few rows: a deploy may read them all again. `checkpoint`: its folder; None: the job
    is not known before its file is loaded, so no job in the default place may have read more.

    Options that are set already come last, and win.
    """
    before = os.environ.get(_OPTIONS)
    folders = [Path(checkpoint)] if checkpoint is not None else list(JOBS.glob("*"))
    if folders and all(_rows(folder) < _FEW for folder in folders):
        os.environ[_OPTIONS] = f"{SHORT_LIVED} {before or ''}".strip()
    try:
        yield
    finally:
        os.environ.pop(_OPTIONS, None)
        if before is not None:
            os.environ[_OPTIONS] = before


def _rows(folder: Path) -> int:
    """Return the number of rows that a job has read; 0 if there is no checkpoint, or one that cannot be read: the command says why."""
    try:
        stored = stored_in(folder)
        return 0 if stored is None else Version.kept(folder, stored).rows
    except (HeadraceError, OSError):
        return 0
